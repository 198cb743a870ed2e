"""A time limit for something that one task does over and over."""

import asyncio
from types import TracebackType
from typing import Self

from quarterdeck.kit.timer import LazyTimer

_NEVER = float("inf")


class TimeLimit:
    """`asyncio.timeout` for a task that enters it thousands of times a second.

    It belongs to the task that makes it. Entering costs two attribute writes: the event loop's
    timer is set once per limit that expires, not once per use. As with `asyncio.timeout`, it raises
    `TimeoutError`, and a cancellation from outside stays a cancellation.
    """

    __slots__ = ("_cancelling", "_due", "_loop", "_seconds", "_task", "_timer", "expired")

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a time limit must be used inside a task")
        self._task = task
        self._seconds = seconds
        self._loop = task.get_loop()
        self._timer = LazyTimer(self._loop, self._on_timer)
        self._due = _NEVER
        self._cancelling = 0
        self.expired = False
        """Whether the limit passed in the last use."""

    def __enter__(self) -> Self:
        self.expired = False
        self._cancelling = self._task.cancelling()
        self._due = due = self._loop.time() + self._seconds
        self._timer.arm(due)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._due = _NEVER
        if not self.expired:
            return
        is_ours = self._task.uncancel() <= self._cancelling
        if is_ours and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def close(self) -> None:
        """Cancel the timer."""
        self._timer.disarm()

    def _on_timer(self) -> None:
        if self._due == _NEVER:
            return  # not in use: the next use arms it again
        if self._due > self._loop.time():
            self._timer.arm(self._due)
            return
        self._due = _NEVER
        self.expired = True
        self._task.cancel()
