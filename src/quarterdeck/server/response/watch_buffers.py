"""Limits the bytes that are buffered in the connections of all watchers.

A watcher that does not read costs the memory of what was written to its connection. Each may have a
few megabytes, for a burst; when all together exceed a limit, each must read what it was sent before
it is sent more. Its events wait in the store meanwhile, where all watchers share them.
"""

LEAST_BYTES = 64 * 1024
"""A watcher with at most this many buffered bytes is never delayed because of others."""


class WatchBuffers:
    """Counts the buffered bytes of each stream, as of its last write."""

    def __init__(self, *, each_bytes: int, all_bytes: int) -> None:
        self._each_bytes = each_bytes
        self._all_bytes = all_bytes
        self._known: dict[object, int] = {}
        self.total = 0

    def is_full(self, stream: object, buffered: int) -> bool:
        """Record the buffered bytes of a stream; whether it must drain before the next write."""
        self.total += buffered - self._known.get(stream, 0)
        self._known[stream] = buffered
        if self.total > self._all_bytes:
            return buffered > min(LEAST_BYTES, self._each_bytes)
        return buffered > self._each_bytes

    def forget(self, stream: object) -> None:
        """Drop a stream that ended."""
        self.total -= self._known.pop(stream, 0)
