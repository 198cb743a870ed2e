"""Watches the event loop: measures how late it is, and names the code that holds it.

A thread asks the loop twice in each limit and sees how long the answer takes: when the loop is
stuck only another thread can look. It dumps the stack of the loop's thread, which is the code that
blocks, once per incident. A loop at rest is woken twice a second by this and by nothing else.
"""

import asyncio
import sys
import threading
import traceback

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.metrics import Histogram
from quarterdeck.runtime.observability.logging import Logger


class LoopWatchdog:
    """Reports blocked event loops."""

    def __init__(self, *, clock: Clock, log: Logger, lag: Histogram, limit_s: float = 1.0) -> None:
        self._clock = clock
        self._log = log
        self._lag = lag
        self._limit_s = limit_s
        self._asked_at: float | None = None
        """When the thread asked the loop for an answer that has not come yet."""
        self._stop = threading.Event()
        self.incidents = 0
        self.last_stack = ""

    async def run(self) -> None:
        """Measure until cancelled."""
        loop, loop_thread = asyncio.get_running_loop(), threading.get_ident()
        thread = threading.Thread(
            target=self._watch_loop, args=(loop, loop_thread), name="loop-watchdog", daemon=True
        )
        thread.start()
        try:
            await loop.create_future()
        finally:
            self._stop.set()
            await asyncio.to_thread(thread.join)

    def check(self) -> str:
        """A health check: whether the loop is blocked now."""
        asked_at = self._asked_at
        late_s = 0.0 if asked_at is None else self._clock.monotonic() - asked_at
        return f"the event loop is {late_s:.1f} s late" if late_s > 10 * self._limit_s else ""

    def _answer(self) -> None:
        if self._asked_at is not None:
            self._lag.observe(max(0.0, self._clock.monotonic() - self._asked_at))
            self._asked_at = None

    def _watch_loop(self, loop: asyncio.AbstractEventLoop, loop_thread: int) -> None:
        is_reported = False
        while not self._stop.wait(self._limit_s / 2):
            now, asked_at = self._clock.monotonic(), self._asked_at
            if asked_at is None:
                self._asked_at, is_reported = now, False
                loop.call_soon_threadsafe(self._answer)
            elif now - asked_at >= self._limit_s and not is_reported:
                is_reported = True
                self._report(now - asked_at, loop_thread)

    def _report(self, late_s: float, loop_thread: int) -> None:
        frame = sys._current_frames().get(loop_thread)
        if frame is None:
            return
        self.incidents += 1
        self.last_stack = "".join(traceback.format_stack(frame)[-8:])
        self._log.warning(
            "the event loop is blocked", duration_s=round(late_s, 3), stack=self.last_stack
        )
