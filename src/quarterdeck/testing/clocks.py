"""Clocks that disagree, for tests of what several processes do.

`VirtualClock` of `quarterdeck.kit.clock` is the time of the world; a `SkewedClock` is how one
process sees it: ahead or behind, and running faster or slower.
"""

from datetime import datetime, timedelta

from quarterdeck.kit.clock import Clock, VirtualClock

__all__ = ["SkewedClock", "VirtualClock"]


class SkewedClock:
    """A clock that runs at `rate` times another one and is `offset_s` ahead of it."""

    def __init__(self, world: Clock, *, rate: float = 1.0, offset_s: float = 0.0) -> None:
        if rate <= 0:
            raise ValueError(f"a clock needs a rate above 0, got {rate}")
        self._world = world
        self._rate = rate
        self._offset_s = offset_s
        self._began = world.now()

    def now(self) -> datetime:
        """The wall clock of this process."""
        elapsed = self._world.now() - self._began
        return self._began + elapsed * self._rate + timedelta(seconds=self._offset_s)

    def monotonic(self) -> float:
        """Seconds, as this process counts them."""
        return self._world.monotonic() * self._rate

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds by the clock of this process."""
        await self._world.sleep(seconds / self._rate)
