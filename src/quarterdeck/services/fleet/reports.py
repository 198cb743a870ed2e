"""Reports of agents: recorded in memory at once, written to disk in batches.

Polls are written once every half minute, not each by itself; only a registration, which must not be
lost, is written before it is answered.
"""

from quarterdeck.services.fleet.collectors import Collectors
from quarterdeck.services.fleet.persistence import Persistence, settle
from quarterdeck.services.fleet.records import Collector
from quarterdeck.storage import StorageError

FLUSH_BATCH = 250
"""Collectors per batch: a write takes some milliseconds, during which no poll is answered."""


class Reports:
    """Collectors that are newer in memory than on disk."""

    def __init__(self, collectors: Collectors, disk: Persistence) -> None:
        self._collectors = collectors
        self._disk = disk
        self._dirty: set[str] = set()

    def add(self, collector: Collector) -> None:
        """Record a collector in memory; the next flush writes it to disk."""
        self._collectors.put(collector)
        self._dirty.add(collector.id)

    async def write(self, collector: Collector) -> None:
        """Record a collector in memory, and write it to disk now."""
        self._collectors.put(collector)
        await settle([self._disk.put_collector(collector)])

    async def flush(self) -> None:
        """Write what agents have reported since the last flush; between batches polls are answered.

        Raises:
            StorageError: if it cannot be written; the next flush tries again.
        """
        waiting, self._dirty = list(self._dirty), set()
        while waiting:
            batch, waiting = waiting[:FLUSH_BATCH], waiting[FLUSH_BATCH:]
            known = (self._collectors.find(identity) for identity in batch)
            try:
                await settle([self._disk.put_collector(each) for each in known if each is not None])
            except StorageError:
                self._dirty.update(batch, waiting)
                raise
