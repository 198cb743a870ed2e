"""Limits the rate of calls to a server: one token bucket for all users of a connection.

`Bucket` decides and is pure; `Limiter` waits. A response 429 pauses the whole bucket: callers that
wait, and later ones, get `Paused` with the remaining time instead of queueing up.
"""

import asyncio

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.pipelines.ports import Paused


class Bucket:
    """A token bucket; `now` may come from any clock, as long as it is always the same one."""

    def __init__(self, rate: float, burst: int, *, now: float) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(
                f"invalid rate limit: rate {rate} must be above 0, burst {burst} at least 1"
            )
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._at = now
        self._paused_until = now

    def configure(self, rate: float, burst: int, *, now: float) -> None:
        """Change rate and burst; tokens are kept up to the new burst."""
        self._refill(now)
        self._rate, self._burst = rate, burst
        self._tokens = min(self._tokens, float(burst))

    def pause(self, seconds: float, *, now: float) -> None:
        """Grant no tokens for some seconds; a longer pause in progress is not shortened."""
        self._paused_until = max(self._paused_until, now + seconds)
        self._tokens = min(self._tokens, 1.0)

    def paused_s(self, now: float) -> float:
        """What is left of the pause."""
        return max(0.0, self._paused_until - now)

    def wait_s(self, now: float) -> float:
        """Seconds until there is a token."""
        self._refill(now)
        return max(0.0, (1.0 - self._tokens) / self._rate)

    def is_idle(self, now: float) -> bool:
        """Whether at least half of the burst is left, and no pause is under way."""
        self._refill(now)
        return self.paused_s(now) == 0 and 2 * self._tokens >= self._burst

    def take(self, now: float) -> None:
        """Take one token; call it only when `wait_s` is 0."""
        self._refill(now)
        self._tokens -= 1.0

    def _refill(self, now: float) -> None:
        elapsed = max(0.0, now - max(self._at, min(self._paused_until, now)))
        self._at = max(self._at, now)
        self._tokens = min(float(self._burst), self._tokens + elapsed * self._rate)


class Limiter:
    """Waits for tokens of a bucket, in order of arrival."""

    def __init__(self, rate: float, burst: int, *, clock: Clock) -> None:
        self._clock = clock
        self._bucket = Bucket(rate, burst, now=clock.monotonic())
        self._turn = asyncio.Lock()

    async def acquire(self) -> float:
        """Wait for a token; returns how long it took.

        Raises:
            Paused: at once, if the server asked for a pause before or meanwhile.
        """
        started = self._clock.monotonic()
        self._refuse_while_paused()
        async with self._turn:
            self._refuse_while_paused()
            while (wait_s := self._bucket.wait_s(self._clock.monotonic())) > 1e-9:
                await self._clock.sleep(wait_s)
                self._refuse_while_paused()
            self._bucket.take(self._clock.monotonic())
        return self._clock.monotonic() - started

    def pause(self, seconds: float) -> None:
        """Pause all callers for some seconds."""
        self._bucket.pause(seconds, now=self._clock.monotonic())

    @property
    def paused_s(self) -> float:
        """What is left of the pause."""
        return self._bucket.paused_s(self._clock.monotonic())

    @property
    def is_idle(self) -> bool:
        """Whether an optional call would not delay others."""
        return not self._turn.locked() and self._bucket.is_idle(self._clock.monotonic())

    def configure(self, rate: float, burst: int) -> None:
        """Change the rate."""
        self._bucket.configure(rate, burst, now=self._clock.monotonic())

    def _refuse_while_paused(self) -> None:
        if (left_s := self.paused_s) > 0:
            raise Paused(left_s)
