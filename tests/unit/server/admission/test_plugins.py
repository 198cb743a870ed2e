"""What the default admission plugins add to objects, and what they refuse."""

import copy
import ipaddress
import json
import random
from typing import Any

import pytest

from quarterdeck.server.admission.assembly import build_plugins, choose_plugins
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.plugin import Plugin
from quarterdeck.server.admission.plugins.service_addresses import (
    DEFAULT_NETWORK,
    ServiceAddresses,
    parse_network,
)
from quarterdeck.server.authentication.user import User
from quarterdeck.server.kinds import build_builtin_resources
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store, StoreKey, open_memory
from quarterdeck.wire.status import Forbidden, Invalid

RESOURCES = {each.gvr.group_resource: each for each in build_builtin_resources()}
USER = User(name="admin")


async def store_of(*objects: tuple[str, Object]) -> Store:
    store = open_memory()
    for resource, value in objects:
        await put(store, resource, value)
    return store


async def put(store: Store, resource: str, value: Object) -> None:
    metadata = value["metadata"]
    key = StoreKey(resource, metadata.get("namespace", ""), metadata["name"])
    await store.put(key, lambda revision: json.dumps(value).encode())


def attributes(resource: str, value: Object, *, old: Object | None = None) -> AdmissionAttributes:
    return AdmissionAttributes(
        verb="create" if old is None else "update",
        resource=RESOURCES[resource],
        namespace="g",
        name=value["metadata"].get("name", ""),
        user=USER,
        value=value,
        old=old,
    )


def _build_plugins(store: Store, rng: random.Random) -> tuple[Plugin, ...]:
    """The plugins that look at objects; namespaces are not stored here."""
    chosen = choose_plugins((), ("NamespaceLifecycle",))
    return (*build_plugins(chosen, store, rng), ServiceAddresses(store))


def admit(store: Store, resource: str, value: Object) -> Object:
    for plugin in _build_plugins(store, random.Random(1)):
        plugin.admit(attributes(resource, value))
    return value


def account(**members: Any) -> tuple[str, Object]:
    return "serviceaccounts", {"metadata": {"name": "default", "namespace": "g"}, **members}


def pod(**spec: Any) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], **spec}}


async def test_a_pod_without_its_account_is_refused() -> None:
    store = await store_of()
    text = (
        'pods "p" is forbidden: error looking up service account g/default: serviceaccount'
        ' "default" not found'
    )
    with pytest.raises(Forbidden) as caught:
        admit(store, "pods", pod())
    assert caught.value.message == text
    await store.close()


@pytest.mark.parametrize(
    ("of_account", "of_pod", "mounted"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
async def test_the_pod_decides_about_its_token_then_the_account(
    of_account: bool | None, of_pod: bool | None, mounted: bool
) -> None:
    default = {} if of_account is None else {"automountServiceAccountToken": of_account}
    store = await store_of(account(**default))
    own = {} if of_pod is None else {"automountServiceAccountToken": of_pod}
    made = admit(store, "pods", pod(**own))
    assert ("volumeMounts" in made["spec"]["containers"][0]) is mounted
    assert ("volumes" in made["spec"]) is mounted
    await store.close()


async def test_pull_secrets_come_from_the_account() -> None:
    store = await store_of(account(imagePullSecrets=[{"name": "s"}]))
    assert admit(store, "pods", pod())["spec"]["imagePullSecrets"] == [{"name": "s"}]
    await store.close()


async def test_tolerations_are_added_where_none_cover_the_trouble() -> None:
    store = await store_of(account())
    given = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]
    made = admit(store, "pods", pod(tolerations=given))
    keys = [each["key"] for each in made["spec"]["tolerations"]]
    assert keys == ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
    everything = admit(store, "pods", pod(tolerations=[{"operator": "Exists"}]))
    assert len(everything["spec"]["tolerations"]) == 1
    await store.close()


async def test_priorities_are_looked_up() -> None:
    classes = "priorityclasses.scheduling.k8s.io"
    high = {"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"}
    usual = {"metadata": {"name": "usual"}, "value": 3, "globalDefault": True}
    store = await store_of(account(), (classes, high), (classes, usual))
    named = admit(store, "pods", pod(priorityClassName="high"))["spec"]
    assert (named["priority"], named["preemptionPolicy"]) == (7, "Never")
    default = admit(store, "pods", pod())["spec"]
    assert (default["priority"], default["priorityClassName"]) == (3, "usual")
    system = admit(store, "pods", pod(priorityClassName="system-node-critical"))["spec"]
    assert system["priority"] == 2_000_001_000
    with pytest.raises(Forbidden, match="no PriorityClass with name nope was found"):
        admit(store, "pods", pod(priorityClassName="nope"))
    with pytest.raises(Forbidden, match=r"the integer value of priority \(1\) must not be"):
        admit(store, "pods", pod(priorityClassName="high", priority=1))
    await store.close()


async def test_claims_are_protected_and_get_the_default_class() -> None:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    store = await store_of(
        (
            "storageclasses.storage.k8s.io",
            {"metadata": {"name": "fast", "annotations": annotations}},
        )
    )
    claim = admit(store, "persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": {}})
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert claim["spec"]["storageClassName"] == "fast"
    without: Object = {"metadata": {"name": "c"}, "spec": {"storageClassName": ""}}
    assert admit(store, "persistentvolumeclaims", without)["spec"]["storageClassName"] == ""
    await store.close()


def service(name: str, **spec: Any) -> Object:
    ports = [{"port": 80, "protocol": "TCP"}]
    return {
        "metadata": {"name": name, "namespace": "g"},
        "spec": {"type": "ClusterIP", "ports": ports, **spec},
    }


