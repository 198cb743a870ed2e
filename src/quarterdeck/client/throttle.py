"""A limit on requests per second, for those who must be gentle; off by default.

API servers protect themselves by priority and fairness, and say 429 when it is too much; a limit at
the client only adds waiting. Where one is wanted it is a bucket, as in other clients: a burst goes
out at once, the rest at the rate.
"""

from quarterdeck.kit.clock import Clock


class Throttle:
    """Lets requests pass at a rate; who comes first goes first."""

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

    async def admit(self) -> None:
        """Wait for one's turn."""
        delay_s = self.reserve()
        if delay_s > 0:
            await self._clock.sleep(delay_s)

    def reserve(self) -> float:
        """Take a token, also one that is still to come; the seconds until it is there."""
        now = self._clock.monotonic()
        grown = (now - self._filled_at) * self._per_second
        self._tokens = min(float(self._burst), self._tokens + grown) - 1.0
        self._filled_at = now
        return max(0.0, -self._tokens / self._per_second)
