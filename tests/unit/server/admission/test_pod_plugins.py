"""What RuntimeClass, ServiceAccount, AlwaysPullImages and NodeRestriction refuse, and why."""

import random
from typing import Any

import pytest
from tests.unit.server.admission.test_plugins import RESOURCES, account, pod, store_of

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.plugins.always import AlwaysPullImages
from quarterdeck.server.admission.plugins.node_restriction import NodeRestriction
from quarterdeck.server.admission.plugins.runtime_class import RuntimeClass
from quarterdeck.server.admission.plugins.service_account import ServiceAccount
from quarterdeck.server.authentication.user import User
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store
from quarterdeck.wire.status import Forbidden, NotFound

ADMIN = User(name="admin")
KUBELET = User(name="system:node:n1", groups=("system:nodes",))


def attributes(
    resource: str,
    value: Object | None,
    *,
    old: Object | None = None,
    user: User = ADMIN,
    verb: str = "",
    subresource: str = "",
    **more: Any,
) -> AdmissionAttributes:
    name = ((value or old or {}).get("metadata") or {}).get("name", "")
    return AdmissionAttributes(
        verb=verb or ("create" if old is None else "update"),
        resource=RESOURCES[resource],
        subresource=subresource,
        user=user,
        value=value,
        old=old,
        **{"namespace": "g", "name": name, **more},
    )


# --- RuntimeClass

SANDBOX = (
    "runtimeclasses.node.k8s.io",
    {
        "metadata": {"name": "sandbox"},
        "handler": "runsc",
        "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {
            "nodeSelector": {"sandbox": "yes"},
            "tolerations": [{"key": "sandbox", "operator": "Exists"}],
        },
    },
)


async def test_pod_gets_overhead_and_scheduling_of_its_runtime_class() -> None:
    store = await store_of(SANDBOX)
    present = [{"key": "other", "operator": "Exists"}]
    made = pod(runtimeClassName="sandbox", nodeSelector={"disk": "fast"}, tolerations=present)
    RuntimeClass(store).admit(attributes("pods", made))
    assert made["spec"]["overhead"] == {"cpu": "250m"}
    assert made["spec"]["nodeSelector"] == {"disk": "fast", "sandbox": "yes"}
    assert [each["key"] for each in made["spec"]["tolerations"]] == ["other", "sandbox"]
    RuntimeClass(store).validate(attributes("pods", made))
    again = {**made, "spec": dict(made["spec"])}
    RuntimeClass(store).admit(attributes("pods", again))
    assert again == made, "nothing is added twice"
    await store.close()


async def test_runtime_class_without_scheduling_adds_nothing() -> None:
    store = await store_of(
        ("runtimeclasses.node.k8s.io", {"metadata": {"name": "plain"}, "handler": "runc"})
    )
    for made in (pod(), pod(runtimeClassName="plain")):
        before = dict(made["spec"])
        RuntimeClass(store).admit(attributes("pods", made))
        assert made["spec"] == before
    await store.close()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"runtimeClassName": "absent"}, 'pod rejected: RuntimeClass "absent" not found'),
        (
            {"runtimeClassName": "sandbox", "overhead": {"cpu": "1"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            {"runtimeClassName": "sandbox", "nodeSelector": {"sandbox": "no"}},
            "conflict: runtimeClass.scheduling.nodeSelector[sandbox] = yes;"
            " pod.spec.nodeSelector[sandbox] = no",
        ),
        (
            {"overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass",
        ),
    ],
)
async def test_pod_that_contradicts_its_runtime_class_is_refused(spec: Object, words: str) -> None:
    store = await store_of(SANDBOX)
    asked = attributes("pods", pod(**spec))
    with pytest.raises(Forbidden) as raised:
        RuntimeClass(store).admit(asked)
        RuntimeClass(store).validate(asked)
    assert raised.value.message == f'pods "p" is forbidden: {words}'
    changed = attributes("pods", pod(**spec), old=pod())
    RuntimeClass(store).admit(changed)
    RuntimeClass(store).validate(changed)
    await store.close()


# --- ServiceAccount

ENFORCED = {"kubernetes.io/enforce-mountable-secrets": "true"}
MIRROR = {"kubernetes.io/config.mirror": "hash"}


def strict_account() -> tuple[str, Object]:
    resource, value = account(secrets=[{"name": "own"}], imagePullSecrets=[{"name": "pull"}])
    return resource, {**value, "metadata": {**value["metadata"], "annotations": ENFORCED}}


def admit_account(store: Store, value: Object) -> None:
    ServiceAccount(store, random.Random(1)).admit(attributes("pods", value))


def env(secret: str) -> Object:
    reference = {"secretKeyRef": {"name": secret, "key": "k"}}
    return {"name": "c", "env": [{"name": "PLAIN"}, {"name": "VALUE", "valueFrom": reference}]}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "other"}}]},
            'volume with secret.secretName="other" is not allowed because service account default'
            " does not reference that secret",
        ),
        (
            {"containers": [env("other")]},
            'container c with envVar VALUE referencing secret.secretName="other" is not allowed'
            " because service account default does not reference that secret",
        ),
        (
            {"initContainers": [env("other")]},
            'init container c with envVar VALUE referencing secret.secretName="other" is not'
            " allowed because service account default does not reference that secret",
        ),
        (
            {"imagePullSecrets": [{"name": "pull"}, {"name": "other"}]},
            'imagePullSecrets[1].name="other" is not allowed because service account default does'
            " not reference that imagePullSecret",
        ),
    ],
)
async def test_account_may_allow_its_own_secrets_only(spec: Object, words: str) -> None:
    store = await store_of(strict_account())
    with pytest.raises(Forbidden) as raised:
        admit_account(store, pod(**spec))
    assert raised.value.message == f'pods "p" is forbidden: {words}'
    await store.close()


