"""A time limit that one task uses again and again."""

import asyncio

import pytest

from quarterdeck.kit.time_limit import TimeLimit


async def test_what_is_quick_enough_passes_and_the_limit_serves_again() -> None:
    limit = TimeLimit(60.0)
    for _ in range(3):
        with limit:
            await asyncio.sleep(0)
        assert not limit.expired
    limit.close()


async def test_a_block_that_takes_too_long_raises_a_timeout() -> None:
    limit = TimeLimit(0.01)
    with pytest.raises(TimeoutError), limit:
        await asyncio.Event().wait()
    assert limit.expired
    with limit:
        await asyncio.sleep(0)
    assert not limit.expired


async def test_an_early_timer_waits_for_the_newest_use(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, now = asyncio.get_running_loop(), [0.0]
    monkeypatch.setattr(loop, "time", lambda: now[0])

    async def advance(seconds: float) -> None:
        now[0] += seconds
        for _ in range(3):
            await asyncio.sleep(0)

    limit = TimeLimit(10.0)
    with limit:
        await advance(6.0)  # the timer is armed for the tenth second
    with limit:
        await advance(6.0)  # it fires in the twelfth, too early for the second use
        await advance(3.9)
    assert not limit.expired
    with pytest.raises(TimeoutError), limit:
        await advance(10.0)
        await advance(0.1)
        pytest.fail("the limit has not passed")
    limit.close()


async def test_a_cancellation_from_outside_is_not_a_timeout() -> None:
    entered = asyncio.Event()

    async def work() -> None:
        with TimeLimit(60.0):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_wins_over_a_timeout() -> None:
    async def work() -> None:
        task = asyncio.current_task()
        assert task is not None
        with TimeLimit(0.01) as limit:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                task.cancel()
                raise
            finally:
                assert limit.expired

    task = asyncio.create_task(work())
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_inside_is_not_changed() -> None:
    with pytest.raises(KeyError), TimeLimit(60.0):
        raise KeyError
