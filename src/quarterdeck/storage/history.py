"""The recent events in memory, bounded by number and bytes."""

from bisect import bisect_right
from collections.abc import Sequence

from quarterdeck.storage.types import StoreEvent

__all__ = ["History"]

SLACK = 8
"""Trim when the bound is exceeded by 1/SLACK, so that trimming is cheap on average."""


class History:
    """Every event after `floor`, in order. Older events may be in the log, or compacted."""

    def __init__(self, *, floor: int, max_events: int, max_bytes: int) -> None:
        self.floor = floor
        """All events after this revision are here."""
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._events: list[StoreEvent] = []
        self._revisions: list[int] = []
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._events)

    @property
    def bytes(self) -> int:
        """How many bytes of values the events hold."""
        return self._bytes

    def extend(self, events: Sequence[StoreEvent]) -> None:
        """Add newer events; the oldest are dropped when there are too many."""
        self._events.extend(events)
        self._revisions.extend([event.revision for event in events])
        self._bytes += sum([event.size for event in events])
        if (
            len(self._events) > self._max_events + self._max_events // SLACK
            or self._bytes > self._max_bytes + self._max_bytes // SLACK
        ):
            self._shrink()

    def after(self, revision: int) -> list[StoreEvent]:
        """The events after a revision that is not below the floor."""
        return self._events[bisect_right(self._revisions, revision) :]

    def forget(self, upto: int) -> None:
        """Drop all events up to and including a revision."""
        self._drop(bisect_right(self._revisions, upto))
        self.floor = max(self.floor, upto)

    def _shrink(self) -> None:
        count = max(0, len(self._events) - self._max_events)
        over = self._bytes - sum(event.size for event in self._events[:count]) - self._max_bytes
        while over > 0:
            over -= self._events[count].size
            count += 1
        self._drop(count)

    def _drop(self, count: int) -> None:
        if not count:
            return
        self.floor = max(self.floor, self._revisions[count - 1])
        self._bytes -= sum(event.size for event in self._events[:count])
        del self._events[:count]
        del self._revisions[:count]
