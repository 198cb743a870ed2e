"""Admission plugins that are off unless they are enabled by name."""

from typing import Any

import pytest

from quarterdeck.server.options import ServerOptions

Object = dict[str, Any]
CORE = "/api/v1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"


def enable(*names: str) -> ServerOptions:
    return ServerOptions(enabled_plugins=frozenset(names))


async def grant(api: Any, *rules: Object) -> None:
    """Give the user `eve` these rights and no other."""
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "eve"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"}
    for path, body in (
        ("clusterroles", {"rules": list(rules)}),
        ("clusterrolebindings", {"roleRef": reference, "subjects": [subject]}),
    ):
        made = await api("POST", f"{RBAC}/{path}", {"metadata": {"name": "eve"}, **body})
        assert made.status == 201, made.body


def rule(resource: str, *verbs: str) -> Object:
    return {"apiGroups": [""], "resources": [resource], "verbs": list(verbs)}


async def make_owner(api: Any, **more: Any) -> Object:
    owner = (await api("POST", f"{CORE}/secrets", {"metadata": {"name": "owner"}})).body
    uid = owner["metadata"]["uid"]
    return {"apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": uid, **more}


ENFORCEMENT = "OwnerReferencesPermissionEnforcement"


async def test_owner_that_waits_needs_the_right_to_its_finalizers(serving: Any) -> None:
    async with serving(options=enable(ENFORCEMENT)) as api:
        owner = await make_owner(api, blockOwnerDeletion=True)
        await grant(api, rule("configmaps", "create"))
        body = {"metadata": {"name": "a", "ownerReferences": [owner]}}
        refused = await api("POST", f"{CORE}/configmaps", body, Impersonate_User="eve")
        assert refused.status == 403
        assert "refers to a resource you can't set finalizers on" in refused.message
        free = {
            "metadata": {"name": "b", "ownerReferences": [{**owner, "blockOwnerDeletion": False}]}
        }
        made = await api("POST", f"{CORE}/configmaps", free, Impersonate_User="eve")
        assert made.status == 201
        role = (await api("GET", f"{RBAC}/clusterroles/eve")).body
        role["rules"].append(rule("secrets/finalizers", "update"))
        assert (await api("PUT", f"{RBAC}/clusterroles/eve", role)).status == 200
        assert (await api("POST", f"{CORE}/configmaps", body, Impersonate_User="eve")).status == 201


async def test_new_owner_needs_the_right_to_delete(serving: Any) -> None:
    async with serving(options=enable(ENFORCEMENT)) as api:
        owner = await make_owner(api)
        await api("POST", f"{CORE}/configmaps", {"metadata": {"name": "a"}})
        await grant(api, rule("configmaps", "patch"))
        patch = {"metadata": {"ownerReferences": [owner]}}
        path = f"{CORE}/configmaps/a"
        refused = await api("PATCH", path, patch, media=MERGE, Impersonate_User="eve")
        assert refused.status == 403
        assert "cannot set an ownerRef on a resource you can't delete" in refused.message
        other = {"metadata": {"labels": {"a": "b"}}}
        assert (await api("PATCH", path, other, media=MERGE, Impersonate_User="eve")).status == 200
        assert (await api("PATCH", path, patch, media=MERGE)).status == 200


async def test_owner_of_an_unknown_kind_cannot_wait(serving: Any) -> None:
    async with serving(options=enable(ENFORCEMENT)) as api:
        await grant(api, rule("configmaps", "create"))
        owner = {
            "apiVersion": "example.com/v1",
            "kind": "Nothing",
            "name": "n",
            "uid": "u",
            "blockOwnerDeletion": True,
        }
        body = {"metadata": {"name": "a", "ownerReferences": [owner]}}
        refused = await api("POST", f"{CORE}/configmaps", body, Impersonate_User="eve")
        assert 'no matches for kind "Nothing" in version "example.com/v1"' in refused.message


async def test_services_get_no_new_external_addresses(serving: Any) -> None:
    def service(*addresses: str) -> Object:
        spec = {"ports": [{"port": 80}], "externalIPs": list(addresses)}
        return {"metadata": {"name": "s"}, "spec": spec}

    async with serving(options=enable("DenyServiceExternalIPs")) as api:
        refused = await api("POST", f"{CORE}/services", service("1.2.3.4"))
        assert refused.status == 403
        assert "Use of external IPs is denied by admission control" in refused.message
        assert (await api("POST", f"{CORE}/services", service())).status == 201


def build_pod(**spec: Any) -> Object:
    containers = [{"name": "c", "image": "i", **spec.pop("container", {})}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


@pytest.mark.parametrize(
    ("key", "status"), [("topology.kubernetes.io/zone", 403), ("kubernetes.io/hostname", 201)]
)
async def test_required_anti_affinity_is_between_nodes(serving: Any, key: str, status: int) -> None:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"a": "b"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    async with serving(options=enable("LimitPodHardAntiAffinityTopology")) as api:
        made = await api("POST", f"{CORE}/pods", build_pod(affinity=affinity))
        assert made.status == status, made.body


async def test_pods_tolerate_the_taints_of_the_devices_they_ask_for(serving: Any) -> None:
    amounts = {"example.com/gpu": "1", "cpu": "1"}
    resources = {"requests": amounts, "limits": amounts}
    async with serving(options=enable("ExtendedResourceToleration")) as api:
        made = await api("POST", f"{CORE}/pods", build_pod(container={"resources": resources}))
        tolerations = made.body["spec"]["tolerations"]
        wanted = {"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
        assert tolerations.count(wanted) == 1
        assert not any(each["key"] == "cpu" for each in tolerations)


async def test_changes_need_the_namespace_too(serving: Any) -> None:
    async with serving(options=enable("NamespaceExists")) as api:
        path = "/api/v1/namespaces/nowhere/configmaps"
        assert (await api("POST", path, {"metadata": {"name": "a"}})).status == 404
        made = await api("POST", f"{CORE}/configmaps", {"metadata": {"name": "a"}})
        assert made.status == 201
