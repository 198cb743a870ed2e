"""Objects of ClusterPulse: taken over with their status, Secrets and keys, and given back."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import originals
from tests.integration.operators.clusters.conftest import TOKEN

from quarterdeck.apis.clusterpulse.group import FINALIZER, GROUP
from quarterdeck.apis.clusterpulse.v1alpha1 import KINDS, ClusterConnection, MetricSource
from quarterdeck.apis.core.config import Secret
from quarterdeck.app import definitions
from quarterdeck.meta.objects import Object
from quarterdeck.operators.clusters.simulators.contents import Profile
from quarterdeck.wire.status import NotFound

Make = Callable[[], AbstractAsyncContextManager[Any]]
CONNECTED = {
    "phase": "Connected",
    "health": "healthy",
    "message": "Cluster is reachable",
    "nodes": 2,
    "namespaces": 4,
    "lastSyncTime": "2025-06-01T00:00:00Z",
}


def document(kind: type[Object], name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": kind.KIND.api_version,
        "kind": kind.KIND.kind,
        "metadata": {"name": name, "namespace": "default", "labels": {"team": "a"}},
        "spec": spec,
        **more,
    }


EAST = document(
    ClusterConnection,
    "east",
    {
        "endpoint": "http://east",
        "credentialsRef": {"name": "east-credentials", "namespace": "default"},
        "monitoring": {"interval": 10, "timeout": 10},
    },
    status=CONNECTED,
)
"""Checked every ten seconds, which the original accepts and our definition does not."""
PODS = document(
    MetricSource,
    "pods",
    {
        "source": {"apiVersion": "v1", "kind": "Pod", "scope": "Namespaced"},
        "fields": [{"name": "phase", "path": ".status.phase", "type": "string"}],
        "aggregations": [{"name": "total", "function": "count"}],
        "rbac": {"resourceTypeName": "pods"},
    },
    status={"phase": "Active", "message": "collecting"},
)
ALL = (EAST, PODS)


async def left_behind(w: Any) -> dict[str, dict[str, Any]]:
    """What the original leaves when it is switched off; then our definitions come."""
    await originals.put_definitions(w.client, GROUP)
    await w.spoke("east", Profile(nodes=2, pods=3))
    await w.secret("east", token=TOKEN)
    found = {each["kind"]: await originals.leave_object(w.client, each) for each in ALL}
    await definitions.install(w.client.raw, KINDS)
    return found


async def finish_take_over(w: Any) -> ClusterConnection:
    """Wait until our operator has read the cluster and the source."""

    async def is_ours() -> ClusterConnection | None:
        found: ClusterConnection = await w.get("east")
        source = await w.source("pods")
        is_read = found.status.observed_generation == 1 and found.status.health == "healthy"
        return found if is_read and source.status.observed_generation == 1 else None

    result: ClusterConnection = await w.until(is_ours)
    return result


async def test_connections_and_sources_are_taken_over(world: Make) -> None:
    async with world() as w:
        before = await left_behind(w)
        secret = await w.client.get(Secret, "east-credentials", "default")
        async with w.operator():
            east = await finish_take_over(w)
            assert east.metadata.uid == before["ClusterConnection"]["metadata"]["uid"]
            assert east.metadata.generation == 1
            assert (east.metadata.labels, east.metadata.finalizers) == ({"team": "a"}, (FINALIZER,))
            assert (east.status.nodes, east.spec.monitoring.interval) == (2, 10)
            source = await w.source("pods")
            assert source.metadata.uid == before["MetricSource"]["metadata"]["uid"]
            assert (await w.read("cluster:east:status"))["health"] == "healthy"
            after = await w.client.get(Secret, "east-credentials", "default")
            assert after.metadata.resource_version == secret.metadata.resource_version


async def test_the_original_can_have_them_back(world: Make) -> None:
    async with world() as w:
        before = await left_behind(w)
        async with w.operator():
            await finish_take_over(w)
        await originals.put_definitions(w.client, GROUP)
        for each in ALL:
            kind = ClusterConnection if each is EAST else MetricSource
            resource = w.client.resource(kind.KIND.gvr)
            name = each["metadata"]["name"]
            await resource.patch(name, {"metadata": {"finalizers": None}}, namespace="default")
            found = await originals.write_unchanged(w.client, each)
            assert found["metadata"]["uid"] == before[each["kind"]]["metadata"]["uid"]
            assert found["spec"].items() >= before[each["kind"]]["spec"].items()
            assert found["status"]["phase"] == each["status"]["phase"]
        assert (await w.read("cluster:east:status"))["health"] == "healthy"
        await w.client.delete(ClusterConnection, "east", "default")  # nothing of ours holds it
        try:
            await w.get("east")
        except NotFound:
            return
        raise AssertionError("east is still there though no operator runs")