async def test_secrets_that_the_account_names_are_allowed() -> None:
    store = await store_of(strict_account())
    volumes = [{"name": "v", "secret": {"secretName": "own"}}, {"name": "w", "emptyDir": {}}]
    spec = {"volumes": volumes, "containers": [env("own")], "imagePullSecrets": [{"name": "pull"}]}
    made = pod(**spec)
    admit_account(store, made)
    assert made["spec"]["serviceAccountName"] == "default"
    await store.close()


TOKEN_SOURCE = {"serviceAccountToken": {"path": "token"}}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"serviceAccountName": "default"}, "a mirror pod may not reference service accounts"),
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            "a mirror pod may not reference secrets",
        ),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{}, TOKEN_SOURCE]}}]},
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ],
)
async def test_mirror_pod_uses_nothing_of_the_api(spec: Object, words: str) -> None:
    store = await store_of()
    mirror = pod(**spec)
    mirror["metadata"]["annotations"] = MIRROR
    with pytest.raises(Forbidden) as raised:
        admit_account(store, mirror)
    assert raised.value.message == f'pods "p" is forbidden: {words}'
    plain = pod(volumes=[{"name": "v", "hostPath": {"path": "/etc"}}])
    plain["metadata"]["annotations"] = MIRROR
    admit_account(store, plain)
    assert "serviceAccountName" not in plain["spec"]
    await store.close()


# --- AlwaysPullImages


def test_images_are_always_pulled() -> None:
    made = pod(initContainers=[{"name": "i", "imagePullPolicy": "Never"}])
    AlwaysPullImages().admit(attributes("pods", made))
    containers = [*made["spec"]["containers"], *made["spec"]["initContainers"]]
    assert {each["imagePullPolicy"] for each in containers} == {"Always"}
    status = pod()
    AlwaysPullImages().admit(attributes("pods", status, old=pod(), subresource="status"))
    assert status == pod()


# --- NodeRestriction

NODE = ("nodes", {"metadata": {"name": "n1", "uid": "u1"}})
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1", "controller": True}


def mirror(*owners: Object, **spec: Any) -> Object:
    made = pod(nodeName="n1", **spec)
    made["metadata"] |= {"annotations": MIRROR, "ownerReferences": list(owners or (OWNER,))}
    return made


async def refuse(asked: AdmissionAttributes, *objects: tuple[str, Object]) -> str:
    """Why a write of the kubelet of n1 is refused; empty if it is not."""
    store = await store_of(*objects)
    try:
        NodeRestriction(store).admit(asked)
        return ""
    except Forbidden as error:
        return error.message.partition("is forbidden: ")[2]
    finally:
        await store.close()


CAN = 'node "n1" can only create pods with'


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (mirror(), ""),
        (mirror(OWNER, OWNER), f"{CAN} a single owner reference set to itself"),
        (mirror({**OWNER, "name": "n2"}), f"{CAN} an owner reference set to itself"),
        (
            mirror({**OWNER, "controller": False}),
            f"{CAN} a controller owner reference set to itself",
        ),
        (
            mirror({**OWNER, "blockOwnerDeletion": True}),
            'node "n1" must not set blockOwnerDeletion on an owner reference',
        ),
        (mirror({**OWNER, "uid": "u2"}), "node n1 UID mismatch: expected u2 got u1"),
        (
            mirror(serviceAccountName="a"),
            'node "n1" can not create pods that reference a service account',
        ),
        (
            mirror(volumes=[{"name": "v", "configMap": {"name": "c"}}]),
            'node "n1" can not create pods that reference configmaps',
        ),
        (
            mirror(imagePullSecrets=[{"name": "s"}]),
            'node "n1" can not create pods that reference secrets',
        ),
        (
            mirror(volumes=[{"name": "v", "projected": {"sources": [{"clusterTrustBundle": {}}]}}]),
            'node "n1" can not create pods that reference clustertrustbundles',
        ),
        (
            mirror(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]),
            'node "n1" can not create pods that reference persistentvolumeclaims',
        ),
    ],
)
async def test_kubelet_creates_mirror_pods_of_its_own_only(made: Object, words: str) -> None:
    assert await refuse(attributes("pods", made, user=KUBELET), NODE) == words


