"""Many deadlines, one sleeper.

Every watch has a time to end and, often, a time for its next bookmark. One task sleeps until the
earliest of all of them, so that a thousand watches cost one timer.
"""

import asyncio
import heapq
import itertools
from collections.abc import Callable

from quarterdeck.kit.clock import Clock


class Timer:
    """A callback that is due at some time, unless it is cancelled."""

    __slots__ = ("_callback", "due")

    def __init__(self, due: float, callback: Callable[[], None]) -> None:
        self.due = due
        self._callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Make it never happen, and let go of what it would have used."""
        self._callback = None

    @property
    def is_cancelled(self) -> bool:
        """Whether it will not happen (any more)."""
        return self._callback is None

    def fire(self) -> None:
        """Call back, once."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class Timers:
    """The deadlines of one server. `run` must be running for any of them to be met."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._sleeper: asyncio.Task[None] | None = None
        self._awake = asyncio.Event()

    def after(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back in so many seconds, on the loop, without arguments."""
        timer = Timer(self._clock.monotonic() + seconds, callback)
        is_earliest = not self._heap or timer.due < self._heap[0][0]
        heapq.heappush(self._heap, (timer.due, next(self._order), timer))
        if is_earliest:
            self._awake.set()
        return timer

    async def run(self) -> None:
        """Fire what is due, for ever."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._awake.clear()
                self._fire_due()
                sleeper = None
                if self._heap:
                    pause = self._heap[0][0] - self._clock.monotonic()
                    sleeper = group.create_task(self._doze(pause), name="server-timer")
                await self._awake.wait()
                if sleeper is not None:
                    sleeper.cancel()

    def statistics(self) -> dict[str, int]:
        """How many deadlines are kept."""
        return {"timers": len(self._heap)}

    async def _doze(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self._awake.set()

    def _fire_due(self) -> None:
        now = self._clock.monotonic()
        while self._heap and (self._heap[0][0] <= now or self._heap[0][2].is_cancelled):
            heapq.heappop(self._heap)[2].fire()
