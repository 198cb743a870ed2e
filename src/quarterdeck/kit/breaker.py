"""A circuit breaker: stop calling a system that keeps failing, and probe it from time to time.

    breaker = CircuitBreaker(clock=clock)
    async with breaker.guard():
        ...  # the call

Closed, every call goes through. After `threshold` consecutive failures the breaker opens and calls
fail at once with `CircuitOpen`. After `recovery_s` it is half-open: one call goes through as a
probe, the others still fail. A successful probe closes the breaker, a failed one opens it again.
A cancelled call is neither a success nor a failure: it says nothing about the system.
"""

import asyncio
import contextlib
import enum
from collections.abc import AsyncIterator

from quarterdeck.kit.clock import Clock


class State(enum.StrEnum):
    """The state of a breaker."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class CircuitOpen(Exception):
    """Raised when a call is refused because the system failed repeatedly."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__("circuit breaker is open")
        self.retry_after_s = retry_after_s
        """Seconds until a probe may go through; 0 while one is under way."""


class CircuitBreaker:
    """Counts consecutive failures of one system; shared by all calls to it."""

    def __init__(self, *, clock: Clock, threshold: int = 5, recovery_s: float = 60.0) -> None:
        if threshold < 1 or recovery_s < 0:
            raise ValueError(
                "a circuit breaker must have threshold >= 1 and recovery_s >= 0, "
                f"got {threshold} and {recovery_s}"
            )
        self._clock = clock
        self._threshold = threshold
        self._recovery = recovery_s
        self._failures = 0
        self._opened_at = 0.0
        self._is_open = False
        self._is_probing = False

    @property
    def failures(self) -> int:
        """Consecutive failures so far."""
        return self._failures

    @property
    def state(self) -> State:
        """The state for the next call."""
        if not self._is_open:
            return State.CLOSED
        return State.HALF_OPEN if self._compute_remaining() <= 0 else State.OPEN

    def acquire(self) -> None:
        """Ask to make a call; call `succeed`, `fail` or `release` after it.

        Raises:
            CircuitOpen: if the call must not be made now.
        """
        match self.state:
            case State.CLOSED:
                return
            case State.HALF_OPEN if not self._is_probing:
                self._is_probing = True
            case _:
                raise CircuitOpen(max(0.0, self._compute_remaining()))

    def record_success(self) -> None:
        """Record that the system answered: the breaker closes."""
        self._failures = 0
        self._is_open = False
        self._is_probing = False

    def record_failure(self) -> None:
        """Record a failure; the breaker opens at the threshold, or if a probe failed."""
        self._failures += 1
        if self._is_probing or self._failures >= self._threshold:
            self._is_open = True
            self._opened_at = self._clock.monotonic()
        self._is_probing = False

    def release(self) -> None:
        """End a call that neither succeeded nor failed; the next call may be the probe."""
        self._is_probing = False

    @contextlib.asynccontextmanager
    async def guard(self) -> AsyncIterator[None]:
        """Make a call inside; an exception counts as a failure, cancellation as neither.

        Raises:
            CircuitOpen: if the call must not be made now.
        """
        self.acquire()
        try:
            yield
        except asyncio.CancelledError:
            self.release()
            raise
        except Exception:
            self.record_failure()
            raise
        else:
            self.record_success()

    def _compute_remaining(self) -> float:
        return self._opened_at + self._recovery - self._clock.monotonic()
