"""Collectors that follow the protocol, and what becomes of what they send."""

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import timedelta

import grpc
import msgspec
import pytest
from ingester_hub import BEGAN, CLOCK, Hub, make_batch, with_hub

from quarterdeck.hubstate import keys, source_writes
from quarterdeck.hubstate.embedded.history import EmbeddedHistory
from quarterdeck.hubstate.errors import HistoryRefused, HistoryUnavailable
from quarterdeck.hubstate.notices import build_source_notice
from quarterdeck.hubstate.ports import RangeQuery, Sample
from quarterdeck.hubstate.push import leases
from quarterdeck.hubstate.writes import AddMembers, SetValue
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.inventory.push.messages import (
    ClusterMetrics,
    ConnectRequest,
    CustomCollectedResource,
    CustomResourceBatch,
    HealthReport,
)
from quarterdeck.kit import rfc3339
from quarterdeck.storage import open_memory
from quarterdeck.testing.poll import eventually

SOURCE = "default/pvc"


async def add_source(hub: Hub, identity: str = SOURCE) -> None:
    namespace, name = identity.split("/")
    await hub.state.commit(
        [
            SetValue(keys.source(namespace, name), b'{"name":"pvc"}'),
            SetValue(keys.source(namespace, name) + ":spec", b'{"fields":[]}'),
            AddMembers(keys.ENABLED_SOURCES, (identity,)),
            build_source_notice("compiled", identity, CLOCK.now(), {}),
        ]
    )


async def read_nodes(hub: Hub, cluster: str = "east") -> int:
    found = await hub.state.get(keys.cluster(cluster, "metrics"))
    assert found is not None
    return int(msgspec.json.decode(found)["nodes"])


async def count_points(hub: Hub) -> int:
    series = await hub.history.query_range(
        RangeQuery(
            name="clusterpulse_cluster_nodes_total",
            start=BEGAN,
            end=BEGAN + timedelta(seconds=60),
            step=timedelta(seconds=1),
            reduction="last",
        )
    )
    return sum(len(each.points) for each in series)


@with_hub
async def test_what_is_acknowledged_is_stored(hub: Hub) -> None:
    await add_source(hub)
    row = CustomCollectedResource(id="d/x", namespace="d", name="x", values_json=b'{"size":3}')
    batch = make_batch(
        7,
        node_metrics=(NodeFacts(name="n1", timestamp="", status="Ready"),),
        custom_resources=(
            CustomResourceBatch(
                source_id=SOURCE, resources=(row,), aggregations_json=b'{"by":{"a":1},"none":null}'
            ),
        ),
    )
    async with hub.connect("east", await hub.issue("east")) as wire:
        ack = await wire.push(batch)
    assert ack.success, ack
    assert await read_nodes(hub) == 7
    assert await hub.state.get_members(keys.cluster("east", "nodes")) == {"n1"}
    stored = await hub.state.get(keys.custom("east", SOURCE, "aggregations"))
    assert stored is not None
    assert msgspec.json.decode(stored)["values"] == {"by": {"a": 1}, "none": None}
    rows = await hub.state.get(keys.custom("east", SOURCE, "resources"))
    assert rows is not None
    assert msgspec.json.decode(rows)["resources"][0]["values"] == {"size": 3}
    assert msgspec.json.decode(rows)["collectedAt"] == rfc3339.format_time(
        BEGAN + timedelta(seconds=7)
    )


@with_hub
async def test_chunks_become_one_batch(hub: Hub) -> None:
    await add_source(hub)
    rows = [CustomCollectedResource(id=f"d/{n}", namespace="d", name=str(n)) for n in range(3)]
    async with hub.connect("east", await hub.issue("east")) as wire:
        for index, row in enumerate(rows):
            part = CustomResourceBatch(source_id=SOURCE, resources=(row,))
            chunk = make_batch(1, custom_resources=(part,), chunk_index=index, chunk_count=3)
            await wire.send(ConnectRequest(metrics=chunk))
        assert (await wire.receive_ack()).success
    stored = await hub.state.get(keys.custom("east", SOURCE, "resources"))
    assert stored is not None
    assert msgspec.json.decode(stored)["resourceCount"] == 3


@with_hub
async def test_a_replayed_batch_is_acknowledged_and_not_stored_again(hub: Hub) -> None:
    async with hub.connect("east", await hub.issue("east")) as wire:
        await wire.push(make_batch(2))
        assert (await wire.push(make_batch(2, cluster_metrics=None))).success
        assert (await wire.push(make_batch(1))).success
    assert hub.ingester.statistics()["stored"] == 1
    assert hub.ingester.statistics()["duplicates"] == 2
    assert await read_nodes(hub) == 2


@with_hub
async def test_an_older_reading_adds_history_and_leaves_the_state(hub: Hub) -> None:
    async with hub.connect("east", await hub.issue("east")) as wire:
        await wire.push(make_batch(5))
        await wire.push(make_batch(3, agent_id="the run before", sequence=9))
    assert await read_nodes(hub) == 5
    assert await count_points(hub) == 2


