"""Watches while definitions change and objects go: what watchers see last.

Each test is what a real kube-apiserver 1.32 was seen to do.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "lamps.watch.example.com"
DEFINITION = f"{DEFINITIONS}/{NAME}"
ALL_LAMPS = "/apis/watch.example.com/v1/lamps"
LAMPS = "/apis/watch.example.com/v1/namespaces/default/lamps"
MERGE = "application/merge-patch+json"
HOLD = "example.com/hold"


def lamps(**properties: Any) -> dict[str, Any]:
    """A definition whose objects have the given properties in their spec."""
    spec = {"type": "object", "properties": properties}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "watch.example.com",
            "scope": "Namespaced",
            "names": {"plural": "lamps", "kind": "Lamp"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


class Api:
    """Requests to a cluster that has the definition."""

    def __init__(self, url: str, client: http.Client) -> None:
        self._url = url
        self._client = client

    async def call(
        self, method: str, path: str, body: Any = None, media: str = "application/json"
    ) -> tuple[int, Any]:
        response = await self.open(method, path, body, media)
        text = await response.read()
        is_json = (response.headers.get("content-type") or "").startswith("application/json")
        return response.status, kit_json.decode(text) if is_json else text

    async def open(
        self, method: str, path: str, body: Any = None, media: str = "application/json"
    ) -> http.ClientResponse:
        """The response before its body was read: the stream of a watch."""
        return await self._client.request(
            method,
            self._url + path,
            headers=[("content-type", media)],
            body=None if body is None else kit_json.encode(body),
        )

    async def create(self, name: str, **metadata: Any) -> dict[str, Any]:
        value = {"apiVersion": "watch.example.com/v1", "kind": "Lamp", "spec": {}}
        status, made = await self.call(
            "POST", LAMPS, value | {"metadata": {"name": name, **metadata}}
        )
        assert status == 201
        return dict(made)

    async def get_version(self) -> str:
        _, listed = await self.call("GET", LAMPS)
        return str(listed["metadata"]["resourceVersion"])


@asynccontextmanager
async def serve_lamps() -> AsyncIterator[Api]:
    async with Cluster() as cluster, http.Client() as client:
        api = Api(cluster.url, client)
        status, _ = await api.call("POST", DEFINITIONS, lamps())
        assert status == 201
        yield api


def parse(stream: bytes) -> list[dict[str, Any]]:
    return [dict(kit_json.decode(line)) for line in stream.splitlines()]


def summarize(stream: bytes) -> list[tuple[Any, ...]]:
    """Type, name and finalizers of each event."""
    return [
        (each["type"], metadata["name"], metadata.get("finalizers"))
        for each in parse(stream)
        for metadata in [each["object"]["metadata"]]
    ]


async def test_a_watch_of_a_kind_that_goes_gets_its_last_events_and_ends() -> None:
    async with serve_lamps() as api:
        for name in ("a", "b", "c"):
            await api.create(name, finalizers=[HOLD] if name == "b" else [])
        version = await api.get_version()
        streams = [
            await api.open("GET", f"{path}watch=1&resourceVersion={version}")
            for path in (f"{LAMPS}?", f"{ALL_LAMPS}?", f"{LAMPS}?fieldSelector=metadata.name%3Db&")
        ]
        idle = await api.open(
            "GET", f"{LAMPS}?watch=1&fieldSelector=metadata.name%3Dz&resourceVersion={version}"
        )
        assert (await api.call("DELETE", DEFINITION))[0] == 200
        late = await api.open("GET", f"{LAMPS}?watch=1&resourceVersion={version}")
        without = {"metadata": {"finalizers": None, "labels": {"seen": "never"}}}
        assert (await api.call("PATCH", f"{LAMPS}/b", without, MERGE))[0] == 200
        expected = [
            ("DELETED", "a", None),
            ("MODIFIED", "b", [HOLD]),
            ("DELETED", "c", None),
            ("DELETED", "b", [HOLD]),
        ]
        everything, everywhere, only_b = [await stream.read() for stream in streams]
        assert summarize(everything) == summarize(everywhere) == expected
        assert summarize(await late.read()) == expected
        assert summarize(only_b) == [each for each in expected if each[1] == "b"]
        assert await idle.read() == b""
        for path in (LAMPS, f"{LAMPS}/a", f"{LAMPS}?watch=1&resourceVersion={version}"):
            assert await api.call("GET", path) == (404, b"404 page not found\n")


async def test_a_definition_that_goes_says_how_far_its_deletion_is() -> None:
    async with serve_lamps() as api:
        await api.create("held", finalizers=[HOLD])
        _, listed = await api.call("GET", DEFINITIONS)
        version = listed["metadata"]["resourceVersion"]
        stream = await api.open("GET", f"{LAMPS}?watch=1&resourceVersion={version}")
        assert (await api.call("DELETE", DEFINITION))[0] == 200
        status, refused = await api.call("POST", LAMPS, {"kind": "Nonsense"})
        assert (status, refused["details"]) == (
            405,
            {"group": "watch.example.com", "kind": "lamps"},
        )
        await api.call("PATCH", f"{LAMPS}/held", {"metadata": {"finalizers": None}}, MERGE)
        await stream.read()  # the definition is gone when this ends
        stream = await api.open(
            "GET", f"{DEFINITIONS}?watch=1&timeoutSeconds=1&resourceVersion={version}"
        )
        events = [
            (each["type"], conditions[-1]["reason"], each["object"]["metadata"]["finalizers"])
            for each in parse(await stream.read())
            for conditions in [each["object"]["status"]["conditions"]]
        ]
        cleanup = ["customresourcecleanup.apiextensions.k8s.io"]
        assert events == [
            ("MODIFIED", "InstanceDeletionPending", cleanup),
            ("MODIFIED", "InstanceDeletionInProgress", cleanup),
            ("DELETED", "InstanceDeletionInProgress", cleanup),
        ]


async def test_a_watch_from_before_a_definition_was_made_again_has_expired() -> None:
    async with serve_lamps() as api:
        await api.create("a")
        await api.create("b")
        _, page = await api.call("GET", f"{LAMPS}?limit=1")
        version = page["metadata"]["resourceVersion"]
        stream = await api.open("GET", f"{LAMPS}?watch=1&resourceVersion={version}")
        await api.call("DELETE", DEFINITION)
        await stream.read()
        assert (await api.call("POST", DEFINITIONS, lamps()))[0] == 201
        since = await api.get_version()
        await api.create("c")
        stream = await api.open("GET", f"{LAMPS}?watch=1&resourceVersion={version}")
        [error] = parse(await stream.read())
        assert (error["type"], error["object"]["code"]) == ("ERROR", 410)
        assert error["object"]["reason"] == "Expired"
        assert error["object"]["message"] == f"too old resource version: {version} ({since})"
        for query, expected in (
            (f"resourceVersion={version}&resourceVersionMatch=Exact", ["a", "b"]),
            (f"limit=1&continue={page['metadata']['continue']}", ["b"]),
            (f"resourceVersion={version}", ["c"]),
        ):
            _, listed = await api.call("GET", f"{LAMPS}?{query}")
            assert [each["metadata"]["name"] for each in listed["items"]] == expected
        stream = await api.open("GET", f"{LAMPS}?watch=1&timeoutSeconds=1&resourceVersion={since}")
        assert summarize(await stream.read()) == [("ADDED", "c", None)]


async def test_a_new_schema_ends_the_watches_of_its_kind_and_they_list_again() -> None:
    """Whoever watches on would miss the new fields, and new defaults of objects that are there."""
    async with serve_lamps() as api:
        version = (await api.create("a"))["metadata"]["resourceVersion"]
        stream = await api.open("GET", f"{LAMPS}?watch=1&resourceVersion={version}")
        label = {"metadata": {"labels": {"only": "metadata"}}}
        assert (await api.call("PATCH", DEFINITION, label, MERGE))[0] == 200
        await api.create("b")
        spec = lamps(watts={"type": "integer", "default": 5})["spec"]
        assert (await api.call("PATCH", DEFINITION, {"spec": spec}, MERGE))[0] == 200
        assert summarize(await stream.read()) == [("ADDED", "b", None)]
        stream = await api.open("GET", f"{LAMPS}?watch=1&resourceVersion={version}")
        [error] = parse(await stream.read())
        assert error["object"]["reason"] == "Expired"
        _, listed = await api.call("GET", LAMPS)
        assert [each["spec"] for each in listed["items"]] == [{"watts": 5}, {"watts": 5}]


async def test_the_last_event_of_an_object_shows_it_as_it_was_stored() -> None:
    """The patch that removes the last finalizer ends the object; nobody saw its changes."""
    maps = "/api/v1/namespaces/default/configmaps"
    async with Cluster() as cluster, http.Client() as client:
        api = Api(cluster.url, client)
        metadata = {"name": "m", "finalizers": [HOLD]}
        _, made = await api.call("POST", maps, {"metadata": metadata, "data": {"a": "1"}})
        version = made["metadata"]["resourceVersion"]
        await api.call("DELETE", f"{maps}/m")
        patch = {"metadata": {"finalizers": None}, "data": {"a": "2"}}
        assert (await api.call("PATCH", f"{maps}/m", patch, MERGE))[0] == 200
        query = f"watch=1&timeoutSeconds=1&resourceVersion={version}"
        # the namespace gets a map of its own, sooner or later
        stream = await api.open("GET", f"{maps}?{query}&fieldSelector=metadata.name%3Dm")
        marked, gone = parse(await stream.read())
        assert (marked["type"], gone["type"]) == ("MODIFIED", "DELETED")
        last = gone["object"]
        del last["metadata"]["resourceVersion"], marked["object"]["metadata"]["resourceVersion"]
        assert last == marked["object"]
        assert (last["data"], last["metadata"]["finalizers"]) == ({"a": "1"}, [HOLD])


async def test_watchers_see_the_mark_of_a_pod_that_ends_at_once() -> None:
    pods = "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "default"}
    async with Cluster() as cluster, http.Client() as client:
        api = Api(cluster.url, client)
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        await api.call("POST", accounts, {"metadata": {"name": "default"}})
        _, made = await api.call("POST", pods, {"metadata": {"name": "p"}, "spec": spec})
        version = made["metadata"]["resourceVersion"]
        assert (await api.call("DELETE", f"{pods}/p?dryRun=All"))[0] == 200
        status, shown = await api.call("DELETE", f"{pods}/p")
        assert (status, shown["metadata"]["deletionGracePeriodSeconds"]) == (200, 0)
        stream = await api.open("GET", f"{pods}?watch=1&timeoutSeconds=1&resourceVersion={version}")
        marked, gone = parse(await stream.read())
        assert (marked["type"], gone["type"]) == ("MODIFIED", "DELETED")
        for each in (marked, gone):
            metadata = each["object"]["metadata"]
            assert metadata["deletionTimestamp"] == shown["metadata"]["deletionTimestamp"]
            assert metadata["deletionGracePeriodSeconds"] == 0
