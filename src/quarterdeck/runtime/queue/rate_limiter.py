"""How long a key waits before it is tried again: pure, on whatever time the caller passes.

client-go's classic default is a `MaxOfRateLimiter` of an exponential delay per item and one bucket
for all. A priority queue needs only the first, which is our default.
"""

from collections.abc import Hashable, Sequence
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

    def retries(self, key: Hashable) -> int:
        """How many failures are counted."""
        ...


class ItemExponentialRateLimiter:
    """`initial · 2^failures`, capped: 5, 10, 20 … ms up to 1000 s by default."""

    def __init__(self, initial_s: float = 0.005, cap_s: float = 1000.0) -> None:
        if not 0 < initial_s <= cap_s:
            raise ValueError(f"need 0 < initial_s <= cap_s, got {initial_s} and {cap_s}")
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

    def retries(self, key: Hashable) -> int:
        """Failures since the last `forget`."""
        return self._failures.get(key, 0)


class ItemFastSlowRateLimiter:
    """A few fast tries, then slow ones."""

    def __init__(self, fast_s: float, slow_s: float, *, fast_tries: int) -> None:
        self._fast_s = fast_s
        self._slow_s = slow_s
        self._fast_tries = fast_tries
        self._failures: dict[Hashable, int] = {}

    def when(self, key: Hashable, now: float) -> float:
        """Fast for the first `fast_tries` failures."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return self._fast_s if failures <= self._fast_tries else self._slow_s

    def forget(self, key: Hashable) -> None:
        """Drop the counter."""
        self._failures.pop(key, None)

    def retries(self, key: Hashable) -> int:
        """Failures since the last `forget`."""
        return self._failures.get(key, 0)


class BucketRateLimiter:
    """A token bucket shared by all keys: every call reserves a token, even one not there yet."""

    def __init__(self, per_second: float = 10.0, burst: int = 100) -> None:
        if per_second <= 0 or burst < 1:
            raise ValueError(f"need per_second > 0 and burst >= 1, got {per_second} and {burst}")
        self._per_second = per_second
        self._burst = burst
        self._tokens = float(burst)
        self._at: float | None = None

    def when(self, key: Hashable, now: float) -> float:
        """Seconds until the reserved token exists."""
        elapsed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._at = now
        self._tokens = min(self._burst, self._tokens + elapsed * self._per_second) - 1.0
        return max(0.0, -self._tokens / self._per_second)

    def forget(self, key: Hashable) -> None:
        """Do nothing: a bucket has no state per key."""

    def retries(self, key: Hashable) -> int:
        """Always 0: a bucket counts no failures."""
        return 0


class MaxOfRateLimiter:
    """The longest delay of several limiters, all of which are charged."""

    def __init__(self, limiters: Sequence[RateLimiter]) -> None:
        if not limiters:
            raise ValueError("MaxOfRateLimiter needs at least one limiter")
        self._limiters = tuple(limiters)

    def when(self, key: Hashable, now: float) -> float:
        """The maximum; no short circuit, so that each one counts."""
        return max([limiter.when(key, now) for limiter in self._limiters])

    def forget(self, key: Hashable) -> None:
        """Forget in all."""
        for limiter in self._limiters:
            limiter.forget(key)

    def retries(self, key: Hashable) -> int:
        """The maximum."""
        return max(limiter.retries(key) for limiter in self._limiters)


class WithMaxWaitRateLimiter:
    """Another limiter with a ceiling."""

    def __init__(self, inner: RateLimiter, cap_s: float) -> None:
        self._inner = inner
        self._cap_s = cap_s

    def when(self, key: Hashable, now: float) -> float:
        """The inner delay, at most `cap_s`."""
        return min(self._cap_s, self._inner.when(key, now))

    def forget(self, key: Hashable) -> None:
        """Forget in the inner limiter."""
        self._inner.forget(key)

    def retries(self, key: Hashable) -> int:
        """The inner limiter's count."""
        return self._inner.retries(key)