@with_hub
async def test_a_clock_that_is_ahead_does_not_hide_later_readings(hub: Hub) -> None:
    ahead = CLOCK.now() + timedelta(days=400)
    async with hub.connect("east", await hub.issue("east")) as wire:
        await wire.push(make_batch(1, collected_at=ahead))
        await wire.push(make_batch(2, collected_at=CLOCK.now()))
    assert await read_nodes(hub) == 2


@with_hub
async def test_a_clock_that_was_set_back_does_not_stop_the_state(hub: Hub) -> None:
    async with hub.connect("east", await hub.issue("east")) as wire:
        await wire.push(make_batch(1, collected_at=CLOCK.now()))
        await wire.push(make_batch(2, collected_at=CLOCK.now() - timedelta(hours=1)))
        assert await read_nodes(hub) == 2
        await wire.push(make_batch(3, collected_at=CLOCK.now() - timedelta(minutes=59)))
    assert await read_nodes(hub) == 3


@with_hub
async def test_batches_out_of_order_leave_the_newest_state(hub: Hub) -> None:
    async with hub.connect("east", await hub.issue("east")) as wire:
        newest = 0
        for sequence in (1, 4, 2, 3, 5, 4):
            newest = max(newest, sequence)
            assert (await wire.push(make_batch(sequence))).success
            assert await read_nodes(hub) == newest
    assert hub.ingester.statistics()["stored"] == 3


@with_hub
async def test_configuration_follows_sources_until_the_last_is_gone(hub: Hub) -> None:
    async with hub.connect("east", await hub.issue("east")) as wire:
        assert wire.configs[0].metric_sources_json == ()
        await add_source(hub)
        update = await wire.receive_config()
        assert msgspec.json.decode(update.metric_sources_json[0]) == {
            "name": "pvc",
            "spec": {"fields": []},
        }
        await hub.state.commit(
            list(
                source_writes.plan_deletion(
                    "default", "pvc", found=(), resource_type="", at=CLOCK.now()
                )
            )
        )
        assert (await wire.receive_config()).metric_sources_json == ()


@with_hub
async def test_heartbeats_keep_the_lease_and_the_end_of_the_stream_frees_it(hub: Hub) -> None:
    async with hub.connect("east", await hub.issue("east")) as wire:
        await wire.send(
            ConnectRequest(health=HealthReport(cluster_name="east", buffered_batches=4))
        )
        await wire.push(make_batch(1))
        lease = await leases.find_lease(hub.state, "east")
        assert lease is not None
        assert (lease.version, lease.buffered_batches) == ("1.0", 4)
        await wire.call.done_writing()
        assert (await wire.wait_refused())[0] is grpc.StatusCode.OK
    assert await leases.find_lease(hub.state, "east") is None


@with_hub
async def test_a_newer_stream_replaces_the_older_and_keeps_its_lease(hub: Hub) -> None:
    token = await hub.issue("east")
    async with hub.connect("east", token) as older, hub.connect("east", token) as newer:
        assert (await older.wait_refused())[0] is grpc.StatusCode.OK
        assert (await newer.push(make_batch(1))).success
        assert await leases.find_lease(hub.state, "east") is not None


