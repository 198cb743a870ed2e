"""What collectors push outlives the intervals it comes in, and is counted."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
import pytest
from ingester_hub import Hub, make_batch, with_hub

from quarterdeck.hubstate import cluster_writes, keys
from quarterdeck.hubstate.embedded.history import EmbeddedHistory, open_history
from quarterdeck.hubstate.embedded.state import EmbeddedState, open_embedded
from quarterdeck.hubstate.ports import Sample
from quarterdeck.hubstate.push import tokens
from quarterdeck.hubstate.writes import AddMembers, SetValue, Write
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.inventory.push.messages import (
    ClusterMetrics,
    ConnectRequest,
    CustomResourceBatch,
    RegisterRequest,
)
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.metrics import Registry
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.services.ingester import checkpoints
from quarterdeck.services.ingester.configs import Configs
from quarterdeck.services.ingester.ingest import Ingest
from quarterdeck.services.ingester.metrics import IngesterMetrics
from quarterdeck.services.ingester.options import IngesterOptions

SOURCE = "default/slow"


class World:
    """An ingester without its listener, on virtual time."""

    def __init__(
        self, state: EmbeddedState, history: EmbeddedHistory, ingest: Ingest, clock: VirtualClock
    ) -> None:
        self.state = state
        self.history = history
        self.registry = Registry()
        ingest.metrics = IngesterMetrics(self.registry)
        self.ingest = ingest
        self.clock = clock

    async def push(self, sequence: int = 1, *, cluster: str = "east", **changes: Any) -> None:
        token = (await tokens.issue_token(self.state, cluster, at=self.clock.now())).reveal()
        batch = make_batch(sequence, collected_at=self.clock.now(), **changes)
        hashed = tokens.hash_token(cluster, token)
        assert (await self.ingest.ingest(cluster, hashed, batch)).success


@contextlib.asynccontextmanager
async def running_world(*, source_interval_s: int = 60) -> AsyncIterator[World]:
    clock = VirtualClock()
    state, history = open_embedded(None, clock=clock), open_history(None, clock=clock)
    spec = msgspec.json.encode({"collection": {"intervalSeconds": source_interval_s}})
    definition = b'{"name":"slow","namespace":"default"}'
    await state.commit(
        [
            SetValue(keys.source("default", "slow"), definition),
            SetValue(keys.source("default", "slow") + ":spec", spec),
            AddMembers(keys.ENABLED_SOURCES, (SOURCE,)),
        ]
    )
    configs = Configs(state, clock=clock)
    await configs.refresh()
    ingest = Ingest(state, history, options=IngesterOptions(), clock=clock)
    ingest.intervals = configs.intervals
    yield World(state, history, ingest, clock)
    await history.aclose()
    await state.aclose()


async def test_rows_of_an_hourly_source_are_there_for_three_hours() -> None:
    async with running_world(source_interval_s=3600) as world:
        await world.push(custom_resources=(CustomResourceBatch(source_id=SOURCE),))
        key = keys.custom("east", SOURCE, "resources")
        await world.clock.advance(3 * 3600 - 10)
        assert await world.state.get(key) is not None
        await world.clock.advance(20)
        assert await world.state.get(key) is None


async def test_rows_of_a_quick_source_live_as_long_as_the_cache() -> None:
    async with running_world() as world:
        await world.push(custom_resources=(CustomResourceBatch(source_id=SOURCE),))
        await world.clock.advance(610)
        assert await world.state.get(keys.custom("east", SOURCE, "resources")) is None


async def test_a_cluster_that_is_read_seldom_stays_known() -> None:
    async with running_world() as world:
        spec = msgspec.json.encode({"monitoring": {"interval": 1800}})
        await world.state.commit([SetValue(keys.cluster("east", "spec"), spec)])
        await world.push()
        await world.clock.advance(3 * 1800 - 10)
        assert await world.state.get(keys.cluster("east", "metrics")) is not None


async def test_nothing_stays_for_ever_of_a_batch_that_is_stored_while_its_cluster_is_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running_world() as world:
        commit = world.state.commit

        async def delete_then_commit(writes: Sequence[Write]) -> None:
            if any(isinstance(each, AddMembers) for each in writes):
                found = await world.state.list_keys("cluster:east:")
                await commit([*cluster_writes.plan_deletion("east", found, world.clock.now())])
            await commit(writes)

        monkeypatch.setattr(world.state, "commit", delete_then_commit)
        await world.push(node_metrics=(NodeFacts(name="n1", timestamp="", status="Ready"),))
        assert await world.state.get_members(keys.cluster("east", "nodes")) == {"n1"}
        await world.clock.advance(checkpoints.KEPT_S + 1)
        assert await world.state.list_keys("cluster:east:") == []


async def test_a_batch_of_an_older_stream_does_not_replace_a_newer_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running_world() as world, Supervisor("test") as tasks:
        write, began, go_on = world.history.write, asyncio.Event(), asyncio.Event()

        async def block_first(samples: Sequence[Sample]) -> None:
            if not began.is_set():
                began.set()
                await go_on.wait()
            await write(samples)

        async def push_again_and_more() -> None:
            for sequence in (1, 2):
                await world.push(sequence, cluster_metrics=ClusterMetrics(nodes=sequence))

        monkeypatch.setattr(world.history, "write", block_first)
        older = tasks.spawn(world.push(1, cluster_metrics=ClusterMetrics(nodes=1)), name="older")
        await began.wait()
        newer = tasks.spawn(push_again_and_more(), name="newer")
        await world.clock.advance(1)
        go_on.set()
        await asyncio.gather(older, newer)
        stored = await world.state.get(keys.cluster("east", "metrics"))
        assert stored is not None
        assert msgspec.json.decode(stored)["nodes"] == 2


async def test_batches_of_two_clusters_at_once_are_counted_by_their_own_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running_world() as world, Supervisor("test") as tasks:
        write, began, go_on = world.history.write, asyncio.Event(), asyncio.Event()
        await world.push(cluster="west")

        async def block(samples: Sequence[Sample]) -> None:
            began.set()
            await go_on.wait()
            await write(samples)

        monkeypatch.setattr(world.history, "write", block)
        pushing = tasks.spawn(world.push(), name="east")
        await began.wait()
        await world.push(cluster="west")
        go_on.set()
        await pushing
        page = world.registry.render().decode()
    assert 'clusterpulse_ingester_batches_total{result="stored"} 2' in page
    assert 'clusterpulse_ingester_batches_total{result="duplicate"} 1' in page


@with_hub
async def test_streams_and_batches_are_counted(hub: Hub) -> None:
    token = await hub.issue("east")
    async with hub.connect("east", token) as wire:
        assert (await wire.push(make_batch(1))).success
        assert (await wire.push(make_batch(1))).success
        assert not (await wire.push(make_batch(2, cluster_name="west"))).success
        page = hub.registry.render().decode()
        assert "clusterpulse_ingester_connected_collectors 1" in page
    for result in ("stored", "duplicate", "refused"):
        assert f'clusterpulse_ingester_batches_total{{result="{result}"}} 1' in page
    assert "clusterpulse_ingester_batch_seconds_count 3" in page
    async with hub.dial("qdc_wrong") as wire:
        await wire.send(ConnectRequest(register=RegisterRequest(cluster_name="east")))
        await wire.wait_refused()
    page = hub.registry.render().decode()
    assert 'clusterpulse_ingester_refused_streams_total{reason="token"} 1' in page
