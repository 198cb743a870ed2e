"""A client-side limit on requests per second; off by default.

API servers protect themselves by priority and fairness, and answer 429 when they are overloaded; a
limit in the client only adds delays. If set, it is a token bucket, as in client-go: a burst is sent
at once, further requests at the rate.
"""

from quarterdeck.kit.clock import Clock


class RateLimiter:
    """Limits the rate of requests; first in, first out."""

    def __init__(self, per_second: float, burst: int, clock: Clock) -> None:
        if per_second <= 0 or burst < 1:
            raise ValueError(
                "a limit must have a rate above 0 and a burst of at least 1,"
                f" got {per_second} and {burst}"
            )
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._filled_at = clock.monotonic()

    async def wait(self) -> None:
        """Wait until the next request may be sent."""
        delay_s = self.reserve()
        if delay_s > 0:
            await self._clock.sleep(delay_s)

    def reserve(self) -> float:
        """Take a token, even if none is left; returns the seconds until it is available."""
        now = self._clock.monotonic()
        grown = (now - self._filled_at) * self._per_second
        self._tokens = min(float(self._burst), self._tokens + grown) - 1.0
        self._filled_at = now
        return max(0.0, -self._tokens / self._per_second)
