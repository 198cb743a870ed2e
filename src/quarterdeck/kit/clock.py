"""Time as an argument: code that waits or reads the time takes a `Clock`, which tests control.

`SystemClock` is the real one. `VirtualClock` stands still until a test advances it, and wakes the
sleepers in the order of their deadlines.
"""

import asyncio
import heapq
import itertools
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What time it is, how much has passed, and waiting."""

    def now(self) -> datetime:
        """The wall clock, aware and in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since a fixed point; never decreases."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less only yields."""
        ...


class SystemClock:
    """The machine's clock."""

    __slots__ = ()

    def now(self) -> datetime:
        """The wall clock, aware and in UTC."""
        return datetime.now(UTC)

    monotonic = staticmethod(time.monotonic)
    """Seconds since a fixed point; never decreases."""

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop."""
        await asyncio.sleep(max(0.0, seconds))


class VirtualClock:
    """A clock that moves only by `advance`, for tests and simulation."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> datetime:
        """The start plus what was advanced."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Seconds advanced so far."""
        return self._elapsed

    @property
    def next_deadline(self) -> float | None:
        """When the earliest sleeper is due, on the scale of `monotonic`; None without sleepers."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced that far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Move time on, letting each woken sleeper run before the next one is due."""
        target = self._elapsed + seconds
        await settle()
        while (deadline := self.next_deadline) is not None and deadline <= target:
            self._elapsed = max(self._elapsed, deadline)
            heapq.heappop(self._sleepers)[2].set_result(None)
            await settle()
        self._elapsed = target
        await settle()


async def settle(turns: int = 10) -> None:
    """Give tasks that are ready a few turns of the event loop."""
    for _ in range(turns):
        await asyncio.sleep(0)
