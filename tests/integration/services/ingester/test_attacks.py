"""Collectors that lie, and a hub that dies."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from ingester_hub import CLOCK, Hub, make_batch, with_hub

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.push import leases, tokens
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.inventory.push.messages import (
    ConnectRequest,
    CustomCollectedResource,
    CustomResourceBatch,
    HealthReport,
    RegisterRequest,
)
from quarterdeck.services.ingester.options import IngesterOptions

UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED
INVALID = grpc.StatusCode.INVALID_ARGUMENT


async def register(hub: Hub, cluster: str, token: str) -> tuple[grpc.StatusCode, str]:
    async with hub.dial(token) as wire:
        await wire.send(ConnectRequest(register=RegisterRequest(cluster_name=cluster)))
        return await wire.wait_refused()


@with_hub
async def test_a_token_of_another_cluster_is_refused(hub: Hub) -> None:
    east = await hub.issue("east")
    await hub.issue("west")
    code, text = await register(hub, "west", east)
    assert code is UNAUTHENTICATED
    assert east not in text
    assert await leases.find_lease(hub.state, "west") is None


@pytest.mark.parametrize("token", ["", "qdc_wrong"], ids=["none", "wrong"])
@with_hub
async def test_clusters_without_a_token_answer_as_others_do(hub: Hub, token: str) -> None:
    await hub.issue("east")
    code, text = await register(hub, "east", token)
    other_code, other = await register(hub, "nobody", token)
    assert code is other_code is UNAUTHENTICATED
    assert text.replace("east", "nobody") == other


@with_hub
async def test_two_tokens_that_differ_are_refused(hub: Hub) -> None:
    token = await hub.issue("east")
    async with hub.dial(token) as wire:
        request = RegisterRequest(cluster_name="east", token="another")
        await wire.send(ConnectRequest(register=request))
        assert (await wire.wait_refused())[0] is UNAUTHENTICATED


@with_hub
async def test_tokens_are_kept_as_hashes_only(hub: Hub) -> None:
    token = await hub.issue("east")
    stored = await hub.state.get(tokens.get_key("east"))
    assert stored is not None
    assert token.encode() not in stored
    assert tokens.hash_token("east", token) != tokens.hash_token("west", token)


@with_hub
async def test_a_batch_about_another_cluster_is_refused(hub: Hub) -> None:
    async with hub.connect("east", await hub.issue("east")) as wire:
        ack = await wire.push(make_batch(1, cluster_name="west"))
    assert (ack.success, ack.is_permanent) == (False, True)
    assert await hub.state.list_keys("cluster:west:") == []


@with_hub
async def test_a_stolen_token_ends_with_the_rotation(hub: Hub) -> None:
    stolen = await hub.issue("east")
    async with hub.connect("east", stolen) as wire:
        await hub.issue("east")
        await wire.send(ConnectRequest(metrics=make_batch(1)))
        assert (await wire.wait_refused())[0] is UNAUTHENTICATED
    assert await hub.state.get(keys.cluster("east", "metrics")) is None
    assert (await register(hub, "east", stolen))[0] is UNAUTHENTICATED


@with_hub
async def test_a_heartbeat_with_a_replaced_token_ends_the_stream(hub: Hub) -> None:
    async with hub.connect("east", await hub.issue("east")) as wire:
        await hub.issue("east")
        await wire.send(ConnectRequest(health=HealthReport(cluster_name="east")))
        assert (await wire.wait_refused())[0] is UNAUTHENTICATED


@pytest.mark.parametrize(
    "request_",
    [
        ConnectRequest(metrics=make_batch(1)),
        ConnectRequest(health=HealthReport()),
        ConnectRequest(),
        ConnectRequest(register=RegisterRequest()),
        ConnectRequest(register=RegisterRequest(cluster_name="a:b")),
        ConnectRequest(register=RegisterRequest(cluster_name="east", version="v" * 70_000)),
    ],
    ids=["batch first", "heartbeat first", "nothing", "no name", "breaks keys", "large"],
)
@with_hub
async def test_a_stream_must_begin_with_who_it_is(hub: Hub, request_: ConnectRequest) -> None:
    async with hub.dial("t") as wire:
        await wire.send(request_)
        assert (await wire.wait_refused())[0] is INVALID


@with_hub
async def test_streams_that_never_register_keep_only_their_neighbors_waiting(hub: Hub) -> None:
    options = IngesterOptions(port=0, max_registering_of_peer=2, register_timeout_s=3600)
    small = Hub(hub.state, hub.history, options)
    token = await hub.issue("east")
    async with small.ingester.running(), contextlib.AsyncExitStack() as stack:
        silent = []
        for _ in range(3):
            wire = await stack.enter_async_context(small.dial("t"))
            await wire.call.wait_for_connection()
            silent.append(wire)
        while small.ingester.statistics()["registering"] < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        # the same address waits; silent streams that end give their turn away
        joining = asyncio.ensure_future(_join(small, token))
        for wire in silent:
            wire.call.cancel()
        await joining
        while small.ingester.statistics()["registering"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def _join(hub: Hub, token: str) -> None:
    async with hub.connect("east", token):
        pass


@with_hub
async def test_a_stream_waits_a_bounded_time_for_its_turn(hub: Hub) -> None:
    options = IngesterOptions(port=0, max_registering_of_peer=0, register_timeout_s=0.05)
    small = Hub(hub.state, hub.history, options)
    async with small.ingester.running(), small.dial("t") as wire:
        code, text = await wire.wait_refused()
    assert code is INVALID
    assert "the collector was not registered within" in text


@with_hub
async def test_malformed_messages_end_the_stream(hub: Hub) -> None:
    async with hub.connect("east", await hub.issue("east")) as wire:
        await wire.call.write(b"\x0a\xff\xff\xff\xff\x0f")
        assert (await wire.wait_refused())[0] is INVALID


@with_hub
async def test_oversized_messages_end_the_stream(hub: Hub) -> None:
    async with hub.connect("east", await hub.issue("east")) as wire:
        await wire.call.write(b"\x00" * (hub.options.max_message_bytes + 1))
        code, _ = await wire.wait_refused()
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize(
    "chunks",
    [[(1, 2)], [(0, 3), (2, 3)], [(0, 2), (5, 2)], [(0, 100_000)], [(-1, 2)]],
    ids=["no first", "a gap", "past the end", "too many", "negative"],
)
@with_hub
async def test_chunks_out_of_order_end_the_stream(hub: Hub, chunks: list[tuple[int, int]]) -> None:
    async with hub.connect("east", await hub.issue("east")) as wire:
        for index, count in chunks:
            batch = make_batch(1, chunk_index=index, chunk_count=count)
            await wire.send(ConnectRequest(metrics=batch))
        assert (await wire.wait_refused())[0] is INVALID
    assert await hub.state.get(keys.cluster("east", "metrics")) is None


@with_hub
async def test_incomplete_batches_are_bounded_for_a_stream_and_for_all(hub: Hub) -> None:
    options = IngesterOptions(port=0, max_batch_bytes=60_000, max_held_bytes=100_000)
    small = Hub(hub.state, hub.history, options)

    def build(index: int, size: int, count: int = 3) -> ConnectRequest:
        part = make_batch(1, chunk_index=index, chunk_count=count, resources_json=b"x" * size)
        return ConnectRequest(metrics=part)

    async with (
        small.ingester.running(),
        small.connect("east", await hub.issue("east")) as east,
        small.connect("west", await hub.issue("west")) as west,
    ):
        for index, size in enumerate((40_000, 40_000, 1_000)):
            await east.send(build(index, size))
        ack = await east.receive_ack()
        assert (ack.success, ack.is_permanent) == (False, True)
        assert "60000 bytes" in ack.error
        assert (await east.push(make_batch(2))).success  # the stream goes on
        await east.send(build(0, 55_000))
        while small.ingester.statistics()["held_bytes"] < 55_000:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await west.send(build(0, 50_000))
        while small.ingester.statistics()["held_bytes"] > 55_000:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await east.send(build(1, 1_000))
        assert (await east.wait_refused())[0] is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize(
    "changes",
    [
        {"node_metrics": (NodeFacts(name="n:metrics", timestamp="", status=""),)},
        {"node_metrics": (NodeFacts(name="../x", timestamp="", status=""),)},
        {"resources_json": b"[1"},
    ],
    ids=["a node that breaks keys", "a path", "no JSON"],
)
@with_hub
async def test_contents_that_cannot_be_stored_are_refused_for_good(
    hub: Hub, changes: dict[str, object]
) -> None:
    async with hub.connect("east", await hub.issue("east")) as wire:
        ack = await wire.push(make_batch(1, **changes))
        assert (ack.success, ack.is_permanent) == (False, True)
        assert (await wire.push(make_batch(2))).success


@with_hub
async def test_rows_of_unknown_sources_leave_no_keys(hub: Hub) -> None:
    row = CustomCollectedResource(id="x", name="x", values_json=b"{}")
    part = CustomResourceBatch(source_id="kube-system/secrets", resources=(row,))
    async with hub.connect("east", await hub.issue("east")) as wire:
        assert (await wire.push(make_batch(1, custom_resources=(part,)))).success
    assert await hub.state.list_keys("cluster:east:custom") == []


_SERVE = """
import asyncio, sys
from pathlib import Path
from quarterdeck.hubstate.embedded.history import open_history
from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.kit.clock import SystemClock
from quarterdeck.services.ingester.options import IngesterOptions
from quarterdeck.services.ingester.server import Ingester

