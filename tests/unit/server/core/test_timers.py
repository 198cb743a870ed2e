"""Many deadlines on one sleeper."""

import asyncio

from quarterdeck.kit.clock import VirtualClock, settle
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.server.core.timers import Timers


async def test_deadlines_are_met_in_order_and_once() -> None:
    clock = VirtualClock()
    timers = Timers(clock)
    seen: list[str] = []
    async with Supervisor() as tasks:
        tasks.spawn(timers.run(), name="timers")
        timers.call_later(5, lambda: seen.append("late"))
        timers.call_later(1, lambda: seen.append("early"))
        await settle()
        timers.call_later(0.5, lambda: seen.append("first"))
        await clock.advance(0.6)
        assert seen == ["first"]
        await clock.advance(10)
        assert seen == ["first", "early", "late"]
        assert timers.statistics() == {"timers": 0}


async def test_cancelled_deadline_never_comes() -> None:
    clock = VirtualClock()
    timers = Timers(clock)
    seen: list[str] = []
    async with Supervisor() as tasks:
        tasks.spawn(timers.run(), name="timers")
        timer = timers.call_later(1, lambda: seen.append("no"))
        timers.call_later(2, lambda: seen.append("yes"))
        timer.cancel()
        timer.cancel()
        await clock.advance(3)
        assert seen == ["yes"]


async def test_callback_may_set_the_next_deadline() -> None:
    clock = VirtualClock()
    timers = Timers(clock)
    seen: list[float] = []

    def tick() -> None:
        seen.append(clock.monotonic())
        timers.call_later(1, tick)

    async with Supervisor() as tasks:
        tasks.spawn(timers.run(), name="timers")
        timers.call_later(1, tick)
        await clock.advance(3.5)
        assert seen == [1, 2, 3]


async def test_cancelled_deadlines_do_not_pile_up() -> None:
    timers = Timers(VirtualClock())
    for _ in range(10_000):
        timers.call_later(3600, lambda: None).cancel()
    assert timers.statistics()["timers"] < 200
    await asyncio.sleep(0)
