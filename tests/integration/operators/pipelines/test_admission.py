"""The webhooks of the group, registered by the operator itself and called by our API server."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from quarterdeck.apis.core.config import Namespace
from quarterdeck.apis.fleetmanagement.v1alpha1 import GROUP, KINDS
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators import pipelines
from quarterdeck.runtime import Manager, Registration, Webhooks
from quarterdeck.wire.status import ApiError

SCRAPE = 'prometheus.scrape "x" {\n  targets = []\n}\n'


class Group:
    """A cluster with the group's webhooks."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.client = cluster.client

    async def create(self, kind: str, client: Any = None, **spec: Any) -> dict[str, Any]:
        info = next(each.KIND for each in KINDS if each.KIND.kind == kind)
        metadata = {"name": "x"} | ({"namespace": "default"} if info.is_namespaced else {})
        document = {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": kind,
            "metadata": metadata,
            "spec": spec,
        }
        found: dict[str, Any] = await (client or self.client).resource(info.gvr).create(document)
        return found


@contextlib.asynccontextmanager
async def group() -> AsyncIterator[Group]:
    async with Cluster() as cluster:
        await definitions.install(cluster.client.raw, KINDS)
        webhooks = Webhooks(registration=Registration("webhooks.example.com"))
        pipelines.add_webhooks(webhooks, cluster.client)
        manager = Manager(cluster.client, name="test", webhooks=webhooks)
        async with manager.running():
            yield Group(cluster)


async def test_paths_are_those_of_existing_configurations() -> None:
    async with group() as at:
        listed = await at.client.resource(
            GVR("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations")
        ).list()
        hooks = [hook for item in listed for hook in item["webhooks"]]
        assert len(hooks) == len(KINDS)
        assert "/validate-fleetmanagement-grafana-com-v1alpha1-pipeline" in {
            hook["clientConfig"]["url"].removeprefix("https://").partition("/")[1]
            + hook["clientConfig"]["url"].removeprefix("https://").partition("/")[2]
            for hook in hooks
        }
        assert all(hook["failurePolicy"] == "Fail" for hook in hooks)
        assert all(hook["clientConfig"]["caBundle"] for hook in hooks)


async def test_bad_pipelines_are_refused_before_they_are_stored() -> None:
    async with group() as at:
        with pytest.raises(ApiError, match=r"spec.matchers\[0\]"):
            await at.create("Pipeline", contents=SCRAPE, matchers=["env=~[a-"])
        with pytest.raises(ApiError, match="must be greater than 50"):
            steps = [{"weight": 50}, {"weight": 50}]
            await at.create("Pipeline", contents=SCRAPE, matchers=["a=b"], rollout={"steps": steps})
        stored = await at.create("Pipeline", contents=SCRAPE, matchers=["env=prod"])
        assert stored["metadata"]["uid"]


async def test_wrong_choice_is_refused_with_field_and_choices() -> None:
    async with group() as at:
        with pytest.raises(ApiError) as caught:
            await at.create("CollectorDiscovery", policy={"onConflict": "Explode"})
        message = str(caught.value)
        assert 'spec.policy.onConflict: Unsupported value: "Explode"' in message
        assert "supported values" in message


async def test_connections_and_discoveries_get_defaults() -> None:
    async with group() as at:
        url = "https://fleet.example.com/pipeline.v1.PipelineService/"
        stored = await at.create("FleetConnection", url=url)
        assert stored["spec"]["url"] == "https://fleet.example.com"
        found = await at.create("PipelineDiscovery")
        assert found["spec"]["targetNamespace"] == "default"


async def test_a_tenant_policy_binds_a_namespace_and_a_user() -> None:
    async with group() as at:
        await at.create(
            "TenantPolicy", requiredMatchers=["team=a"], subjects=[{"kind": "User", "name": "anna"}]
        )
        labels = {"metadata": {"labels": {"tenant": "b"}}}
        await at.client.resource(GVR("", "v1", "namespaces")).patch("default", labels)
        anna = at.cluster.as_user("anna", ("system:masters",))
        with pytest.raises(ApiError, match=r"TenantPolicy x"):
            await at.create("Pipeline", anna, contents=SCRAPE, matchers=["env=prod"])
        stored = await at.create(
            "Pipeline", anna, contents=SCRAPE, matchers=["env=prod", 'team = "a"']
        )
        assert stored["spec"]["matchers"][1] == 'team = "a"'


async def test_others_are_not_bound() -> None:
    async with group() as at:
        await at.create(
            "TenantPolicy", requiredMatchers=["team=a"], subjects=[{"kind": "User", "name": "anna"}]
        )
        await at.client.create(Namespace(metadata=ObjectMeta(name="free")))
        bert = at.cluster.as_user("bert", ("system:masters",))
        assert await at.create("Pipeline", bert, contents=SCRAPE, matchers=["env=prod"])
