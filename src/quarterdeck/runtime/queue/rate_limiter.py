"""How long a key waits before it is tried again: pure, on whatever time the caller passes."""

from collections.abc import Hashable
from typing import Protocol

_MAX_DOUBLINGS = 64


class RateLimiter(Protocol):
    """Decides delays, and counts failures until `forget`."""

    def when(self, key: Hashable, now: float) -> float:
        """Count one more failure of `key`; returns its delay in seconds."""
        ...

    def forget(self, key: Hashable) -> None:
        """The key succeeded: start from the beginning next time. Without it memory leaks."""
        ...

    def num_requeues(self, key: Hashable) -> int:
        """How many failures are counted."""
        ...


class ItemExponentialFailureRateLimiter:
    """`initial · 2^failures`, capped: 5, 10, 20 … ms up to 1000 s by default."""

    def __init__(self, initial_s: float = 0.005, cap_s: float = 1000.0) -> None:
        if not 0 < initial_s <= cap_s:
            raise ValueError(
                f"a rate limiter must have 0 < initial_s <= cap_s, got {initial_s} and {cap_s}"
            )
        self._initial_s = initial_s
        self._cap_s = cap_s
        self._failures: dict[Hashable, int] = {}

    def when(self, key: Hashable, now: float) -> float:
        """The delay of this failure; the next one is twice as long."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return min(self._cap_s, self._initial_s * 2.0 ** min(failures, _MAX_DOUBLINGS))

    def forget(self, key: Hashable) -> None:
        """Drop the counter."""
        self._failures.pop(key, None)

    def num_requeues(self, key: Hashable) -> int:
        """Failures since the last `forget`."""
        return self._failures.get(key, 0)
