"""Push mode: the hub reads the cluster itself while no collector is connected."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import msgspec
from tests.integration.operators.clusters.conftest import World

from quarterdeck.apis.clusterpulse.v1alpha1 import ClusterConnection
from quarterdeck.hubstate import keys
from quarterdeck.hubstate.push import leases, tokens
from quarterdeck.hubstate.push.leases import CollectorLease
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.inventory.push.messages import (
    ClusterMetrics,
    CustomCollectedResource,
    CustomResourceBatch,
    MetricsBatch,
)
from quarterdeck.kit import rfc3339
from quarterdeck.operators.clusters.collector import TOKEN_HASH
from quarterdeck.services.ingester.ingest import Ingest
from quarterdeck.services.ingester.options import IngesterOptions

Make = Callable[[], AbstractAsyncContextManager[World]]


POD_PHASES = {
    "source": {"apiVersion": "v1", "kind": "Pod"},
    "fields": [{"name": "phase", "path": ".status.phase"}],
    "aggregations": [{"name": "total", "function": "count"}],
    "rbac": {"resourceTypeName": "pod"},
}


async def push(w: World, *, pods: int = 0) -> None:
    """What a connected collector leaves in the store."""
    now = rfc3339.format_time(w.clock.now())
    lease = CollectorLease(session="s", version="9.9", connected_at=now, last_heartbeat=now)
    await w.state.commit([leases.plan_renewal("east", lease)])
    token = (await tokens.issue_token(w.state, "east", at=w.clock.now())).reveal()
    ingest = Ingest(w.state, w.history, options=IngesterOptions(), clock=w.clock)
    batch = MetricsBatch(
        batch_id=f"b{w.clock.now()}",
        collected_at=w.clock.now(),
        cluster_metrics=ClusterMetrics(nodes=7),
        node_metrics=tuple(
            NodeFacts(name=f"pushed-{n}", timestamp="", status="Ready") for n in range(7)
        ),
        custom_resources=_build_rows(pods) if pods else (),
    )
    assert (await ingest.ingest("east", tokens.hash_token("east", token), batch)).success


def _build_rows(count: int) -> tuple[CustomResourceBatch, ...]:
    rows = tuple(
        CustomCollectedResource(id=f"d/{n}", namespace="d", name=f"{n}", values_json=b"{}")
        for n in range(count)
    )
    return (
        CustomResourceBatch(
            source_id="default/pods", resources=rows, aggregation_values={"total": float(count)}
        ),
    )


async def test_the_hub_pulls_unless_a_collector_is_connected(world: Make) -> None:
    async with world() as w:
        spoke = await w.spoke()
        await w.secret()
        await w.connect(collectionMode="push", ingesterAddress="hub:9443")
        async with w.operator():

            async def is_pulled() -> bool:
                status = (await w.get()).status
                connected = status.collector_status and status.collector_status.connected
                return status.phase == "Connected" and not connected

            await w.until(is_pulled)
            await push(w)

            async def is_pushed() -> ClusterConnection | None:
                found = await w.get()
                status = found.status.collector_status
                return found if status is not None and status.connected else None

            found = await w.until(is_pushed)
            assert found.status.nodes == 7
            assert found.status.collector_status.version == "9.9"
            assert found.status.phase == "Connected"
            pulled = len(spoke.requests)
            assert await w.state.get_members(keys.cluster("east", "nodes")) == {
                f"pushed-{n}" for n in range(7)
            }
            await w.until(is_pulled)  # the lease ends by itself
            assert len(spoke.requests) > pulled
            assert "pushed-0" not in await w.state.get_members(keys.cluster("east", "nodes"))


async def test_a_cluster_that_begins_to_push_is_shown_at_once(world: Make) -> None:
    async with world() as w:
        await w.spoke()
        await w.secret()
        await w.connect(collectionMode="push", ingesterAddress="hub:9443")
        async with w.operator():
            await w.health("healthy")
            await w.advance(1)
            began = w.clock.monotonic()
            await push(w)

            async def is_connected() -> bool:
                return w.condition(await w.get(), "CollectorReady").reason == "Connected"

            await w.until(is_connected)
            assert w.clock.monotonic() - began < 10  # not after the interval of 30 s


async def test_the_hash_on_a_connection_becomes_the_token_of_its_cluster(world: Make) -> None:
    async with world() as w:
        await w.spoke()
        await w.secret()
        await w.connect(collectionMode="push", ingesterAddress="hub:9443")
        hashed = tokens.hash_token("east", "qdc_printed")
        gvr = ClusterConnection.KIND.gvr
        await w.client.resource(gvr).patch(
            "east", {"metadata": {"annotations": {TOKEN_HASH: hashed}}}, namespace="default"
        )
        async with w.operator():

            async def is_accepted() -> bool:
                return await tokens.check_token(w.state, "east", "qdc_printed")

            await w.until(is_accepted)
            assert not await tokens.check_token(w.state, "east", "qdc_other")
            stored = await w.state.get(tokens.get_key("east"))
            assert stored is not None
            assert msgspec.json.decode(stored)["hash"] == hashed


async def test_a_source_counts_and_exports_what_collectors_push(world: Make) -> None:
    async with world() as w:
        await w.spoke()
        await w.secret()
        await w.connect(collectionMode="push", ingesterAddress="hub:9443")
        await w.create("MetricSource", "pods", POD_PHASES)
        async with w.operator() as manager:
            await w.health("healthy")
            await push(w, pods=9)

            async def is_counted() -> bool:
                await push(w, pods=9)  # keeps the lease
                status = (await w.source("pods")).status
                return (status.clusters_collected, status.resources_collected) == (1, 9)

            await w.until(is_counted)
            page = manager.metrics.registry.render().decode()
            assert 'cluster="east"' in page
            line = next(
                each for each in page.splitlines() if each.startswith("clusterpulse_custom")
            )
            assert 'source="default/pods"' in line and line.endswith(" 9")

            async def is_read_by_the_hub() -> bool:
                return (await w.source("pods")).status.resources_collected not in (0, 9)

            await w.until(is_read_by_the_hub, within_s=600)  # the lease has ended
