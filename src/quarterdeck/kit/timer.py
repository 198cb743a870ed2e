"""Callbacks at a time, by the event loop or by a clock that a test owns, and moving deadlines."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from quarterdeck.kit.clock import Clock, SystemClock

_NEVER = float("inf")


class Handle(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None:
        """Cancel the callback."""
        ...


class Timers(Protocol):
    """Reads the time and schedules callbacks; an event loop implements it."""

    def time(self) -> float:
        """Seconds since some fixed point."""
        ...

    def call_at(self, when: float, callback: Callable[[], object]) -> Handle:
        """Call back at a time."""
        ...


class ClockTimers:
    """Callbacks by a clock. Each is a task that sleeps: for tests, not for speed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()

    def time(self) -> float:
        """The clock's time."""
        return self._clock.monotonic()

    def call_at(self, when: float, callback: Callable[[], object]) -> Handle:
        """Call back when the clock has reached a time."""

        async def run() -> None:
            await self._clock.sleep(when - self._clock.monotonic())
            callback()

        task = asyncio.get_running_loop().create_task(run(), name="http-timer")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return _ClockHandle(task)

    async def close(self) -> None:
        """Cancel every callback."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _ClockHandle:
    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def cancel(self) -> None:
        if self._task is not asyncio.current_task():  # it may be this callback that cancels
            self._task.cancel()


def choose_timers(clock: Clock | None) -> Timers:
    """The running loop's own timers, unless a clock other than the system's is given."""
    if clock is None or isinstance(clock, SystemClock):
        return asyncio.get_running_loop()
    return ClockTimers(clock)


@contextlib.asynccontextmanager
async def timeout_at(timers: Timers, when: float) -> AsyncIterator[None]:
    """Cancel the block at a time.

    Raises:
        TimeoutError: if it was cancelled.
    """
    async with asyncio.timeout(None) as limit:
        handle = timers.call_at(when, lambda: limit.reschedule(0.0))
        try:
            yield
        finally:
            handle.cancel()


class LazyTimer:
    """Calls back at or before the latest deadline it was armed with; the owner looks again then.

    A deadline later than the one already set costs nothing: when the timer fires early, its owner
    finds the new deadline and arms it again. So most requests never touch the event loop's heap.
    """

    __slots__ = ("_call", "_due", "_handle", "_timers")

    def __init__(self, timers: Timers, call: Callable[[], None]) -> None:
        self._timers = timers
        self._call = call
        self._due = _NEVER
        self._handle: Handle | None = None

    def arm(self, due: float) -> None:
        """Schedule the callback for this time at the latest; infinity schedules nothing."""
        if due >= self._due:
            return
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._timers.call_at(due, self._fire)
        self._due = due

    def disarm(self) -> None:
        """Cancel the deadline."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            self._due = _NEVER

    def _fire(self) -> None:
        self._handle = None
        self._due = _NEVER
        self._call()
