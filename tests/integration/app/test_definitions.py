"""Manifests that a start applies, on a real API server."""

import copy
from typing import Any

from quarterdeck.apis.experiments.v1alpha1 import KINDS
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.experiments_samples import list_catalog, list_namespaces
from quarterdeck.meta.identity import GVR
from quarterdeck.operators.experiments.foreign import FOREIGN

ROLES = GVR("rbac.authorization.k8s.io", "v1", "clusterroles")
ROLE: dict[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "reader"},
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
}


async def test_an_unchanged_manifest_is_not_sent_again() -> None:
    async with Cluster() as cluster:
        requests = cluster.client.raw
        await definitions.apply(requests, [ROLE])
        sent: Any = _Patches(requests)
        await definitions.apply(sent, [ROLE])
        assert sent.count == 0


async def test_a_second_start_applies_nothing_of_catalog_and_namespaces() -> None:
    async with Cluster() as cluster:
        requests = cluster.client.raw
        await definitions.install(requests, [*KINDS, *FOREIGN])
        await definitions.apply(requests, [*list_namespaces(), *list_catalog()])
        sent: Any = _Patches(requests)
        await definitions.install(sent, [*KINDS, *FOREIGN])
        await definitions.apply(sent, [*list_namespaces(), *list_catalog()])
        assert sent.count == 0


async def test_what_somebody_filled_in_is_left_alone() -> None:
    async with Cluster() as cluster:
        await definitions.apply_missing(cluster.client.raw, [{**ROLE, "rules": []}])
        await definitions.apply(cluster.client.raw, [ROLE])
        await definitions.apply_missing(cluster.client.raw, [{**ROLE, "rules": []}])
        assert (await cluster.client.resource(ROLES).get("reader"))["rules"] == ROLE["rules"]


async def test_a_changed_manifest_and_a_changed_object_are_applied() -> None:
    async with Cluster() as cluster:
        roles = cluster.client.resource(ROLES)
        await definitions.apply(cluster.client.raw, [ROLE])
        wider = copy.deepcopy(ROLE)
        wider["rules"][0]["verbs"] = ["get", "list"]
        await definitions.apply(cluster.client.raw, [wider])
        assert (await roles.get("reader"))["rules"] == wider["rules"]
        other = await roles.get("reader")
        other["rules"] = []
        await roles.update(other)
        await definitions.apply(cluster.client.raw, [wider])
        assert (await roles.get("reader"))["rules"] == wider["rules"]


class _Patches:
    """An API that counts its patches."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    async def patch(self, *arguments: Any, **options: Any) -> Any:
        self.count += 1
        return await self._api.patch(*arguments, **options)
