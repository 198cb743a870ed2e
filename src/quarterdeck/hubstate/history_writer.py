"""Writes samples to the history in the background: in batches, with a bounded buffer.

Callers never wait for the history. While it does not answer, samples wait; when too many
wait, the oldest are dropped and counted. Samples that it refuses for good are dropped and counted,
too: later ones would wait behind them forever.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence

from quarterdeck.hubstate.errors import HistoryRefused, HistoryUnavailable
from quarterdeck.hubstate.ports import History, Sample
from quarterdeck.kit.clock import Clock
from quarterdeck.runtime.observability.logging import get_logger

BATCH = 20_000
MAX_WAITING = 500_000
PAUSE_S = 5.0
GATHER_S = 0.5
"""How long to wait for more samples before a batch is written."""
_log = get_logger("hubstate.history")


class HistoryWriter:
    """Writes samples in the background."""

    def __init__(self, history: History, *, clock: Clock, max_waiting: int = MAX_WAITING) -> None:
        self._history = history
        self._clock = clock
        self._waiting: deque[Sample] = deque()
        self._writing = 0
        """How many samples the write at hand has taken."""
        self._max = max_waiting
        self._news = asyncio.Event()
        self.written = 0
        self.dropped = 0
        self.failures = 0
        self.problem = ""
        """Why the last write failed; empty if it did not."""

    def add(self, samples: Iterable[Sample]) -> None:
        """Hand samples over; the oldest go when too many wait."""
        self._waiting.extend(samples)
        while len(self._waiting) > self._max:
            self._waiting.popleft()
            self.dropped += 1
        if self._waiting:
            self._news.set()

    @property
    def waiting(self) -> int:
        """Samples that are not written yet."""
        return len(self._waiting) + self._writing

    async def run(self) -> None:
        """Write buffered samples; cancel it to stop, then `flush`."""
        while True:
            await self._news.wait()
            await self._clock.sleep(GATHER_S)
            self._news.clear()
            while self._waiting:
                if not await self._write_batch():
                    await self._clock.sleep(PAUSE_S)

    async def flush(self) -> None:
        """Try once to write all buffered samples."""
        while self._waiting and await self._write_batch():
            pass

    async def write_now(self, samples: Sequence[Sample]) -> bool:
        """Write samples without the buffer; False if they have to wait.

        Samples that can never be written are dropped, and do not have to wait.
        """
        try:
            await self._history.write(samples)
        except HistoryUnavailable as error:
            self._note("the history does not answer; samples wait", str(error))
            return False
        except HistoryRefused as error:
            self._drop(error.count, str(error))
            self.written += len(samples) - error.count
        except Exception as error:  # samples that break a driver must not end the hub, nor stay
            self._drop(len(samples), f"{type(error).__name__}: {error}")
        else:
            self.written += len(samples)
            self.problem = ""
        return True

    async def _write_batch(self) -> bool:
        batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
        self._writing = len(batch)
        is_done = False
        try:
            is_done = await self.write_now(batch)
        finally:
            self._writing = 0
            if not is_done:
                self._waiting.extendleft(reversed(batch))
        return is_done

    def _drop(self, count: int, problem: str) -> None:
        self.dropped += count
        self._note("samples are dropped: the history refused them", problem, count=count)

    def _note(self, message: str, problem: str, **fields: object) -> None:
        """Count a failure; log it unless the one before had the same cause."""
        self.failures += 1
        if problem != self.problem:
            _log.warning(message, reason=problem, **fields)
        self.problem = problem
