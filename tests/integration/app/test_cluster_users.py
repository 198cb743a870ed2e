"""Clusters for tests: clients with the rights of somebody, and forks."""

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app.cluster import Cluster
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta, replace
from quarterdeck.server.options import ServerOptions
from quarterdeck.testing import BackgroundCluster
from quarterdeck.wire.status import Conflict, Forbidden

RBAC = "rbac.authorization.k8s.io"


def build_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


async def grant(cluster: Cluster, group: str) -> None:
    role = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "readers"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}],
    }
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "readers"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "readers"},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": group}],
    }
    await cluster.client.resource(GVR(RBAC, "v1", "clusterroles")).create(role)
    await cluster.client.resource(GVR(RBAC, "v1", "clusterrolebindings")).create(binding)


async def test_users_have_the_rights_of_their_groups() -> None:
    async with Cluster() as cluster:
        alice, bob = cluster.as_user("alice", groups=["devs"]), cluster.as_user("bob")
        await cluster.client.create(build_map("a"))
        with pytest.raises(Forbidden, match='User "alice" cannot list'):
            await alice.list(ConfigMap)
        await grant(cluster, "devs")
        assert "a" in {each.metadata.name for each in await alice.list(ConfigMap)}
        with pytest.raises(Forbidden, match="cannot create"):
            await alice.create(build_map("b"))
        with pytest.raises(Forbidden):
            await bob.list(ConfigMap)


async def test_clusters_beside_a_test_have_users_too(cluster: BackgroundCluster) -> None:
    async with cluster.as_user("alice") as alice:
        with pytest.raises(Forbidden):
            await alice.list(ConfigMap)


async def test_fork_begins_with_all_objects_and_goes_its_own_way() -> None:
    async with Cluster() as first:
        await first.client.create(build_map("kept", value="1"))
        before = await first.client.get(ConfigMap, "kept", "default")
        async with first.fork() as second:
            copy = await second.client.get(ConfigMap, "kept", "default")
            assert copy == before
            await second.client.update(replace(copy, data={"value": "2"}))
            await first.client.create(build_map("only-first"))
            names = {each.metadata.name for each in await second.client.list(ConfigMap)}
            assert "only-first" not in names
            with pytest.raises(Conflict):
                await second.client.update(replace(copy, data={"value": "3"}))
            async with second.fork() as third:
                assert (await third.client.get(ConfigMap, "kept", "default")).data["value"] == "2"
        assert (await first.client.get(ConfigMap, "kept", "default")).data["value"] == "1"


async def test_service_of_the_api_is_there_where_it_is_asked_for() -> None:
    async with Cluster(options=ServerOptions(has_system_objects=True)) as cluster:
        services = cluster.client.resource(GVR("", "v1", "services"))
        found = await services.get("kubernetes", namespace="default")
        assert found["spec"]["clusterIP"] == "10.96.0.1"
        port = {"port": 80}
        other = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"ports": [port]}}
        made = await services.create(other)
        assert made["spec"]["clusterIP"] != "10.96.0.1"
