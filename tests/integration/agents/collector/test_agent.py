"""A collector between a real API server and a real ingester."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
import pytest
from ingester_hub import CLOCK, Hub, running_hub

from quarterdeck.agents.collector.agent import CollectorAgent
from quarterdeck.agents.collector.buffer import DiskBuffer
from quarterdeck.agents.collector.settings import CollectorSettings
from quarterdeck.app.cluster_factory import EmbeddedClusters
from quarterdeck.client.client import Client
from quarterdeck.hubstate import keys
from quarterdeck.hubstate.notices import build_source_notice
from quarterdeck.hubstate.push import leases
from quarterdeck.hubstate.writes import AddMembers, SetValue
from quarterdeck.kit.redaction import Secret
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.operators.clusters.simulators.contents import Profile
from quarterdeck.operators.clusters.simulators.populate import populate
from quarterdeck.services.ingester.options import IngesterOptions
from quarterdeck.services.ingester.server import Ingester

POD_PHASES = {
    "source": {"apiVersion": "v1", "kind": "Pod"},
    "fields": [{"name": "phase", "path": ".status.phase"}],
    "computed": [{"name": "isUp", "expression": "phase == 'Running'", "type": "boolean"}],
    "aggregations": [{"name": "byPhase", "function": "count", "groupBy": "phase"}],
}


@pytest.fixture(scope="session", autouse=True)
def _grpc_pollers() -> None:
    async def connect() -> None:
        async with running_hub() as hub, hub.connect("warm", await hub.issue("warm")):
            pass

    asyncio.run(connect())


async def eventually(check: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(240):
        while not await check():  # noqa: ASYNC110 - state of another party
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def managed_cluster() -> AsyncIterator[Client]:
    async with EmbeddedClusters(clock=CLOCK) as factory:
        config = await factory.create("east")
        async with Client(config, clock=CLOCK) as client:
            await populate(client, Profile(nodes=2, pods=6), clock=CLOCK)
            yield client


def make_agent(client: Client, folder: Path, *, port: int, token: str) -> CollectorAgent:
    settings = CollectorSettings(
        cluster_name="east",
        ingester_address=f"127.0.0.1:{port}",
        token=Secret(token),
        interval_s=1.0,
        tls=False,
    )
    buffer = DiskBuffer(folder, max_batches=100, max_bytes=10_000_000)
    return CollectorAgent(client, settings, buffer, clock=CLOCK, random=random.Random(1))


async def read_mark(hub: Hub) -> dict[str, object]:
    data = await hub.state.get("cluster:east:collector:mark")
    found: dict[str, object] = msgspec.json.decode(data) if data else {}
    return found


async def test_a_cluster_and_its_sources_reach_the_hub(tmp_path: Path) -> None:
    async with running_hub() as hub, managed_cluster() as client, Supervisor("test") as tasks:
        token = await hub.issue("east")
        agent = make_agent(client, tmp_path, port=hub.ingester.port, token=token)
        tasks.spawn(agent.run(), name="agent")

        async def has_nodes() -> bool:
            return len(await hub.state.get_members(keys.cluster("east", "nodes"))) >= 2

        await eventually(has_nodes)
        assert await leases.find_lease(hub.state, "east") is not None
        await hub.state.commit(
            [
                SetValue(keys.source("d", "pods"), b'{"name":"pods","namespace":"d"}'),
                SetValue(keys.source("d", "pods") + ":spec", msgspec.json.encode(POD_PHASES)),
                AddMembers(keys.ENABLED_SOURCES, ("d/pods",)),
                build_source_notice("compiled", "d/pods", CLOCK.now(), {}),
            ]
        )

        async def has_rows() -> bool:
            return await hub.state.get(keys.custom("east", "d/pods", "resources")) is not None

        await eventually(has_rows)
        rows = await hub.state.get(keys.custom("east", "d/pods", "resources"))
        assert rows is not None
        found = msgspec.json.decode(rows)
        assert found["resourceCount"] >= 6
        assert all("isUp" in each["values"] for each in found["resources"])
        values = await hub.state.get(keys.custom("east", "d/pods", "aggregations"))
        assert values is not None
        assert sum(msgspec.json.decode(values)["values"]["byPhase"].values()) >= 6


async def test_an_outage_is_bridged_by_the_buffer(tmp_path: Path) -> None:
    async with running_hub() as hub, managed_cluster() as client, Supervisor("test") as tasks:
        token = await hub.issue("east")
        options = IngesterOptions(port=0)
        first = Ingester(hub.state, hub.history, options=options, clock=CLOCK)
        async with first.running():
            agent = make_agent(client, tmp_path, port=first.port, token=token)
            tasks.spawn(agent.run(), name="agent")

            async def has_sent() -> bool:
                return agent.sent >= 1

            await eventually(has_sent)
        before = int(str((await read_mark(hub))["sequence"]))

        async def has_buffered() -> bool:
            return len(agent._buffer) >= 2

        await eventually(has_buffered)
        again = msgspec.structs.replace(options, port=first.port)
        second = Ingester(hub.state, hub.history, options=again, clock=CLOCK)
        async with second.running():

            async def has_caught_up() -> bool:
                return len(agent._buffer) == 0 and agent.sent >= before + 2

            await eventually(has_caught_up)
            await tasks.cancel_all()
        mark = await read_mark(hub)
        stored = first.statistics()["stored"] + second.statistics()["stored"]
        # every cycle was stored once: as many as the last number says
        assert stored == mark["sequence"]
        assert agent.statistics()["dropped"] == 0


async def test_a_new_run_sends_what_the_old_one_left(tmp_path: Path) -> None:
    async with running_hub() as hub, managed_cluster() as client:
        token = await hub.issue("east")
        async with Supervisor("old") as tasks:
            old = make_agent(client, tmp_path, port=1, token=token)
            tasks.spawn(old.run(), name="agent")

            async def has_buffered() -> bool:
                return len(old._buffer) >= 2

            await eventually(has_buffered)
        left = len(old._buffer)
        async with Supervisor("new") as tasks:
            new = make_agent(client, tmp_path, port=hub.ingester.port, token=token)
            tasks.spawn(new.run(), name="agent")

            async def has_sent() -> bool:
                return new.sent > left

            await eventually(has_sent)
        assert hub.ingester.statistics()["duplicates"] == 0


async def test_a_refused_token_keeps_collecting_and_trying(tmp_path: Path) -> None:
    async with running_hub() as hub, managed_cluster() as client, Supervisor("test") as tasks:
        await hub.issue("east")
        agent = make_agent(client, tmp_path, port=hub.ingester.port, token="qdc_wrong")
        tasks.spawn(agent.run(), name="agent")

        async def has_buffered() -> bool:
            return len(agent._buffer) >= 2

        await eventually(has_buffered)
        assert not agent.is_connected
        assert await hub.state.list_keys("cluster:east:node") == []
