"""Timers: many deadlines, one sleeping task.

Every watch has a time to end and often a time for its next bookmark. One task sleeps until the
earliest deadline, so that a thousand watches cost one timer of the event loop.
"""

import asyncio
import heapq
import itertools
from collections.abc import Callable

from quarterdeck.kit.clock import Clock

_MIN_CANCELLED = 64


class Timer:
    """A callback that is due at some time, unless it is cancelled."""

    __slots__ = ("_callback", "_on_cancel", "due")

    def __init__(
        self, due: float, callback: Callable[[], None], on_cancel: Callable[[], None]
    ) -> None:
        self.due = due
        self._callback: Callable[[], None] | None = callback
        self._on_cancel = on_cancel

    def cancel(self) -> None:
        """Cancel the callback and release it."""
        if self._callback is not None:
            self._callback = None
            self._on_cancel()

    @property
    def is_cancelled(self) -> bool:
        """Whether the callback was called or cancelled."""
        return self._callback is None

    def fire(self) -> None:
        """Call the callback, at most once."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class Timers:
    """The timers of one server. Callbacks are called only while `run` is running."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._awake = asyncio.Event()
        self._cancelled = 0

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call a function after a number of seconds, on the loop, without arguments."""
        timer = Timer(self._clock.monotonic() + seconds, callback, self._on_cancel)
        is_earliest = not self._heap or timer.due < self._heap[0][0]
        heapq.heappush(self._heap, (timer.due, next(self._order), timer))
        if is_earliest:
            self._awake.set()
        return timer

    async def run(self) -> None:
        """Call what is due, until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._awake.clear()
                self._fire_due()
                sleeper = None
                if self._heap:
                    pause = self._heap[0][0] - self._clock.monotonic()
                    sleeper = group.create_task(self._sleep(pause), name="server-timer")
                await self._awake.wait()
                if sleeper is not None:
                    sleeper.cancel()

    def statistics(self) -> dict[str, int]:
        """Return the number of timers."""
        return {"timers": len(self._heap)}

    def _on_cancel(self) -> None:
        """Remove cancelled timers before they outnumber the others."""
        self._cancelled += 1
        if self._cancelled > _MIN_CANCELLED and self._cancelled * 2 > len(self._heap):
            self._heap = [each for each in self._heap if not each[2].is_cancelled]
            heapq.heapify(self._heap)
            self._cancelled = 0

    async def _sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self._awake.set()

    def _fire_due(self) -> None:
        now = self._clock.monotonic()
        while self._heap and (self._heap[0][0] <= now or self._heap[0][2].is_cancelled):
            timer = heapq.heappop(self._heap)[2]
            self._cancelled -= timer.is_cancelled
            timer.fire()
