"""Watches the event loop: measures its lag, and logs the code that blocks it.

A thread calls the loop twice in each limit and measures how long the answer takes, because a
blocked loop cannot observe itself. Once per incident it logs the stack of the loop's thread, which
shows the code that blocks. With the default limit it wakes an idle loop twice a second.

Time in which the loop's thread was ready to run but had no processor does not count: on a loaded
machine every loop is late, whatever code it runs.
"""

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.metrics import Histogram
from quarterdeck.runtime.observability.logging import Logger


class LoopWatchdog:
    """Reports blocked event loops."""

    def __init__(
        self,
        *,
        clock: Clock,
        log: Logger,
        lag: Histogram,
        limit_s: float = 1.0,
        read_wait_s: Callable[[int], float] | None = None,
    ) -> None:
        """`read_wait_s` returns how long the thread with an id has waited for a processor."""
        self._clock = clock
        self._read_wait_s = read_wait_s if read_wait_s is not None else read_processor_wait_s
        self._log = log
        self._lag = lag
        self._limit_s = limit_s
        self._asked_at: float | None = None
        """When the thread called the loop, while the answer is outstanding."""
        self._stop = threading.Event()
        self.incidents = 0
        self.last_stack = ""

    async def run(self) -> None:
        """Measure until cancelled."""
        loop, loop_thread = asyncio.get_running_loop(), threading.current_thread()
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

    def _watch_loop(self, loop: asyncio.AbstractEventLoop, loop_thread: threading.Thread) -> None:
        native_id = loop_thread.native_id or 0
        is_reported = False
        waited_s = 0.0
        while not self._stop.wait(self._limit_s / 2):
            now, asked_at = self._clock.monotonic(), self._asked_at
            if asked_at is None:
                waited_s = self._read_wait_s(native_id)
                self._asked_at, is_reported = now, False
                loop.call_soon_threadsafe(self._answer)
            elif not is_reported:
                late_s = now - asked_at - (self._read_wait_s(native_id) - waited_s)
                if late_s >= self._limit_s:
                    is_reported = True
                    self._report(late_s, loop_thread.ident or 0)

    def _report(self, late_s: float, loop_thread: int) -> None:
        frame = sys._current_frames().get(loop_thread)
        if frame is None:
            return
        self.incidents += 1
        self.last_stack = "".join(traceback.format_stack(frame)[-8:])
        self._log.warning(
            "the event loop is blocked", duration_s=round(late_s, 3), stack=self.last_stack
        )


def read_processor_wait_s(native_id: int) -> float:
    """How long a thread of this process has waited for a processor; 0 if that is not available."""
    try:
        with open(f"/proc/self/task/{native_id}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
