"""The circuit breaker: consecutive failures open it, one probe closes it."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit.breaker import CircuitBreaker, CircuitOpen, State
from quarterdeck.kit.clock import VirtualClock


def make(clock: VirtualClock) -> CircuitBreaker:
    return CircuitBreaker(clock=clock, threshold=5, recovery_s=60)


def state_of(breaker: CircuitBreaker) -> State:
    return breaker.state  # asked anew each time: it depends on the clock


def open_breaker(breaker: CircuitBreaker) -> None:
    for _ in range(5):
        breaker.acquire()
        breaker.record_failure()


def test_success_resets_the_count() -> None:
    breaker = make(VirtualClock())
    for _ in range(4):
        breaker.record_failure()
    breaker.record_success()
    for _ in range(4):
        breaker.record_failure()
    assert state_of(breaker) is State.CLOSED


def test_the_fifth_consecutive_failure_opens_the_breaker() -> None:
    breaker = make(VirtualClock())
    open_breaker(breaker)
    assert state_of(breaker) is State.OPEN
    with pytest.raises(CircuitOpen, match="circuit breaker is open") as caught:
        breaker.acquire()
    assert caught.value.retry_after_s == 60


async def test_one_probe_at_a_time_when_half_open() -> None:
    clock = VirtualClock()
    breaker = make(clock)
    open_breaker(breaker)
    await clock.advance(60)
    breaker.acquire()
    with pytest.raises(CircuitOpen):
        breaker.acquire()
    breaker.record_success()
    assert state_of(breaker) is State.CLOSED


async def test_failed_probe_opens_for_the_whole_time_again() -> None:
    clock = VirtualClock()
    breaker = make(clock)
    open_breaker(breaker)
    await clock.advance(60)
    breaker.acquire()
    breaker.record_failure()
    assert state_of(breaker) is State.OPEN
    await clock.advance(59)
    assert state_of(breaker) is State.OPEN
    await clock.advance(1)
    assert state_of(breaker) is State.HALF_OPEN


async def test_cancelled_probe_leaves_room_for_another() -> None:
    clock = VirtualClock()
    breaker = make(clock)
    open_breaker(breaker)
    await clock.advance(60)
    with pytest.raises(asyncio.CancelledError):
        async with breaker.guard():
            raise asyncio.CancelledError
    assert state_of(breaker) is State.HALF_OPEN
    async with breaker.guard():
        pass
    assert state_of(breaker) is State.CLOSED


async def test_guard_counts_exceptions() -> None:
    breaker = make(VirtualClock())
    for _ in range(5):
        with pytest.raises(OSError, match="down"):
            async with breaker.guard():
                raise OSError("down")
    with pytest.raises(CircuitOpen):
        async with breaker.guard():
            raise AssertionError("the call must not be made")


@given(st.lists(st.booleans()))
def test_state_follows_the_longest_run_of_failures(results: list[bool]) -> None:
    breaker = make(VirtualClock())
    run = 0
    for ok in results:
        try:
            breaker.acquire()
        except CircuitOpen:
            assert run >= 5
            return
        assert run < 5
        run = 0 if ok else run + 1
        breaker.record_success() if ok else breaker.record_failure()


@pytest.mark.parametrize(("threshold", "recovery_s"), [(0, 60.0), (5, -1.0)])
def test_limits_out_of_range_are_refused(threshold: int, recovery_s: float) -> None:
    with pytest.raises(ValueError, match="threshold >= 1"):
        CircuitBreaker(clock=VirtualClock(), threshold=threshold, recovery_s=recovery_s)
