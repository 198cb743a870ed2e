"""Watches the event loop: measures how late it is, and names the code that holds it.

A task measures the lag. When the loop is stuck only another thread can look: it dumps the stack
of the loop's thread, which is the code that blocks, once per incident.
"""

import asyncio
import sys
import threading
import traceback

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.metrics import Histogram
from quarterdeck.runtime.observability.logging import Logger

_BEAT_S = 0.1


class LoopWatchdog:
    """Reports blocked event loops."""

    def __init__(self, *, clock: Clock, log: Logger, lag: Histogram, limit_s: float = 1.0) -> None:
        self._clock = clock
        self._log = log
        self._lag = lag
        self._limit_s = limit_s
        self._beat_at = clock.monotonic()
        self._stop = threading.Event()
        self._loop_thread = 0
        self.incidents = 0
        self.last_stack = ""

    async def run(self) -> None:
        """Measure until cancelled."""
        self._loop_thread = threading.get_ident()
        self._beat_at = self._clock.monotonic()
        thread = threading.Thread(target=self._look, name="loop-watchdog", daemon=True)
        thread.start()
        try:
            while True:
                before = self._clock.monotonic()
                await self._clock.sleep(_BEAT_S)
                self._beat_at = self._clock.monotonic()
                self._lag.observe(max(0.0, self._beat_at - before - _BEAT_S))
        finally:
            self._stop.set()
            await asyncio.to_thread(thread.join)

    def check(self) -> str:
        """A health check: whether the loop is blocked now."""
        late_s = self._clock.monotonic() - self._beat_at
        return f"the event loop is {late_s:.1f} s late" if late_s > 10 * self._limit_s else ""

    def _look(self) -> None:
        reported = -1.0
        while not self._stop.wait(self._limit_s / 2):
            beat_at = self._beat_at
            late_s = self._clock.monotonic() - beat_at - _BEAT_S
            if late_s < self._limit_s or beat_at == reported:
                continue
            reported = beat_at
            frame = sys._current_frames().get(self._loop_thread)
            if frame is None:
                continue
            self.incidents += 1
            self.last_stack = "".join(traceback.format_stack(frame)[-8:])
            self._log.warning(
                "the event loop is blocked", duration_s=round(late_s, 3), stack=self.last_stack
            )
