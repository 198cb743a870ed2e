"""Reports of collectors: whoever reads them first, the sweep says which pipelines they concern."""

import asyncio
from collections.abc import Iterator
from typing import cast

from quarterdeck.operators.pipelines.agents import Agents
from quarterdeck.operators.pipelines.ports import (
    Deliveries,
    FleetApi,
    PartDelivery,
    PipelineDelivery,
    RemoteCollector,
)
from quarterdeck.testing import VirtualClock


class Api:
    """A server whose collectors have applied some pipelines."""

    def __init__(self) -> None:
        self.applied = {"1": 0, "2": 0}

    async def get_deliveries(self) -> Deliveries:
        return Deliveries(
            {
                identity: PipelineDelivery(identity, (PartDelivery("x", applied=count),))
                for identity, count in self.applied.items()
            }
        )


async def test_a_change_that_a_reconcile_has_read_is_still_reported() -> None:
    api, clock = Api(), VirtualClock()
    agents = Agents(cast("FleetApi", api), clock)
    assert await agents.refresh() == {"1", "2"}
    assert await agents.refresh() == frozenset()
    api.applied["2"] = 3
    await clock.advance(10)
    assert await agents.get_deliveries() is not None  # the rollout of another pipeline waits for it
    assert await agents.refresh() == {"2"}
    del api.applied["1"]
    assert await agents.refresh() == {"1"}
    assert await agents.refresh() == frozenset()


class SlowApi:
    """A server whose lists answer when the test lets them."""

    def __init__(self) -> None:
        self.ids = ["a"]
        self.lists = 0
        self.has_begun = asyncio.Event()
        self.room = asyncio.Semaphore(0)

    async def list_collectors(self) -> list[RemoteCollector]:
        self.lists += 1
        self.has_begun.set()
        listed = [RemoteCollector(each) for each in self.ids]
        await self.room.acquire()
        return listed


async def test_a_list_that_was_asked_for_before_a_change_is_not_kept() -> None:
    api = SlowApi()
    agents = Agents(cast("FleetApi", api), VirtualClock())
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(agents.list())
        await api.has_begun.wait()
        api.ids.append("b")
        agents.forget()
        api.room.release()
        assert len(await reading) == 1
        api.room.release()
        assert len(await agents.list()) == 2
        assert len(await agents.list()) == 2
    assert api.lists == 2


class CountedList(list[RemoteCollector]):
    """Counts how often it is searched."""

    searches = 0

    def __iter__(self) -> Iterator[RemoteCollector]:
        self.searches += 1
        return super().__iter__()


async def test_one_collector_is_found_without_a_search_of_the_list() -> None:
    listed = CountedList(RemoteCollector(str(number)) for number in range(100))

    class Api:
        async def list_collectors(self) -> list[RemoteCollector]:
            return listed

    agents = Agents(cast("FleetApi", Api()), VirtualClock())
    for each in range(100):
        assert await agents.find(str(each)) == RemoteCollector(str(each))
    assert await agents.find("unknown") is None
    assert listed.searches == 1
