"""Untyped clients, and intercepts in front of every verb."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, ClusterConfig, Intercept, InterceptingApi
from quarterdeck.client.intercept import Call
from quarterdeck.client.interfaces import PatchType
from quarterdeck.client.untyped import ResourceClient
from quarterdeck.meta.identity import GVR
from quarterdeck.wire.frame import EventType, encode_event
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import DeleteOptions, ListOptions
from quarterdeck.wire.status import Expired, NotFound, ServiceUnavailable

CONFIG_MAPS = GVR("", "v1", "configmaps")


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"test": "yes"}},
        "data": data,
    }


def client_of(cluster: Cluster) -> Client:
    return Client(ClusterConfig(server=cluster.url))


async def test_an_object_goes_through_all_untyped_verbs() -> None:
    async with Cluster() as cluster, client_of(cluster) as client:
        maps = client.resource(CONFIG_MAPS)
        made = await maps.create(config_map("a", x="1"))
        changed = await maps.update({**made, "data": {"x": "2"}})
        patched = await maps.patch(
            "a",
            [{"op": "replace", "path": "/data/x", "value": "3"}],
            namespace="default",
            kind=PatchType.JSON,
        )
        assert (changed["data"], patched["data"]) == ({"x": "2"}, {"x": "3"})
        tried = await maps.apply(config_map("a", y="4"), manager="me", dry_run=True)
        assert tried["data"] == {"x": "3", "y": "4"}
        assert (await maps.get("a", "default"))["data"] == {"x": "3"}
        await maps.create(config_map("b"))
        selection = ListOptions(label_selector="test=yes", limit=1)
        assert [each["metadata"]["name"] for each in await maps.list("default", selection)] == [
            "a",
            "b",
        ]
        await maps.delete("a", "default", DeleteOptions(propagation_policy="Background"))
        await maps.delete_collection("default", ListOptions(label_selector="test=yes"))
        assert await maps.list("default", selection) == []


async def test_an_error_in_a_watch_is_raised() -> None:
    async def expired(call: Call) -> AsyncIterator[bytes]:
        async def lines() -> AsyncIterator[bytes]:
            yield encode_event(EventType.ADDED, b'{"metadata":{"name":"a"}}')
            yield encode_event(EventType.ERROR, Expired("too old").encode())

        return lines()

    async with Cluster() as cluster, client_of(cluster) as client:
        api = InterceptingApi(client.raw, [Intercept("watch", expired)])
        async with ResourceClient(api, CONFIG_MAPS).watch("default") as events:
            type_, document = await anext(events)
            assert (type_, document["metadata"]["name"]) == (EventType.ADDED, "a")
            with pytest.raises(Expired, match="too old"):
                await anext(events)


@pytest.mark.parametrize(
    "verb",
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"],
)
async def test_each_verb_can_be_replaced_once_and_then_passes(verb: str) -> None:
    async def broken(call: Call) -> None:
        raise ServiceUnavailable(f"no {call.verb} of {call.path.resource}")

    async with Cluster() as cluster, client_of(cluster) as client:
        other = Intercept(verb, broken, resource="secrets")
        once = Intercept(verb, broken, resource="configmaps", times=1)
        maps = ResourceClient(InterceptingApi(client.raw, [other, once]), CONFIG_MAPS)
        made = await client.resource(CONFIG_MAPS).create(config_map("a"))
        with pytest.raises(ServiceUnavailable, match=f"no {verb} of configmaps"):
            await call(maps, verb, made)
        await call(maps, verb, made)
        assert (once.seen, other.seen) == (1, 0)


async def call(maps: ResourceClient, verb: str, made: dict[str, Any]) -> None:
    match verb:
        case "get":
            await maps.get("a", "default")
        case "list":
            await maps.list("default")
        case "watch":
            async with maps.watch("default"):
                pass
        case "create":
            await maps.create(config_map("b"))
        case "update":
            await maps.update(made)
        case "patch":
            await maps.patch("a", {}, namespace="default")
        case "delete":
            await maps.delete("a", "default")
        case _:
            await maps.delete_collection("default")


async def test_a_replacement_can_let_the_call_through_and_lose_the_answer() -> None:
    async def lost(call: Call) -> None:
        await call.proceed()
        raise ServiceUnavailable("the answer is lost")

    async with Cluster() as cluster, client_of(cluster) as client:
        maps = client.resource(CONFIG_MAPS)
        await maps.create(config_map("a"))
        api = InterceptingApi(client.raw, [Intercept("delete", lost)])
        with pytest.raises(ServiceUnavailable):
            await api.delete(ResourcePath("", "v1", "configmaps", "default", "a"))
        with pytest.raises(NotFound):
            await maps.get("a", "default")
