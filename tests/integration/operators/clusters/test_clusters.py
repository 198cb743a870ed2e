"""Clusters that are read: what is kept, what the status says, and what ends with them."""

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

from quarterdeck.apis.clusterpulse.v1alpha1 import ClusterConnection
from quarterdeck.hubstate.ports import RangeQuery
from quarterdeck.meta.identity import GVR
from quarterdeck.operators.clusters.simulators.contents import Profile

_NAMESPACES = GVR("", "v1", "namespaces")
Make = Callable[[], AbstractAsyncContextManager[Any]]


async def test_a_cluster_is_read_and_kept_in_the_shapes_readers_know(world: Make) -> None:
    async with world() as w:
        await w.spoke("east", Profile(nodes=3, pods=6, is_openshift=True, has_olm=True))
        await w.secret("east")
        await w.connect("east", displayName="East", labels={"env": "prod"})
        async with w.operator():
            found = await w.health("healthy")
            assert (found.status.phase, found.status.message) == (
                "Connected",
                "Cluster is reachable",
            )
            assert (found.status.nodes, found.status.version) == (3, "4.16.3")
            assert found.status.observed_generation == found.metadata.generation
            for type_ in ("Ready", "Reachable", "NodesReady", "OperatorsHealthy", "DataFresh"):
                assert w.condition(found, type_).status == "True", type_
            await _check_store(w)
            await _check_history(w)
            assert "Connected" in await w.events()


async def _check_store(w: Any) -> None:
    assert await w.state.get_members("clusters:all") == {"east"}
    spec = await w.read("cluster:east:spec")
    assert (spec["displayName"], spec["labels"]) == ("East", {"env": "prod"})
    assert spec["credentialsRef"] == {"name": "east-credentials", "namespace": "default"}
    assert await w.read("cluster:east:labels") == {"env": "prod"}
    status = await w.read("cluster:east:status")
    assert (status["health"], status["message"]) == ("healthy", "Cluster is reachable")
    metrics = await w.read("cluster:east:metrics")
    assert (metrics["nodes"], metrics["nodes_ready"], metrics["pods"]) == (3, 3, 6)
    assert (metrics["cpu_capacity"], metrics["deployments"]) == (24.0, 3)
    info = await w.read("cluster:east:info")
    assert (info["platform"], info["console_url"]) == (
        "OpenShift",
        "https://console.apps.example.com",
    )
    namespaces = await w.read("cluster:east:namespaces")
    assert namespaces["count"] == len(await w.state.get_members("cluster:east:namespaces:set"))
    assert await w.state.get_members("cluster:east:nodes") == {"node-0", "node-1", "node-2"}
    node = await w.state.get_fields("cluster:east:node:node-0")
    assert (node["status"], node["cpu_usage"], node["pods_total"]) == ("Ready", "12.50", "2")
    assert len(await w.state.get_scored_members("cluster:east:node:node-0:metrics")) == 1
    assert "data" in await w.state.get_fields("cluster:east:nodes:summary")
    [operator] = await w.read("cluster:east:operators")
    assert (operator["name"], operator["version"]) == ("cert-manager", "1.16.1")
    assert (await w.read("cluster:east:operators_summary"))["total"] == 1
    assert (await w.read("cluster:east:cluster_operators_summary"))["all_healthy"] is True
    assert (await w.read("cluster:east:cluster_operator:dns"))["available"] is True
    assert len(await w.read("cluster:east:pods")) == 6
    metadata = await w.read("cluster:east:resource_metadata")
    assert (metadata["pods_count"], metadata["deployments_count"]) == (6, 3)
    assert metadata["truncated"] is False
    assert len(await w.state.get_items("events:east", limit=10)) == 1


async def _check_history(w: Any) -> None:
    await w.advance(5)
    [series] = await w.history.query_range(
        RangeQuery(
            name="clusterpulse_node_pods_total",
            labels={"node": ("node-0",)},
            start=w.clock.now() - timedelta(minutes=1),
            end=w.clock.now(),
            step=timedelta(minutes=1),
        )
    )
    assert series.points[-1][1] == 2.0


