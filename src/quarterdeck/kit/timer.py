"""A timer for deadlines that move: cheap to push back, which is what happens to most of them."""

import asyncio
from collections.abc import Callable


class LazyTimer:
    """Calls back at or before the latest deadline it was armed with; the owner looks again then.

    A deadline later than the one already set costs nothing: when the timer fires early, its owner
    finds the new deadline and arms it again. So most requests never touch the event loop's heap.
    """

    __slots__ = ("_call", "_handle", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
        self._loop = loop
        self._call = call
        self._handle: asyncio.TimerHandle | None = None

    def arm(self, due: float) -> None:
        """See to it that the owner is called by this time of the loop; never for infinity."""
        handle = self._handle
        if due == float("inf") or (handle is not None and handle.when() <= due):
            return
        if handle is not None:
            handle.cancel()
        self._handle = self._loop.call_at(due, self._fire)

    def disarm(self) -> None:
        """Forget the deadline."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fire(self) -> None:
        self._handle = None
        self._call()