async def test_addresses_are_the_same_in_every_run_and_never_shared() -> None:
    first, second = await store_of(), await store_of()
    given: list[str] = []
    for store in (first, second):
        addresses = ServiceAddresses(store)
        for index in range(50):
            made = service(f"s{index}")
            addresses.admit(attributes("services", made))
            given.append(made["spec"]["clusterIP"])
            await put(store, "services", made)
    assert given[:50] == given[50:]
    assert len(set(given[:50])) == 50
    assert all(ipaddress.ip_address(address) in DEFAULT_NETWORK for address in given)
    await first.close()
    await second.close()


async def test_an_address_is_free_again_when_its_service_is_gone() -> None:
    taken = service("a", clusterIP="10.96.0.50", clusterIPs=["10.96.0.50"])
    store = await store_of(("services", taken))
    addresses = ServiceAddresses(store)
    request = service("b", clusterIP="10.96.0.50")
    with pytest.raises(Invalid, match="provided IP is already allocated"):
        addresses.admit(attributes("services", request))
    await store.delete(StoreKey("services", "g", "a"), lambda revision: b"{}")
    addresses.admit(attributes("services", request))
    assert request["spec"]["clusterIPs"] == ["10.96.0.50"]
    await store.close()


@pytest.mark.parametrize(
    ("address", "text"), [("nope", "must be a valid IP address"), ("192.168.0.1", "not in")]
)
async def test_a_foreign_address_is_refused(address: str, text: str) -> None:
    store = await store_of()
    with pytest.raises(Invalid, match=text):
        ServiceAddresses(store).admit(attributes("services", service("a", clusterIP=address)))
    await store.close()


async def test_headless_and_external_services_have_no_address() -> None:
    store = await store_of()
    addresses = ServiceAddresses(store)
    headless = service("h", clusterIP="None")
    external = service("e", type="ExternalName", externalName="x.example.com")
    for each in (headless, external):
        addresses.admit(attributes("services", each))
    assert headless["spec"]["clusterIPs"] == ["None"]
    assert "clusterIP" not in external["spec"]
    await store.close()


async def test_node_ports_are_given_out_and_kept() -> None:
    store = await store_of()
    addresses = ServiceAddresses(store)
    made = service("n", type="NodePort")
    addresses.admit(attributes("services", made))
    port = made["spec"]["ports"][0]["nodePort"]
    assert 30000 <= port < 32768
    await put(store, "services", made)
    changed = service("n", type="NodePort")
    addresses.admit(attributes("services", changed, old=made))
    assert changed["spec"]["ports"][0]["nodePort"] == port
    other = service("m", type="NodePort", ports=[{"port": 1, "nodePort": port}])
    with pytest.raises(Invalid, match="provided port is already allocated"):
        addresses.admit(attributes("services", other))
    await store.close()


async def test_service_addresses_come_from_the_given_network() -> None:
    store = await store_of()
    addresses = ServiceAddresses(store, parse_network("10.0.0.0/29,fd00::/112"))
    made = [service(name) for name in "abc"]
    for each in made:
        addresses.admit(attributes("services", each))
        await put(store, "services", each)
    given = sorted(each["spec"]["clusterIP"] for each in made)
    assert given == ["10.0.0.4", "10.0.0.5", "10.0.0.6"]
    with pytest.raises(Invalid, match="range is full"):
        addresses.admit(attributes("services", service("d")))
    with pytest.raises(Invalid, match="not in the valid range"):
        addresses.admit(attributes("services", service("e", clusterIP="10.96.0.50")))
    await store.close()


async def test_an_address_is_reserved_while_its_write_is_decided() -> None:
    store = await store_of()
    addresses = ServiceAddresses(store, parse_network("10.0.0.0/29"))
    for index in range(20):  # dry runs, or writes that are refused
        addresses.admit(attributes("services", service(f"s{index}")))
    unnamed = {"generateName": "web-", "namespace": "g"}
    writes = [
        attributes("services", service("") | {"metadata": dict(unnamed), "spec": {"ports": []}})
        for _ in range(3)
    ]
    for write in writes:
        addresses.admit(write)
        addresses.admit(write)  # as in the second round of admission
    given = {write.value["spec"]["clusterIP"] for write in writes if write.value}
    assert given == {"10.0.0.4", "10.0.0.5", "10.0.0.6"}
    with pytest.raises(Invalid, match="range is full"):
        addresses.admit(attributes("services", service("d")))
    writes.clear()
    del write
    addresses.admit(attributes("services", service("d")))
    await store.close()


async def test_writes_of_one_service_share_its_addresses() -> None:
    store = await store_of()
    addresses = ServiceAddresses(store)
    ports = [{"port": 80, "nodePort": 30001}]
    spec = {"type": "NodePort", "clusterIP": str(DEFAULT_NETWORK[77]), "ports": ports}
    first, again, other = (
        attributes("services", service(name) | {"spec": copy.deepcopy(spec)}) for name in "aab"
    )
    addresses.admit(first)
    addresses.admit(again)
    with pytest.raises(Invalid, match="provided IP is already allocated"):
        addresses.admit(other)
    del again  # refused, while the first one waits for the disk
    with pytest.raises(Invalid, match="provided IP is already allocated"):
        addresses.admit(other)
    del first
    addresses.admit(other)
    await store.close()


@pytest.mark.parametrize("text", ["", "10.0.0.0", "10.0.0.1/24", "10.0.0.0/30", "here"])
def test_network_of_services_must_be_one(text: str) -> None:
    with pytest.raises(ValueError, match="invalid --service-cluster-ip-range"):
        parse_network(text)
