"""Time slices: long computations on the event loop yield to other requests."""

from quarterdeck.server.core import Core


class TimeSlice:
    """Measures how long a request has computed, and yields to others when its slice is used up."""

    __slots__ = ("_clock", "_slice_s", "_started")

    def __init__(self, core: Core) -> None:
        self._clock = core.clock
        self._slice_s = core.options.slice_s
        self._started = core.clock.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether the slice is used up; cheaper than to await `yield_if_due`."""
        return self._clock.monotonic() - self._started > self._slice_s

    async def yield_if_due(self) -> None:
        """Yield to the event loop if the slice is used up; call it often in a long computation."""
        if self.is_due:
            await self._clock.sleep(0)
            self._started = self._clock.monotonic()
