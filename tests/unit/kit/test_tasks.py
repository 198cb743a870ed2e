import asyncio
import random

import pytest

from quarterdeck.kit.backoff import Backoff
from quarterdeck.kit.clock import SystemClock, VirtualClock
from quarterdeck.kit.tasks import Supervisor, convert_cancellation, fan_out


async def forever() -> None:
    await asyncio.Event().wait()


async def fail() -> None:
    raise LookupError("broken")


async def test_leaving_the_block_cancels_what_still_runs() -> None:
    async with Supervisor() as tasks:
        task = tasks.spawn(forever(), name="f")
        assert tasks.statistics() == {"tasks": 1}
    assert task.cancelled()


async def test_a_failure_reaches_the_owner_and_cancels_the_rest() -> None:
    with pytest.raises(LookupError, match="broken"):
        async with Supervisor() as tasks:
            other = tasks.spawn(forever(), name="other")
            tasks.spawn(fail(), name="bad")
            await tasks.wait_failed()
    assert other.cancelled()


async def test_join_waits_for_tasks_that_end_by_themselves() -> None:
    done: list[int] = []

    async def work(number: int) -> None:
        await asyncio.sleep(0)
        done.append(number)

    async with Supervisor() as tasks:
        for number in range(3):
            tasks.spawn(work(number), name=str(number))
        await tasks.join()
    assert sorted(done) == [0, 1, 2]


async def test_nothing_starts_while_closing() -> None:
    tasks = Supervisor("group")
    await tasks.cancel_all()
    with pytest.raises(RuntimeError, match="group is closing; late was not started"):
        tasks.spawn(forever(), name="late")


async def test_fan_out_bounds_what_runs_at_once_and_keeps_the_order() -> None:
    running = most = 0

    async def worker(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return number * 2

    assert await fan_out(range(20), worker, limit=3) == [number * 2 for number in range(20)]
    assert most == 3
    with pytest.raises(ValueError, match="at least 1, got 0"):
        await fan_out([1], worker, limit=0)


async def test_a_virtual_clock_wakes_sleepers_in_order() -> None:
    clock = VirtualClock()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))

    async with Supervisor() as tasks:
        for name, seconds in (("late", 5.0), ("early", 1.0), ("now", 0.0)):
            tasks.spawn(sleeper(name, seconds), name=name)
        await clock.advance(2)
        assert woken == [("now", 0.0), ("early", 1.0)]
        assert clock.next_deadline == 5.0
        await clock.advance(10)
        assert woken[-1] == ("late", 5.0)
    assert clock.monotonic() == 12
    assert (clock.now() - VirtualClock().now()).total_seconds() == 12


async def test_a_cancelled_sleeper_does_not_hold_the_clock() -> None:
    clock = VirtualClock()
    async with Supervisor() as tasks:
        tasks.spawn(clock.sleep(3), name="s")
        await asyncio.sleep(0)
    assert clock.next_deadline is None


async def test_the_system_clock_moves() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    await clock.sleep(0)
    assert clock.monotonic() >= before
    assert clock.now().tzinfo is not None


def test_backoff_grows_to_its_cap_and_starts_over() -> None:
    backoff = Backoff(initial_s=0.8, factor=2, cap_s=30, jitter=0, random=random.Random(1))
    assert [round(backoff.next(), 1) for _ in range(7)] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30]
    backoff.reset()
    assert backoff.next() == 0.8
    for _ in range(2000):
        assert backoff.next() <= 30
    jittered = Backoff(initial_s=1, cap_s=1, jitter=1, random=random.Random(1))
    assert all(1 <= jittered.next() < 2 for _ in range(100))
    with pytest.raises(ValueError, match="initial_s > 0"):
        Backoff(initial_s=0, random=random.Random(1))


async def test_a_failure_nobody_waited_for_surfaces_at_the_end() -> None:
    async def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        async with Supervisor("test") as tasks:
            failed = tasks.spawn(fail(), name="fail")
            await asyncio.wait([failed])


async def test_join_raises_what_failed() -> None:
    async def fail() -> None:
        raise ValueError("broken")

    joined = False
    with pytest.raises(ValueError, match="broken"):
        async with Supervisor("test") as tasks:
            tasks.spawn(fail(), name="fail")
            await tasks.join()
            joined = True
    assert not joined


async def await_other(other: "asyncio.Task[None]") -> None:
    try:
        await other
    except asyncio.CancelledError as error:
        raise convert_cancellation(error) from error


async def test_the_cancellation_of_an_awaited_task_is_an_error_that_of_our_own_task_is_not() -> (
    None
):
    async with Supervisor("others") as others:
        awaited, lasting = (others.spawn(forever(), name=name) for name in ("awaited", "lasting"))
        first = asyncio.ensure_future(await_other(awaited))
        second = asyncio.ensure_future(await_other(lasting))
        await asyncio.sleep(0)
        awaited.cancel()
        second.cancel()
        await asyncio.wait({first, second})
    assert isinstance(first.exception(), RuntimeError)
    assert second.cancelled()