async def main():
    folder, clock = Path(sys.argv[1]), SystemClock()
    state = open_embedded(folder / "hub.db", clock=clock)
    history = open_history(folder / "history.db", clock=clock)
    ingester = Ingester(state, history, options=IngesterOptions(port=0), clock=clock)
    async with ingester.running():
        print(ingester.port, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


class Process:
    """A hub of its own, to be killed."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@with_hub
async def test_a_hub_killed_mid_batch_loses_nothing_acknowledged(tmp_path: Path, hub: Hub) -> None:
    from quarterdeck.hubstate.embedded.state import open_embedded

    state = open_embedded(tmp_path / "hub.db", clock=CLOCK)
    token = (await tokens.issue_token(state, "east", at=CLOCK.now())).reveal()
    await state.aclose()
    process = Process(tmp_path)
    hub.ingester.port = process.port
    try:
        async with hub.connect("east", token) as wire:
            assert (await wire.push(make_batch(1))).success
            half = make_batch(2, chunk_index=0, chunk_count=2)
            await wire.send(ConnectRequest(metrics=half))
            process.kill()
            assert (await wire.wait_refused())[0] is grpc.StatusCode.UNAVAILABLE
        process = Process(tmp_path)
        hub.ingester.port = process.port
        async with hub.connect("east", token) as wire:
            for index in range(2):
                again = make_batch(2, chunk_index=index, chunk_count=2)
                await wire.send(ConnectRequest(metrics=again))
            assert (await wire.receive_ack()).success
            assert (await wire.push(make_batch(1))).success
    finally:
        process.kill()
    state = open_embedded(tmp_path / "hub.db", clock=CLOCK)
    mark = await state.get("cluster:east:collector:mark")
    assert mark is not None
    assert b'"sequence":2' in mark
    await state.aclose()
