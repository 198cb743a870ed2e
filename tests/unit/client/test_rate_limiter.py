"""A limit on requests: a burst at once, the rest at the rate, in order."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.client.rate_limiter import RateLimiter
from quarterdeck.kit.clock import VirtualClock


async def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    clock = VirtualClock()
    limiter = RateLimiter(10.0, 3, clock)
    went: list[tuple[int, float]] = []

    async def ask(number: int) -> None:
        await limiter.wait()
        went.append((number, round(clock.monotonic(), 3)))

    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(ask(number))
        await clock.advance(1.0)
    assert went == [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.1), (4, 0.2), (5, 0.3)]


@given(st.lists(st.floats(0.0, 2.0), min_size=1, max_size=60), st.integers(1, 10))
def test_no_window_holds_more_than_burst_and_rate(pauses: list[float], burst: int) -> None:
    class Stepped(VirtualClock):
        at = 0.0

        def monotonic(self) -> float:
            return self.at

    clock, rate = Stepped(), 5.0
    limiter = RateLimiter(rate, burst, clock)
    sent: list[float] = []
    for pause in pauses:
        clock.at += pause
        sent.append(clock.at + limiter.reserve())
    for start in range(len(sent)):
        for end in range(start, len(sent)):
            allowed = burst + rate * (sent[end] - sent[start])
            assert end - start + 1 <= allowed + 1e-6


@pytest.mark.parametrize(("rate", "burst"), [(0.0, 1), (-1.0, 1), (1.0, 0)])
def test_limits_that_let_nothing_pass_are_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="a limit must have"):
        RateLimiter(rate, burst, VirtualClock())
