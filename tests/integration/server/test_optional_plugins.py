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


KUBELET = {"Impersonate_User": "system:node:n1", "Impersonate_Group": "system:nodes"}
NODES = "/api/v1/nodes"


def restrict() -> ServerOptions:
    """Everybody may do everything, but for what the plugin says."""
    return ServerOptions(enabled_plugins=frozenset({"NodeRestriction"}), has_roles=False)


async def test_kubelet_changes_its_own_node_only(serving: Any) -> None:
    async with serving(options=restrict()) as api:
        other = await api("POST", NODES, {"metadata": {"name": "n2"}}, **KUBELET)
        assert other.status == 403
        assert 'node "n1" is not allowed to modify node "n2"' in other.message
        bad = {"name": "n1", "labels": {"node-restriction.kubernetes.io/x": "y", "mine": "z"}}
        refused = await api("POST", NODES, {"metadata": bad}, **KUBELET)
        assert refused.message.endswith(
            "is not allowed to set the following labels: node-restriction.kubernetes.io/x"
        )
        good = {"name": "n1", "labels": {"kubernetes.io/os": "linux", "mine": "z"}}
        assert (await api("POST", NODES, {"metadata": good}, **KUBELET)).status == 201
        for change, said in (
            ({"spec": {"taints": []}}, "modify taints"),
            ({"metadata": {"labels": {"a.k8s.io/b": "c"}}}, "modify labels: a.k8s.io/b"),
        ):
            refused = await api("PATCH", f"{NODES}/n1", change, media=MERGE, **KUBELET)
            assert refused.status == 403
            assert said in refused.message
        status = {"status": {"phase": "Running"}}
        path = f"{NODES}/n1/status"
        assert (await api("PATCH", path, status, media=MERGE, **KUBELET)).status == 200
        assert (await api("DELETE", f"{NODES}/n2", **KUBELET)).status in (403, 404)


async def test_kubelet_touches_the_pods_on_it_only(serving: Any) -> None:
    async with serving(options=restrict()) as api:
        for name in ("n1", "n2"):
            await api("POST", NODES, {"metadata": {"name": name}})
            pod = build_pod(nodeName=name)
            pod["metadata"]["name"] = f"on-{name}"
            assert (await api("POST", f"{CORE}/pods", pod)).status == 201
        ready = {"status": {"phase": "Running"}}
        for name, expected in (("n1", 200), ("n2", 403)):
            path = f"{CORE}/pods/on-{name}"
            changed = await api("PATCH", f"{path}/status", ready, media=MERGE, **KUBELET)
            assert changed.status == expected, changed.body
            eviction = {"metadata": {"name": f"on-{name}"}}
            evicted = await api("POST", f"{path}/eviction?dryRun=All", eviction, **KUBELET)
            assert evicted.status == (201 if expected == 200 else 403), evicted.body
            assert (await api("DELETE", path, **KUBELET)).status == expected
        refused = await api("POST", f"{CORE}/pods", build_pod(nodeName="n1"), **KUBELET)
        assert "can only create mirror pods" in refused.message


async def test_mirror_pods_use_nothing_of_the_api(serving: Any) -> None:
    async with serving(options=restrict()) as api:
        node = (await api("POST", NODES, {"metadata": {"name": "n1"}})).body
        owner = {
            "apiVersion": "v1",
            "kind": "Node",
            "name": "n1",
            "uid": node["metadata"]["uid"],
            "controller": True,
        }
        metadata = {
            "name": "m",
            "annotations": {"kubernetes.io/config.mirror": "x"},
            "ownerReferences": [owner],
        }
        volume = {"name": "v", "secret": {"secretName": "s"}}
        for spec, said in (
            ({"nodeName": "n2"}, "spec.nodeName set to itself"),
            ({"nodeName": "n1", "volumes": [volume]}, "reference secrets"),
        ):
            pod = {**build_pod(**spec), "metadata": metadata}
            refused = await api("POST", f"{CORE}/pods", pod, **KUBELET)
            assert said in refused.message, refused.body
        stolen = {**metadata, "ownerReferences": [{**owner, "uid": "other"}]}
        pod = {**build_pod(nodeName="n1"), "metadata": stolen}
        assert "UID mismatch" in (await api("POST", f"{CORE}/pods", pod, **KUBELET)).message
        pod = {**build_pod(nodeName="n1"), "metadata": metadata}
        assert (await api("POST", f"{CORE}/pods", pod, **KUBELET)).status == 201


async def test_kubelet_gets_tokens_for_its_pods_only(serving: Any) -> None:
    async with serving(options=restrict()) as api:
        await api("POST", f"{CORE}/serviceaccounts", {"metadata": {"name": "robot"}})
        uids = {}
        for name in ("n1", "n2"):
            pod = build_pod(nodeName=name, serviceAccountName="robot")
            pod["metadata"]["name"] = f"on-{name}"
            made = await api("POST", f"{CORE}/pods", pod)
            uids[name] = made.body["metadata"]["uid"]
        path = f"{CORE}/serviceaccounts/robot/token"
        refused = await api("POST", path, {}, **KUBELET)
        assert "node requested token not bound to a pod" in refused.message
        for name, expected in (("n1", 201), ("n2", 403)):
            bound = {"apiVersion": "v1", "kind": "Pod", "name": f"on-{name}", "uid": uids[name]}
            made = await api("POST", path, {"spec": {"boundObjectRef": bound}}, **KUBELET)
            assert made.status == expected, made.body


async def test_kubelet_renews_its_own_lease_only(serving: Any) -> None:
    group = "/apis/coordination.k8s.io/v1/namespaces"
    async with serving(options=restrict()) as api:
        for namespace, name, expected in (
            ("kube-node-lease", "n1", 201),
            ("kube-node-lease", "n2", 403),
            ("default", "n1", 403),
        ):
            path = f"{group}/{namespace}/leases"
            made = await api("POST", path, {"metadata": {"name": name}}, **KUBELET)
            assert made.status == expected, made.body


async def test_pods_follow_the_selector_of_their_namespace(serving: Any) -> None:
    async with serving(options=enable("PodNodeSelector")) as api:
        note = {"scheduler.alpha.kubernetes.io/node-selector": "zone=a, disk=ssd"}
        metadata = {"name": "picky", "annotations": note}
        assert (await api("POST", "/api/v1/namespaces", {"metadata": metadata})).status == 201
        path = "/api/v1/namespaces/picky/pods"
        made = await api("POST", path, build_pod(nodeSelector={"gpu": "yes"}))
        assert made.body["spec"]["nodeSelector"] == {"zone": "a", "disk": "ssd", "gpu": "yes"}
        refused = await api("POST", path, build_pod(nodeSelector={"zone": "b"}))
        assert "conflicts with its namespace node label selector" in refused.message
