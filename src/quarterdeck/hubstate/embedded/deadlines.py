"""When to look which keys have expired: one time for each key, however often it is written. Pure.

Most keys are written again every interval with a TTL of many intervals. A time that is later than
the noted one replaces it only when that one is due.
"""

import heapq
from collections.abc import Iterator


class Deadlines:
    """The times of keys, earliest first."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, str]] = []
        self._noted: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._heap)

    def note(self, key: str, at: float) -> None:
        """Note when to look at a key; an earlier time that is noted stays."""
        noted = self._noted.get(key)
        if noted is None or at < noted:
            self._noted[key] = at
            heapq.heappush(self._heap, (at, key))

    def take_due(self, now: float) -> Iterator[str]:
        """Take the keys to look at now; note those again that have not expired."""
        while self._heap and self._heap[0][0] <= now:
            at, key = heapq.heappop(self._heap)
            if self._noted.get(key) == at:
                del self._noted[key]
                yield key