@with_hub
async def test_a_stream_that_ends_leaves_a_lease_that_is_taken_over_meanwhile(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, get = leases.get_key("east"), hub.state.get

    async def read_and_take_over(wanted: str) -> bytes | None:
        found = await get(wanted)
        if wanted == key and (lease := leases.decode_lease(found)) is not None:
            newer = msgspec.structs.replace(lease, session="newer")
            await hub.state.commit([leases.plan_renewal("east", newer)])
        return found

    async with hub.connect("east", await hub.issue("east")) as wire:
        monkeypatch.setattr(hub.state, "get", read_and_take_over)
        await wire.call.done_writing()
        assert (await wire.wait_refused())[0] is grpc.StatusCode.OK
    monkeypatch.undo()
    lease = await leases.find_lease(hub.state, "east")
    assert lease is not None
    assert lease.session == "newer"


@with_hub
async def test_current_state_does_not_wait_for_a_history_that_is_down(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = hub.history.write
    down = True

    async def fail(samples: list[Sample]) -> None:
        if down:
            raise HistoryUnavailable("nobody answers")
        await write(samples)

    monkeypatch.setattr(hub.history, "write", fail)
    async with hub.connect("east", await hub.issue("east")) as wire:
        for sequence in (4, 5):
            assert (await wire.push(make_batch(sequence))).success
            assert await read_nodes(hub) == sequence
    waiting = 'clusterpulse_ingester_history_samples{state="waiting"}'
    assert f"{waiting} 0" not in hub.registry.render().decode()
    down = False
    await eventually(lambda: f"{waiting} 0" in hub.registry.render().decode())
    assert await count_points(hub) == 2


@pytest.mark.parametrize(
    "error", [HistoryRefused("400 cannot parse", count=8), OverflowError("odd sample")]
)
@with_hub
async def test_samples_that_the_history_never_takes_do_not_stop_a_collector(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def refuse(samples: list[Sample]) -> None:
        raise error

    monkeypatch.setattr(hub.history, "write", refuse)
    async with hub.connect("east", await hub.issue("east")) as wire:
        assert (await wire.push(make_batch(4))).success
    assert await read_nodes(hub) == 4
    shown = hub.registry.render().decode()
    assert 'clusterpulse_ingester_history_samples{state="waiting"} 0' in shown
    assert 'clusterpulse_ingester_history_samples{state="dropped"} 8' in shown


@with_hub
async def test_a_batch_of_an_old_stream_does_not_replace_those_of_another_replica(
    hub: Hub,
) -> None:
    """The collector is connected to another replica again; the old stream is still served here."""
    asked, may_answer = asyncio.Event(), asyncio.Event()

    class Slow(EmbeddedHistory):
        async def write(self, samples: Sequence[Sample]) -> None:
            asked.set()
            await may_answer.wait()

    token, slow = await hub.issue("east"), Slow(open_memory(), clock=CLOCK)
    old = Hub(hub.state, slow)
    async with (
        old.ingester.running(),
        old.connect("east", token) as half_open,
        hub.connect("east", token) as wire,
    ):
        await half_open.send(ConnectRequest(metrics=make_batch(1)))
        await asked.wait()
        for sequence in (1, 2):
            assert (await wire.push(make_batch(sequence))).success
        may_answer.set()
        ack = await half_open.receive_ack()
        assert (ack.success, ack.is_permanent) == (False, False)
        assert "another replica" in ack.error
        assert await read_nodes(hub) == 2
        assert (await half_open.push(make_batch(1))).success
        assert old.ingester.statistics()["duplicates"] == 1
        assert await read_nodes(hub) == 2
    await slow.aclose()


@with_hub
async def test_a_history_that_hangs_is_asked_by_one_batch(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, hangs = 0, asyncio.Event()

    async def fail(samples: list[Sample]) -> None:
        nonlocal asked
        asked += 1
        if asked > 1:  # in the background
            hangs.set()
            await asyncio.Event().wait()
        raise HistoryUnavailable("nobody answers")

    monkeypatch.setattr(hub.history, "write", fail)
    async with hub.connect("east", await hub.issue("east")) as wire, asyncio.timeout(240):
        assert (await wire.push(make_batch(1))).success
        await hangs.wait()
        assert (await wire.push(make_batch(2))).success
        assert await read_nodes(hub) == 2
    monkeypatch.undo()


@with_hub
async def test_drain_answers_the_batch_at_hand(hub: Hub) -> None:
    second = Hub(hub.state, hub.history)
    token = await hub.issue("east")
    async with asyncio.timeout(240):
        running = second.ingester.running()
        await running.__aenter__()
        async with second.connect("east", token) as wire:
            await wire.send(ConnectRequest(metrics=make_batch(3)))
            assert (await wire.receive_ack()).success
            stopping = asyncio.ensure_future(running.__aexit__(None, None, None))
            assert (await wire.wait_refused())[0] is grpc.StatusCode.UNAVAILABLE
            await stopping
    assert await read_nodes(hub) == 3


@with_hub
async def test_collectors_without_numbers_are_served(hub: Hub) -> None:
    async with hub.connect("east", await hub.issue("east")) as wire:
        batch = make_batch(1, sequence=0, agent_id="", batch_id="uuid")
        assert (await wire.push(batch)).success
        assert (await wire.push(batch)).success
    assert hub.ingester.statistics()["duplicates"] == 1


@with_hub
async def test_batches_beyond_the_limit_wait_and_heartbeats_do_not(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, limit = hub.history.write, hub.options.max_parallel_batches
    clusters = [f"c{number}" for number in range(limit + 2)]
    running, most, full, go_on = 0, 0, asyncio.Event(), asyncio.Event()

    async def block(samples: list[Sample]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == limit:
            full.set()
        await go_on.wait()
        running -= 1
        await write(samples)

    monkeypatch.setattr(hub.history, "write", block)
    names = tuple(f"namespace-{number}" for number in range(1000))
    batch = make_batch(4, cluster_metrics=ClusterMetrics(nodes=4, namespace_list=names))
    async with contextlib.AsyncExitStack() as stack, asyncio.timeout(240):
        wires = [
            await stack.enter_async_context(hub.connect(each, await hub.issue(each)))
            for each in clusters
        ]
        beating = await stack.enter_async_context(hub.connect("east", await hub.issue("east")))
        for wire in wires:
            await wire.send(ConnectRequest(metrics=batch))
        await full.wait()
        await beating.send(ConnectRequest(health=HealthReport(buffered_batches=5)))
        while (lease := await leases.find_lease(hub.state, "east")) is None or (  # noqa: ASYNC110
            lease.buffered_batches != 5
        ):
            await asyncio.sleep(0)
        go_on.set()
        assert all([(await wire.receive_ack()).success for wire in wires])
    assert most == limit