async def test_kubelet_whose_node_is_absent_creates_no_mirror_pod() -> None:
    with pytest.raises(NotFound, match='"n1" not found'):
        await refuse(attributes("pods", mirror(), user=KUBELET))


@pytest.mark.parametrize(
    ("resource", "members", "words"),
    [
        ("configmaps", {}, ""),
        ("persistentvolumeclaims", {}, "may only update PVC status"),
        ("persistentvolumeclaims", {"subresource": "status"}, ""),
        (
            "csinodes.storage.k8s.io",
            {"name": "n2"},
            "can only access CSINode with the same name as the requesting node",
        ),
        ("csinodes.storage.k8s.io", {"name": "n1"}, ""),
        (
            "pods",
            {"verb": "update"},
            'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
        ),
        (
            "pods",
            {"subresource": "exec"},
            "unexpected pod subresource \"exec\", only 'status' and 'eviction' are allowed",
        ),
        ("nodes", {"verb": "delete", "name": "n1", "value": None}, ""),
    ],
)
async def test_kubelet_writes_what_is_its_own(
    resource: str, members: dict[str, Any], words: str
) -> None:
    value = members.pop("value", {"metadata": {"name": "x"}})
    assert await refuse(attributes(resource, value, user=KUBELET, **members)) == words


async def test_kubelet_changes_no_labels_through_the_status() -> None:
    old, new = pod(nodeName="n1"), pod(nodeName="n1")
    new["metadata"]["labels"] = {"a": "b"}
    asked = attributes("pods", new, old=old, user=KUBELET, subresource="status")
    assert await refuse(asked) == 'node "n1" cannot update labels through pod status'
    same = attributes("pods", old, old=old, user=KUBELET, subresource="status")
    assert await refuse(same) == ""


async def test_user_of_the_group_without_a_node_is_refused() -> None:
    user = User(name="someone", groups=("system:nodes",))
    words = 'could not determine node from user "someone"'
    assert await refuse(attributes("pods", pod(), user=user)) == words


@pytest.mark.parametrize(
    ("label", "is_allowed"),
    [
        ("plain", True),
        ("example.org/role", True),
        ("kubernetes.io/arch", True),
        ("kubelet.kubernetes.io/role", True),
        ("node.kubernetes.io/role", True),
        ("sub.k8s.io/role", False),
        ("node-restriction.kubernetes.io/role", False),
    ],
)
async def test_kubelet_sets_labels_of_kubelets_only(label: str, *, is_allowed: bool) -> None:
    node = {"metadata": {"name": "n1", "labels": {label: "x"}}}
    words = await refuse(attributes("nodes", node, user=KUBELET))
    assert (words == "") == is_allowed
    changed = attributes("nodes", node, old={"metadata": {"name": "n1"}}, user=KUBELET)
    expected = "" if is_allowed else f"is not allowed to modify labels: {label}"
    assert await refuse(changed) == expected


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ({}, "node requested token not bound to a pod"),
        ({"uid": ""}, "node requested token with a pod binding without a uid"),
        ({"uid": "u9"}, "the UID in the bound object reference (u9) does not match the UID in"),
        ({"uid": "u1"}, ""),
    ],
)
async def test_kubelet_asks_for_tokens_of_its_pods(reference: Object, words: str) -> None:
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "p", **reference} if reference else {}
    request = {"metadata": {"name": "default"}, "spec": {"boundObjectRef": bound}}
    asked = attributes("serviceaccounts", request, user=KUBELET, subresource="token")
    stored = pod(nodeName="n1")
    stored["metadata"] |= {"uid": "u1", "namespace": "g"}
    assert (await refuse(asked, ("pods", stored))).startswith(words)


async def test_kubelet_asks_nothing_for_pods_that_are_gone() -> None:
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "gone", "uid": "u1"}
    request = {"metadata": {"name": "default"}, "spec": {"boundObjectRef": bound}}
    with pytest.raises(NotFound, match='"gone" not found'):
        await refuse(attributes("serviceaccounts", request, user=KUBELET, subresource="token"))
    with pytest.raises(NotFound, match='"p" not found'):
        await refuse(attributes("pods", pod(), user=KUBELET, subresource="eviction"))
