"""A limit on the bytes of many holders together: over it, the largest holder is evicted.

A limit for each holder alone does not bound the sum of thousands of them. Refusing the newest one
would let a few large holders shut out all others.
"""

from collections.abc import Callable


class Share:
    """The share of one holder in a budget: the bytes that it keeps."""

    __slots__ = ("_budget", "_release", "size")

    def __init__(self, budget: "Budget", release: Callable[[], None]) -> None:
        self._budget = budget
        self._release = release
        self.size = 0

    def resize(self, size: int) -> None:
        """Keep `size` bytes from now on; over the limit the largest holder is evicted."""
        self._budget.settle(self, size)

    def close(self) -> None:
        """Keep nothing any more."""
        self._budget.settle(self, 0)

    def evict(self) -> None:
        """Release what is kept: called by the budget."""
        self._release()


class Budget:
    """The limit, and how much each holder keeps."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._holders: set[Share] = set()
        self.held = 0
        """Bytes that are kept now."""

    def open(self, release: Callable[[], None]) -> Share:
        """A new holder; `release` must free what it keeps."""
        return Share(self, release)

    def settle(self, share: Share, size: int) -> None:
        """Record the bytes of a holder; evict the largest holders while the limit is exceeded."""
        self._record(share, size)
        while self.held > self._limit:
            largest = max(self._holders, key=_get_size)
            self._record(largest, 0)
            largest.evict()

    def _record(self, share: Share, size: int) -> None:
        self.held += size - share.size
        share.size = size
        if size:
            self._holders.add(share)
        else:
            self._holders.discard(share)


def _get_size(share: Share) -> int:
    return share.size