async def test_deletion_removes_every_key(world: Make) -> None:
    async with world() as w:
        for name in ("east", "west"):
            await w.spoke(name)
            await w.secret(name)
            await w.connect(name)
        async with w.operator():
            await w.health("healthy", "east")
            await w.health("healthy", "west")
            async with w.state.subscribe("cluster-events") as messages:
                await w.client.delete(ClusterConnection, "east", "default")
                await w.gone(ClusterConnection, "east")
                assert b"cluster.deleted" in (await anext(messages)).data
        left = await w.state.list_keys("")
        assert not [key for key in left if "east" in key]
        assert await w.state.get_members("clusters:all") == {"west"}
        assert "cluster:west:status" in left


async def test_a_node_that_goes_is_forgotten(world: Make) -> None:
    async with world() as w:
        spoke = await w.spoke("east", Profile(nodes=2))
        await w.secret("east")
        await w.connect("east")
        async with w.operator():
            await w.health("healthy")
            await spoke.client.resource(GVR("", "v1", "nodes")).delete("node-0")
            await w.until(lambda: _has_nodes(w, {"node-1"}))
            assert await w.state.get_fields("cluster:east:node:node-0") == {}


async def _has_nodes(w: Any, names: set[str]) -> bool:
    return bool(await w.state.get_members("cluster:east:nodes") == names)


async def test_nodes_and_operators_decide_the_health(world: Make) -> None:
    async with world() as w:
        await w.spoke("half", Profile(nodes=2, failed_nodes=1))
        await w.spoke("some", Profile(nodes=3, failed_nodes=1))
        await w.spoke("operator", Profile(is_openshift=True, degraded_operator="dns"))
        for name in ("half", "some", "operator"):
            await w.secret(name)
            await w.connect(name)
        async with w.operator():
            half = await w.health("unhealthy", "half")
            assert half.status.phase == "Connected"
            assert w.condition(half, "NodesReady").reason == "NodesNotReady"
            some = await w.health("degraded", "some")
            assert "1 of 3 nodes are not ready: node-0" in some.status.message
            operator = await w.health("degraded", "operator")
            assert operator.status.message == "dns: degraded - simulated failure"


async def test_an_idle_cluster_costs_no_status_writes(world: Make) -> None:
    async with world() as w:
        await w.spoke("east")
        await w.secret("east")
        await w.connect("east")
        async with w.operator() as manager:
            await w.health("healthy")
            await w.advance(5)
            before = (await w.get()).resource_version
            await w.advance(40)
            assert (await w.get()).resource_version == before
            await w.advance(120)
            # about one write a minute says that the data is fresh
            writes = manager.metrics.registry.get_value(
                "quarterdeck_writes_total", "clusterconnection"
            )
            assert writes <= 6


async def test_two_connections_of_one_name_do_not_mix(world: Make) -> None:
    async with world() as w:
        await w.spoke("east")
        await w.secret("east")
        await w.connect("east")
        await w.client.resource(_NAMESPACES).create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
        )
        async with w.operator():
            await w.health("healthy")
            await w.advance(2)
            await w.connect("east", namespace="other")

            async def stalled() -> bool:
                found = await w.client.get(ClusterConnection, "east", "other")
                return bool(w.condition(found).reason == "NameConflict")

            await w.until(stalled)
            await w.client.delete(ClusterConnection, "east", "other")
            await w.advance(5)
            assert await w.read("cluster:east:status") is not None


async def test_the_guide_names_the_metrics_that_there_are(world: Make) -> None:
    guide = Path(__file__).parents[4] / "docs" / "how-to" / "run-a-hub.md"
    named = set(re.findall(r"`(clusterpulse_hub_\w+)", guide.read_text()))
    async with world() as w, w.operator() as manager:
        page = manager.metrics.registry.render().decode()
    own = set(re.findall(r"# TYPE (clusterpulse_hub_\w+)", page))
    others = {"clusterpulse_hub_shards", "clusterpulse_hub_members"}  # of replicas only
    assert named - others - {each for each in named if "_hub_api_" in each} == own
