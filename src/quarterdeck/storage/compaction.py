"""Compacts old history in small steps, on request and automatically.

Each step is one short job of the log, so that writes can run between steps. No task runs while
there is nothing to compact.
"""

import asyncio
from collections.abc import Callable

from quarterdeck.storage.errors import Closed, StorageError
from quarterdeck.storage.log import Log

__all__ = ["Compactor"]

SLACK = 4
"""Automatic compaction starts when 1/SLACK more revisions than `retain` have accumulated."""


class Compactor:
    """Compacts the log; keeps the reached and the requested revision."""

    def __init__(
        self, log: Log, *, compacted: int, retain: int | None, forget: Callable[[int], None]
    ) -> None:
        self._log = log
        self._retain = retain
        self._forget = forget
        self._reached = compacted
        self._is_running = False
        self._is_closed = False
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self.target = compacted
        """Nothing before this revision may be read any more."""

    def compact_if_due(self, revision: int) -> None:
        """Start compaction if enough history beyond `retain` has accumulated."""
        retain = self._retain
        if retain is not None and revision - self.target > retain + retain // SLACK:
            self._choose_target(revision - retain)

    async def compact(self, before: int) -> None:
        """Compact the history before a revision, and wait until it is done."""
        self._choose_target(before)
        if self._reached < before:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append((before, waiter))
            await waiter

    def close(self) -> None:
        """Take no further step; what was compacted so far stays so."""
        self._is_closed = True
        self._settle(self._reached, Closed("compaction cancelled: the store is closed"))

    def _choose_target(self, target: int) -> None:
        # Old revisions become unreadable first, so that no reader sees a history with gaps.
        if target > self.target:
            self.target = target
            self._forget(target)
        self._compact_once()

    def _compact_once(self) -> None:
        if not self._is_running and not self._is_closed and self._reached < self.target:
            self._is_running = True
            self._log.compact(self._reached, self.target, self._on_step_done)

    def _on_step_done(self, reached: int, error: StorageError | None) -> None:
        self._is_running = False
        self._reached = reached
        self._settle(reached, error)
        if error is None:
            self._compact_once()

    def _settle(self, reached: int, error: StorageError | None) -> None:
        left = []
        for before, waiter in self._waiters:
            if waiter.done():
                continue
            if before <= reached:
                waiter.set_result(None)
            elif error is not None:
                waiter.set_exception(error)
            else:
                left.append((before, waiter))
        self._waiters = left
