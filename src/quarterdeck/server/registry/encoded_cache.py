"""A cache of encoded responses by the stored bytes that they are made from.

Objects of a definition whose schema changed are pruned and defaulted on every read, and protobuf is
encoded from stored JSON. Readers share the stored bytes of an object, and `bytes` caches its hash,
so a look-up is cheap.
"""

import threading
from collections.abc import Callable

_LIMIT_BYTES = 32 * 1024 * 1024


class EncodedCache:
    """Encoded bytes by stored bytes, up to a total size; the oldest are dropped first."""

    def __init__(self, *, limit_bytes: int = _LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._bytes = 0
        self._results: dict[bytes, bytes] = {}
        self._lock = threading.Lock()

    def get(self, stored: bytes, make: Callable[[bytes], bytes]) -> bytes:
        """Return the cached result for `stored`, or make it; one equal to `stored` is shared."""
        result = self._results.get(stored)
        if result is not None:
            return result
        result = make(stored)
        if result == stored:
            result = stored
        with self._lock:  # large objects are encoded in threads
            if stored not in self._results:
                self._keep(stored, result)
        return result

    def _keep(self, stored: bytes, result: bytes) -> None:
        self._results[stored] = result
        self._bytes += _count(stored, result)
        while self._bytes > self._limit_bytes:
            oldest = next(iter(self._results))
            self._bytes -= _count(oldest, self._results.pop(oldest))

    def __len__(self) -> int:
        return len(self._results)


def _count(stored: bytes, result: bytes) -> int:
    return len(stored) if result is stored else len(stored) + len(result)
