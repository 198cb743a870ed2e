"""Growing delays between tries, with jitter so that many clients do not return at once."""

import random

MAX_RETRY_AFTER_S = 300.0
"""The longest Retry-After that is obeyed: a server's mistake must not stop a client for days."""
_MAX_DOUBLINGS = 64
"""No delay is doubled more often: floats end at 1,024."""


def bound_retry_after(seconds: float | None) -> float:
    """Limit a Retry-After of a server; 0 if there is none."""
    return min(max(float(seconds or 0), 0.0), MAX_RETRY_AFTER_S)


def compute_doubled(first_s: float, times: int, cap_s: float) -> float:
    """Compute a delay that is doubled `times` times, at most `cap_s`."""
    return min(first_s * 2.0 ** min(times, _MAX_DOUBLINGS), cap_s)


class Backoff:
    """Exponential delays: `initial * factor**n`, at most `cap`.

    Each is multiplied by a draw from [1, 1 + jitter). The jitter comes after the cap, as
    Kubernetes' clients do it.
    """

    def __init__(
        self,
        *,
        initial_s: float = 0.8,
        factor: float = 2.0,
        cap_s: float = 30.0,
        jitter: float = 1.0,
        random: random.Random,
    ) -> None:
        if initial_s <= 0 or factor < 1 or cap_s < initial_s or jitter < 0:
            raise ValueError(
                "a backoff must have initial_s > 0, factor >= 1, cap_s >= initial_s and jitter "
                f">= 0, got {initial_s}, {factor}, {cap_s}, {jitter}"
            )
        self._initial = initial_s
        self._factor = factor
        self._cap = cap_s
        self._jitter = jitter
        self._random = random
        self._failures = 0

    @property
    def failures(self) -> int:
        """How often `next` was called since the last reset."""
        return self._failures

    def next(self) -> float:
        """The delay before the next try, in seconds."""
        delay = self._cap
        if self._failures < _MAX_DOUBLINGS:
            delay = min(self._cap, self._initial * self._factor**self._failures)
        self._failures += 1
        return delay * (1 + self._random.random() * self._jitter)

    def reset(self) -> None:
        """Start over after a success."""
        self._failures = 0
