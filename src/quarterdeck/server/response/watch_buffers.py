"""What waits in the connections of all watchers together.

A watcher that does not read costs what was written to it and not taken. Each may have a few
megabytes, for a burst; when all of them together have too much, each has to take what it was sent
before it is sent more. Its events wait in the store meanwhile, where all watchers share them.
"""

LEAST_BYTES = 64 * 1024
"""What may always wait in one connection: a watcher with less is not held up by the others."""


class WatchBuffers:
    """Counts the bytes that wait in connections, by stream, as they were at the last write."""

    def __init__(self, *, each_bytes: int, all_bytes: int) -> None:
        self._each_bytes = each_bytes
        self._all_bytes = all_bytes
        self._known: dict[object, int] = {}
        self.total = 0

    def is_full(self, stream: object, buffered: int) -> bool:
        """Note what waits for a stream; whether it must be taken before more is written."""
        self.total += buffered - self._known.get(stream, 0)
        self._known[stream] = buffered
        if self.total > self._all_bytes:
            return buffered > min(LEAST_BYTES, self._each_bytes)
        return buffered > self._each_bytes

    def forget(self, stream: object) -> None:
        """Drop a stream that ended."""
        self.total -= self._known.pop(stream, 0)
