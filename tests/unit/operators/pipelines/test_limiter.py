"""The limiter: what it promises to a server, for any pattern of callers."""

import asyncio

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.kit.clock import VirtualClock, settle
from quarterdeck.operators.pipelines.drivers.limiter import Bucket, Limiter
from quarterdeck.operators.pipelines.ports import Paused


@given(
    rate=st.floats(0.5, 50),
    burst=st.integers(1, 10),
    gaps=st.lists(st.floats(0, 3), min_size=1, max_size=60),
)
@settings(max_examples=count_examples(100))
def test_no_window_sees_more_than_the_rate_and_one_burst(
    rate: float, burst: int, gaps: list[float]
) -> None:
    bucket, now, granted = Bucket(rate, burst, now=0.0), 0.0, []
    for gap in gaps:
        now += gap
        now += bucket.wait_s(now)
        bucket.take(now)
        granted.append(now)
    for first, start in enumerate(granted):
        for last in range(first, len(granted)):
            assert last - first + 1 <= burst + (granted[last] - start) * rate + 1e-6


def test_a_pause_stops_everything_and_leaves_one_token() -> None:
    bucket = Bucket(10.0, 5, now=0.0)
    bucket.pause(30.0, now=0.0)
    assert bucket.paused_s(10.0) == 20.0
    bucket.pause(1.0, now=0.0)
    assert bucket.paused_s(10.0) == 20.0, "a shorter pause does not cut a longer one"
    assert bucket.paused_s(30.0) == 0.0
    assert bucket.wait_s(30.0) == 0.0
    bucket.take(30.0)
    assert bucket.wait_s(30.0) == pytest.approx(0.1)


def test_a_new_rate_keeps_no_more_than_its_burst() -> None:
    bucket = Bucket(10.0, 10, now=0.0)
    bucket.configure(1.0, 1, now=0.0)
    bucket.take(0.0)
    assert bucket.wait_s(0.0) == pytest.approx(1.0)


@pytest.mark.parametrize(("rate", "burst"), [(0.0, 1), (1.0, 0), (-1.0, 1)])
def test_a_limiter_that_would_never_grant_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="invalid rate limit"):
        Bucket(rate, burst, now=0.0)


async def test_callers_are_served_in_order() -> None:
    clock = VirtualClock()
    limiter = Limiter(1.0, 1, clock=clock)
    served: list[int] = []

    async def call(number: int) -> None:
        await limiter.acquire()
        served.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(call(number))
        await settle()
        assert served == [0]
        await clock.advance(1.0)
        assert served == [0, 1]
        await clock.advance(2.0)
    assert served == [0, 1, 2, 3]


async def test_a_pause_refuses_callers_that_wait() -> None:
    clock = VirtualClock()
    limiter = Limiter(1.0, 1, clock=clock)
    await limiter.acquire()
    waiting = asyncio.ensure_future(limiter.acquire())
    await settle()
    limiter.pause(60.0)
    await clock.advance(1.0)
    with pytest.raises(Paused) as caught:
        await waiting
    assert caught.value.left_s == pytest.approx(59.0)
    with pytest.raises(Paused):
        await limiter.acquire()
    await clock.advance(60.0)
    await limiter.acquire()


async def test_a_caller_that_gives_up_costs_no_token() -> None:
    clock = VirtualClock()
    limiter = Limiter(1.0, 1, clock=clock)
    await limiter.acquire()
    waiting = asyncio.ensure_future(limiter.acquire())
    await settle()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await clock.advance(1.0)
    assert await limiter.acquire() == 0.0
