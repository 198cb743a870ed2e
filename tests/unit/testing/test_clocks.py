"""Clocks that disagree with the world, and agree with themselves."""

import asyncio
from datetime import timedelta

import pytest

from quarterdeck import testing
from quarterdeck.testing import SkewedClock, VirtualClock, eventually


async def test_a_fast_clock_sees_more_time_and_sleeps_less_of_it() -> None:
    world = VirtualClock()
    fast = SkewedClock(world, rate=2.0, offset_s=3600)
    before = fast.now()
    assert before - world.now() == timedelta(hours=1)
    sleeping = asyncio.ensure_future(fast.sleep(10))
    await world.advance(4.9)
    assert not sleeping.done()
    await world.advance(0.2)
    assert sleeping.done()
    assert fast.monotonic() == pytest.approx(10.2)
    assert fast.now() - before == timedelta(seconds=10.2)


def test_a_clock_that_stands_still_is_refused() -> None:
    with pytest.raises(ValueError, match="rate above 0"):
        SkewedClock(VirtualClock(), rate=0)


async def test_a_wait_that_fails_reports_the_last_problem() -> None:
    async def holds() -> bool:
        raise LookupError("the third one is missing")

    with pytest.raises(AssertionError, match=r"holds did not hold within 0\.05 s") as caught:
        await eventually(holds, within_s=0.05)
    assert "the third one is missing" in str(caught.value.__cause__)


def test_the_face_has_what_it_names() -> None:
    assert all(getattr(testing, name) for name in testing.__all__)
