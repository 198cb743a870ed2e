"""Writes samples to the history in the background: in batches, with a bounded buffer.

Callers never wait for the history. While it does not answer, samples wait; when too many
wait, the oldest are dropped and counted.
"""

import asyncio
from collections import deque
from collections.abc import Iterable

from quarterdeck.hubstate.errors import HistoryUnavailable
from quarterdeck.hubstate.ports import History, Sample
from quarterdeck.kit.clock import Clock

BATCH = 20_000
MAX_WAITING = 500_000
PAUSE_S = 5.0
GATHER_S = 0.5
"""How long to wait for more samples before a batch is written."""


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

    async def _write_batch(self) -> bool:
        batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
        self._writing = len(batch)
        try:
            await self._history.write(batch)
        except HistoryUnavailable as error:
            self.failures += 1
            self.problem = str(error)
            self._waiting.extendleft(reversed(batch))
            return False
        except asyncio.CancelledError:
            self._waiting.extendleft(reversed(batch))
            raise
        except Exception as error:  # samples that break a driver must not end the hub, nor stay
            self.failures += 1
            self.dropped += len(batch)
            self.problem = f"{type(error).__name__}: {error}"
            return True
        finally:
            self._writing = 0
        self.written += len(batch)
        self.problem = ""
        return True
