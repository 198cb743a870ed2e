"""When a reflector may send its next request, after failures and expired watches."""

import random

from quarterdeck.kit.backoff import Backoff
from quarterdeck.runtime.informer.failure import Failure
from quarterdeck.runtime.informer.watch_settings import WatchSettings


class RetrySchedule:
    """The earliest time of the next request. Failures move it by a growing delay with jitter."""

    def __init__(self, settings: WatchSettings, rng: random.Random) -> None:
        self._settings = settings
        self._random = rng
        self._backoff = Backoff(
            initial_s=settings.backoff_initial_s,
            factor=2.0,
            cap_s=settings.backoff_cap_s,
            jitter=1.0,
            random=rng,
        )
        self._ready_at = float("-inf")
        self._failed_at = float("-inf")
        self._retried_at = float("-inf")

    def get_wait_s(self, now: float) -> float:
        """How long to wait now; 0 or less for not at all."""
        return self._ready_at - now

    def may_retry_now(self, now: float) -> bool:
        """Whether a request may be sent without a delay: the last such one is long enough ago."""
        return now - self._retried_at >= self._settings.relist_interval_s

    def is_transient(self, failure: Failure, now: float, *, last_heard_at: float) -> bool:
        """Whether a failure is probably transient: the first 5xx since the server last answered."""
        return (
            failure.code >= 500
            and not failure.is_too_large
            and not failure.retry_after_s
            and last_heard_at > self._failed_at
            and self.may_retry_now(now)
        )

    def wait_jitter(self, now: float) -> None:
        """Wait only for a jitter, since many clients may lose their watches at the same moment."""
        self._ready_at = now + self._random.random() * self._settings.relist_jitter_s

    def retry_now(self, now: float) -> None:
        """Wait only for a jitter, which is allowed once in an interval."""
        self._retried_at = now
        self.wait_jitter(now)

    def retry_now_after_failure(self, now: float) -> None:
        """As `retry_now`, and record the failure, so that the next one is not retried at once."""
        self._note_failure(now)
        self.retry_now(now)

    def delay(self, failure: Failure, now: float, *, cap_s: float = float("inf")) -> None:
        """Wait longer after each failure, and at least as long as Retry-After says (R4)."""
        self._note_failure(now)
        self._ready_at = now + max(min(self._backoff.next(), cap_s), failure.retry_after_s)

    def _note_failure(self, now: float) -> None:
        if now - self._failed_at > self._settings.backoff_reset_s:
            self._backoff.reset()
        self._failed_at = now
