"""Objects of the existing operators: taken over with their status and finalizer, nothing remade."""

from typing import Any

import originals
import pytest

from quarterdeck.apis.fleetmanagement.names import FINALIZER
from quarterdeck.apis.fleetmanagement.v1alpha1 import KINDS, Collector, Pipeline
from quarterdeck.app import definitions

GROUP = "fleetmanagement.grafana.com"
TEXT = 'prometheus.scrape "x" {\n  targets = []\n}\n'
FIRST: dict[str, Any] = {
    "observedGeneration": 1,
    "createdAt": "2025-01-01T00:00:00Z",
    "updatedAt": "2025-01-02T00:00:00Z",
    "conditions": [
        {
            "type": type_,
            "status": "True",
            "reason": "Synced",
            "message": "Pipeline successfully synced",
            "lastTransitionTime": "2025-01-02T00:00:00Z",
            "observedGeneration": 1,
        }
        for type_ in ("Ready", "Synced")
    ],
}
EVOLVED = {**FIRST, "source": {"type": "Kubernetes", "namespace": "default/web"}}


async def leave_behind(at: Any, status: dict[str, Any], source: dict[str, str] | None) -> str:
    """What an operator that was switched off leaves: a pipeline, and an object with its status."""
    more = {"source": source} if source else {}
    identity: str = at.fleet.put("web", TEXT, matchers=["env=prod"], **more)
    await at.client.resource(Pipeline.KIND.gvr).create(
        {
            "apiVersion": Pipeline.KIND.api_version,
            "kind": "Pipeline",
            "metadata": {"name": "web", "namespace": "default", "finalizers": [FINALIZER]},
            "spec": {"contents": TEXT, "matchers": ["env=prod"], "enabled": True},
        }
    )
    await at.client.patch(
        await at.get(), {"status": {**status, "id": identity}}, subresource="status"
    )
    return identity


@pytest.mark.parametrize(
    ("status", "source"),
    [
        pytest.param(FIRST, None, id="first operator"),
        pytest.param(
            EVOLVED,
            {"type": "SOURCE_TYPE_GIT", "namespace": "default/web"},
            id="evolved operator",
        ),
    ],
)
async def test_a_pipeline_is_taken_over_and_not_made_again(
    world: Any, status: dict[str, Any], source: dict[str, str] | None
) -> None:
    async with world() as at:
        identity = await leave_behind(at, status, source)
        before = await at.get()
        async with at.operator():
            await at.until(lambda: _is_applied(at))
            pipeline = await at.ready("Synced")
            assert pipeline.status.id == identity
            assert pipeline.metadata.uid == before.metadata.uid
            assert pipeline.metadata.finalizers == (FINALIZER,)
            assert pipeline.metadata.generation == before.metadata.generation
            assert at.fleet.count("CreatePipeline") == at.fleet.count("DeletePipeline") == 0
            assert at.fleet.names == ["web"]
            await at.delete()
            await at.gone()
            assert at.fleet.names == []


async def test_the_original_can_have_a_pipeline_back(world: Any) -> None:
    async with world() as at:
        await originals.put_definitions(at.client, GROUP)
        identity = await leave_behind(at, FIRST, None)
        before = await at.get()
        await definitions.install(at.client.raw, KINDS)
        async with at.operator():
            await at.until(lambda: _is_applied(at))
            await at.ready("Synced")
        await originals.put_definitions(at.client, GROUP)
        document = {"apiVersion": Pipeline.KIND.api_version, "kind": "Pipeline"}
        metadata = {"name": "web", "namespace": "default"}
        found = await originals.write_unchanged(at.client, {**document, "metadata": metadata})
        assert found["metadata"]["uid"] == before.metadata.uid
        assert found["metadata"]["finalizers"] == [FINALIZER]
        assert found["spec"]["contents"] == TEXT
        status = found["status"]
        assert (status["id"], status["observedGeneration"]) == (identity, 1)
        conditions = {each["type"]: each["status"] for each in status["conditions"]}
        assert (conditions["Ready"], conditions["Synced"]) == ("True", "True")
        assert at.fleet.count("CreatePipeline") == at.fleet.count("DeletePipeline") == 0


async def _is_applied(at: Any) -> bool:
    return bool((await at.get()).status.applied_hash)


async def test_a_collector_keeps_the_attributes_that_were_set_for_it(world: Any) -> None:
    async with world() as at:
        await at.fleet.server.agents.register({"id": "edge-1", "localAttributes": {"env": "prod"}})
        operation = {"op": "ADD", "path": "/remote_attributes/team", "value": "a"}
        await at.driver().call("BulkUpdateCollectors", {"ids": ["edge-1"], "ops": [operation]})
        await at.client.resource(Collector.KIND.gvr).create(
            {
                "apiVersion": Collector.KIND.api_version,
                "kind": "Collector",
                "metadata": {"name": "edge", "namespace": "default"},
                "spec": {"id": "edge-1", "remoteAttributes": {"team": "a"}},
            }
        )
        status = {"registered": True, "effectiveRemoteAttributes": {"team": "a"}}
        edge = await at.client.get(Collector, "edge", "default")
        await at.client.patch(edge, {"status": status}, subresource="status")
        async with at.operator(interval_s=10.0):

            async def is_synced() -> bool:
                collector = await at.client.get(Collector, "edge", "default")
                return bool(collector.status.conditions)

            await at.until(is_synced)
            remote = at.fleet.server.collectors.get("edge-1").remote_attributes
            assert dict(remote) == {"team": "a"}
            assert at.fleet.count("BulkUpdateCollectors") == 1  # the one above
