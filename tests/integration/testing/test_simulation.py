"""Simulated runs: every seed another order, the same seed the same run, and bugs found by it."""

import asyncio

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.client import Client
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, ObjectMeta, Struct, replace
from quarterdeck.runtime import Context, Controller
from quarterdeck.testing import SimulationFailed, World, simulate
from quarterdeck.wire.status import Conflict


class CrateSpec(Struct, frozen=True, kw_only=True):
    items: tuple[str, ...] = ()


class Crate(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Crate", plural="crates")
    spec: CrateSpec = CrateSpec()


async def pack(crate: Crate, ctx: Context[Crate]) -> None:
    items = [ConfigMap(metadata=ObjectMeta(name=f"{ctx.key.name}-{i}")) for i in crate.spec.items]
    await ctx.apply_all(items, prune=[ConfigMap])


async def make(client: Client, *items: str) -> None:
    metadata = ObjectMeta(name="c", namespace="default")
    await client.create(Crate(metadata=metadata, spec=CrateSpec(items=items)))


def test_a_reconciler_converges_in_every_order() -> None:
    async def scenario(world: World) -> None:
        async with world.start(Controller(reconcile=pack, for_=Crate, owns=[ConfigMap])):
            await make(world.client, "a", "b")
            crate = await world.client.get(Crate, "c", "default")
            await world.client.update(replace(crate, spec=CrateSpec(items=("b", "d"))))
            await world.settle()
            names = {each.metadata.name for each in await world.client.list(ConfigMap)}
            assert {"c-b", "c-d"} <= names
            assert "c-a" not in names

    assert simulate(scenario, seeds=range(10), definitions=[Crate]) == 10


def test_same_seed_is_the_same_run_and_others_differ() -> None:
    def trace(seed: int) -> list[str]:
        steps: list[str] = []

        async def scenario(world: World) -> None:
            async def act(name: str) -> None:
                for step in range(3):
                    await world.client.create(
                        ConfigMap(metadata=ObjectMeta(name=f"{name}{step}", namespace="default"))
                    )
                    steps.append(f"{name}{step}")

            async with asyncio.TaskGroup() as group:
                for name in "abc":
                    group.create_task(act(name), name=name)

        simulate(scenario, seeds=[seed])
        return steps

    runs = [trace(seed) for seed in range(8)]
    assert runs == [trace(seed) for seed in range(8)]
    assert len({tuple(run) for run in runs}) > 1


async def increase(client: Client, *, retries: bool) -> None:
    """Add one to a counter, with or without heed to others who do the same."""
    while True:
        counter = await client.get(ConfigMap, "counter", "default")
        data = {"value": str(int(counter.data["value"]) + 1)}
        try:
            if retries:
                await client.update(replace(counter, data=data))
            else:
                maps = client.resource(ConfigMap.KIND.gvr)
                await maps.patch("counter", {"data": data}, namespace="default")
        except Conflict:
            continue
        return


async def count(world: World, *, retries: bool) -> None:
    metadata = ObjectMeta(name="counter", namespace="default")
    await world.client.create(ConfigMap(metadata=metadata, data={"value": "0"}))

    async def act() -> None:
        await world.clock.sleep(world.random.choice((0, 0, 1)))
        await increase(world.client, retries=retries)

    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(act())
    counter = await world.client.get(ConfigMap, "counter", "default")
    assert counter.data["value"] == "2", "an update was lost"


def test_lost_update_is_found_and_its_seed_replays_it() -> None:
    async def careless(world: World) -> None:
        await count(world, retries=False)

    async def careful(world: World) -> None:
        await count(world, retries=True)

    with pytest.raises(SimulationFailed, match="an update was lost") as found:
        simulate(careless, seeds=range(100))
    for _ in range(3):
        with pytest.raises(SimulationFailed, match="an update was lost"):
            simulate(careless, seeds=[found.value.seed])
    assert simulate(careful, seeds=range(20)) == 20


def test_hours_pass_at_once() -> None:
    async def scenario(world: World) -> None:
        before = world.clock.now()
        await world.clock.sleep(6 * 3600)
        assert (world.clock.now() - before).total_seconds() == 6 * 3600

    assert simulate(scenario, seeds=[1]) == 1


def test_a_scenario_that_can_never_end_is_reported() -> None:
    async def scenario(world: World) -> None:
        async with asyncio.timeout(3600):
            await asyncio.Event().wait()

    with pytest.raises(SimulationFailed, match="TimeoutError"):
        simulate(scenario, seeds=[4])


def test_a_deadlock_is_reported_at_once() -> None:
    async def scenario(world: World) -> None:
        await asyncio.Event().wait()

    with pytest.raises(SimulationFailed, match="deadlock: every task is waiting"):
        simulate(scenario, seeds=[4])


def test_idle_connections_end_whatever_moment_they_began() -> None:
    """0.005 + 30 - 30 is less than 0.005: a sweep that subtracts would never find it due."""

    async def scenario(world: World) -> None:
        await world.clock.sleep(0.005)
        await world.client.list(ConfigMap)
        await world.clock.sleep(40)

    assert simulate(scenario, seeds=range(3)) == 3
