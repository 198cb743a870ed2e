"""Small requests that ask for large objects."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.meta.schema import Node
from quarterdeck.meta.structural import compile_schema
from quarterdeck.meta.structural.admit import MAX_DEFAULT_BYTES, DefaultsTooLarge
from quarterdeck.server.options import ServerOptions

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
MAPS = "/api/v1/namespaces/default/configmaps"


def definition(spec: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }


def list_of_items(default: object) -> dict[str, Any]:
    item = {"type": "object", "properties": {"text": {"type": "string", "default": default}}}
    items = {"type": "array", "items": item}
    return {"type": "object", "properties": {"items": items}}


class Api:
    """The server as a hostile client sees it."""

    def __init__(self, url: str, client: http.Client) -> None:
        self._url, self._client = url, client

    async def send(
        self, method: str, path: str, body: object, media: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        response = await self._client.request(
            method,
            self._url + path,
            headers=[("content-type", media)],
            body=kit_json.encode(body),
        )
        return response.status, kit_json.decode(await response.read())


@asynccontextmanager
async def serving(options: ServerOptions | None = None) -> AsyncIterator[Api]:
    async with Cluster(options=options) as cluster, http.Client() as client:
        yield Api(cluster.url, client)


async def test_defaults_of_many_items_are_bounded() -> None:
    async with serving() as api:
        status, _ = await api.send("POST", DEFINITIONS, definition(list_of_items("x" * 10_000)))
        assert status == 201
        body: dict[str, Any] = {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "a"},
            "spec": {"items": [{}] * 2000},
        }
        status, answer = await api.send("POST", WIDGETS, body)
        assert (status, answer["reason"]) == (413, "RequestEntityTooLarge")
        assert str(MAX_DEFAULT_BYTES) in answer["message"]
        body["spec"] = {"items": [{}] * 20}
        status, answer = await api.send("POST", WIDGETS, body)
        assert (status, len(answer["spec"]["items"][19]["text"])) == (201, 10_000)
        patch: dict[str, Any] = {"spec": {"items": [{}] * 2000}}
        status, _ = await api.send(
            "PATCH", f"{WIDGETS}/a", patch, media="application/merge-patch+json"
        )
        assert status == 413


async def test_default_that_fills_itself_is_refused_with_its_definition() -> None:
    text = {"type": "string", "default": "x" * 1000}
    item = {"type": "object", "default": {}, "properties": {"text": text}}
    items = {"type": "array", "items": item, "default": [{}] * 20_000}
    async with serving() as api:
        spec = {"type": "object", "properties": {"items": items}}
        status, answer = await api.send("POST", DEFINITIONS, definition(spec))
        assert status == 422
        assert "defaults of the object are larger" in answer["message"]
        status, _ = await api.send("POST", MAPS, {"metadata": {"name": "still-there"}})
        assert status == 201


async def test_merged_object_is_bounded_before_it_is_stored() -> None:
    async with serving(ServerOptions(max_object_bytes=100_000)) as api:
        await api.send("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v" * 60_000}})
        media = "application/merge-patch+json"
        path = f"{MAPS}/a"
        status, answer = await api.send("PATCH", path, {"data": {"l": "v" * 60_000}}, media=media)
        assert (status, answer["reason"]) == (413, "RequestEntityTooLarge")
        status, answer = await api.send("PATCH", path, {"data": {"l": "v"}}, media=media)
        assert (status, answer["data"]["l"]) == (200, "v")
        large = {"metadata": {"name": "b"}, "data": {"k": "v" * 120_000}}
        assert (await api.send("POST", MAPS, large))[0] == 413


def test_budget_is_that_of_one_object() -> None:
    text = Node(type="string", default="x" * 1_000_000)
    schema = compile_schema(Node(type="object", properties={"a": text}), is_root=False)
    for _ in range(20):
        value: dict[str, Any] = {}
        schema.default(value)
        assert len(value["a"]) == 1_000_000


def test_budget_covers_scalars() -> None:
    item = Node(type="object", properties={"a": Node(type="string", default="x" * 50)})
    node = Node(type="object", properties={"items": Node(type="array", items=item)})
    schema = compile_schema(node, is_root=False)
    with pytest.raises(DefaultsTooLarge):
        schema.default({"items": [{} for _ in range(100_000)]})
