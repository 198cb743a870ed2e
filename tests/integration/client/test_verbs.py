"""Collections, scales, unknown fields, and several servers in one process."""

import contextlib
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, Scale
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, ObjectMeta, Struct, replace
from quarterdeck.runtime import Context, Controller, Manager
from quarterdeck.testing.poll import eventually
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import NotFound

CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
BOATS = GVR("example.com", "v1", "boats")


class Deck(Struct, frozen=True, kw_only=True):
    name: str
    level: int = 0


class BoatSpec(Struct, frozen=True, kw_only=True):
    crew: int = 0
    decks: tuple[Deck, ...] = ()


class Boat(Object, frozen=True, kw_only=True):
    """A type that knows less than the server's definition."""

    KIND = KindInfo(group="example.com", version="v1", kind="Boat", plural="boats")
    spec: BoatSpec = BoatSpec()


def definition() -> dict[str, Any]:
    """Boats with colors, cabins, a scale, and whatever else their owners write."""
    text, number = {"type": "string"}, {"type": "integer"}
    deck = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": text, "level": number, "cabins": number, "color": text},
    }
    spec = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {
            "crew": number,
            "color": text,
            "decks": {
                "type": "array",
                "items": deck,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
        },
    }
    status = {"type": "object", "properties": {"crew": number, "selector": text}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    scale = {
        "specReplicasPath": ".spec.crew",
        "statusReplicasPath": ".status.crew",
        "labelSelectorPath": ".status.selector",
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": scale},
    }
    names = {"kind": "Boat", "plural": "boats", "singular": "boat", "listKind": "BoatList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }


BODY: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Boat",
    "metadata": {"name": "b", "namespace": "default"},
    "spec": {
        "crew": 2,
        "color": "red",
        "figurehead": {"kind": "mermaid", "age": 7},
        "decks": [
            {"name": "upper", "level": 1, "cabins": 4, "color": "white"},
            {"name": "lower", "level": 0, "cabins": 9},
        ],
    },
}


async def launch(client: Client) -> None:
    await client.resource(CRDS).create(definition())

    async def created() -> bool:
        await client.resource(BOATS).create(BODY)
        return True

    await eventually(created)


async def test_an_update_keeps_every_field_its_type_does_not_know() -> None:
    async with Cluster() as cluster:
        client = cluster.client
        await launch(client)
        boat = await client.get(Boat, "b", "default")
        upper, lower = boat.spec.decks
        spec = msgspec.structs.replace(
            boat.spec, crew=3, decks=(msgspec.structs.replace(upper, level=2), lower)
        )
        await client.update(replace(boat, spec=spec))
        found = (await client.resource(BOATS).get("b", "default"))["spec"]
        wanted = {**BODY["spec"], "crew": 3}
        wanted["decks"] = [{**BODY["spec"]["decks"][0], "level": 2}, BODY["spec"]["decks"][1]]
        assert found == wanted


async def test_list_entries_keep_what_is_theirs_when_others_come_and_go() -> None:
    async with Cluster() as cluster:
        client = cluster.client
        await launch(client)
        boat = await client.get(Boat, "b", "default")
        _, lower = boat.spec.decks
        decks = (lower, Deck(name="bridge", level=3))
        spec = msgspec.structs.replace(boat.spec, decks=decks)
        await client.update(replace(boat, spec=spec))
        found = (await client.resource(BOATS).get("b", "default"))["spec"]["decks"]
        assert found == [BODY["spec"]["decks"][1], {"name": "bridge", "level": 3}]


async def test_a_reconciler_keeps_unknown_fields_too() -> None:
    async def reconcile(boat: Boat, ctx: Context[Boat]) -> None:
        if boat.spec.crew == 2:
            spec = msgspec.structs.replace(boat.spec, crew=5)
            await ctx.update(replace(boat, spec=spec))

    async with Cluster() as cluster:
        client = cluster.client
        await launch(client)
        manager = Manager(client, events="off", graceful_shutdown_timeout_s=1)
        manager.add(Controller(reconcile=reconcile, for_=Boat, ready=None))
        async with manager.running():

            async def manned() -> bool:
                found = await client.resource(BOATS).get("b", "default")
                return bool(found["spec"] == {**BODY["spec"], "crew": 5})

            await eventually(manned)


async def test_a_scale_changes_replicas_and_nothing_else() -> None:
    async with Cluster() as cluster:
        client = cluster.client
        await launch(client)
        status = {"status": {"crew": 1, "selector": "boat=b"}}
        boats = client.resource(BOATS)
        await boats.subresource("status").patch("b", status, namespace="default")
        assert await client.get_scale(Boat, "b", "default") == Scale(2, 1, "boat=b")
        assert (await client.scale(Boat, "b", "default", replicas=7)).spec_replicas == 7
        assert (await boats.get("b", "default"))["spec"] == {**BODY["spec"], "crew": 7}
        with pytest.raises(NotFound):
            await client.get_scale(ConfigMap, "kube-root-ca.crt", "default")


async def test_a_collection_is_deleted_by_its_labels() -> None:
    async with Cluster() as cluster:
        client = cluster.client
        for number in range(4):
            labels = {"side": "left" if number % 2 else "right"}
            metadata = ObjectMeta(name=f"c{number}", namespace="default", labels=labels)
            await client.create(ConfigMap(metadata=metadata))
        chosen = ListOptions(label_selector="side=left")
        await client.delete_collection(ConfigMap, "default", chosen)
        left = await client.list(ConfigMap, "default", ListOptions(label_selector="side"))
        assert [each.metadata.name for each in left] == ["c0", "c2"]
        configs = client.resource(GVR("", "v1", "configmaps"))
        await configs.delete_collection("default", ListOptions(label_selector="side=right"))
        assert await client.list(ConfigMap, "default", ListOptions(label_selector="side")) == []


async def test_many_clusters_live_in_one_process() -> None:
    """Each has a client and a cache of its own; one operator may write to another's cluster."""
    async with contextlib.AsyncExitStack() as stack:
        clusters = [await stack.enter_async_context(Cluster()) for _ in range(3)]
        hub = clusters[0].client

        def collecting(origin: str) -> Any:
            async def reconcile(config: ConfigMap, ctx: Context[ConfigMap]) -> None:
                if config.metadata.labels.get("role") != "report":
                    return
                metadata = ObjectMeta(name=f"from-{origin}", namespace="default")
                await hub.apply(ConfigMap(metadata=metadata, data=dict(config.data)), manager="c")

            return reconcile

        managers = []
        for number, cluster in enumerate(clusters[1:], 1):
            manager = Manager(
                cluster.client, name=f"m{number}", events="off", graceful_shutdown_timeout_s=1
            )
            manager.add(Controller(reconcile=collecting(f"cluster{number}"), for_=ConfigMap))
            managers.append(await stack.enter_async_context(manager.running()))
            metadata = ObjectMeta(name="same", namespace="default", labels={"role": "report"})
            await cluster.client.create(ConfigMap(metadata=metadata, data={"n": str(number)}))

        async def collected() -> bool:
            found = {c.metadata.name: c.data for c in await hub.list(ConfigMap, "default")}
            return found.get("from-cluster1") == {"n": "1"} and found["from-cluster2"] == {"n": "2"}

        await eventually(collected)
        caches = [manager.informers.ensure(ConfigMap).cache for manager in managers]
        assert all(not any(key.name.startswith("from-") for key in cache) for cache in caches)
