"""Custom resources in several versions, and under a schema that changed."""

from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


async def ask(
    cluster: Cluster, method: str, path: str, body: Any = None, media: str = "application/json"
) -> tuple[int, Any, list[str]]:
    async with http.Client() as client:
        response = await client.request(
            method,
            cluster.url + path,
            headers=[("Content-Type", media)],
            body=None if body is None else kit_json.encode(body),
        )
        content = await response.read()
        warnings = [value for name, value in response.headers.items() if name.lower() == "warning"]
        is_json = content.startswith(b"{")
        return response.status, kit_json.decode(content) if is_json else content, warnings


def version(name: str, *, storage: bool = False, **spec: Any) -> dict[str, Any]:
    properties = {"spec": {"type": "object", "properties": spec}}
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }


def definition(*versions: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": list(versions),
        },
    }


def gadgets(name: str) -> str:
    return f"/apis/example.com/{name}/namespaces/default/gadgets"


def gadget(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"example.com/{name}",
        "kind": "Gadget",
        "metadata": {"name": "g"},
        "spec": spec,
    }


NUMBER = {"type": "integer"}
TEXT = {"type": "string"}


async def test_objects_are_pruned_by_the_schema_of_the_stored_version() -> None:
    first = version("v1", storage=True, x=NUMBER, a={**TEXT, "default": "A"})
    second = version("v2", x=NUMBER, b={**TEXT, "default": "B"})
    async with Cluster() as cluster:
        await ask(cluster, "POST", DEFINITIONS, definition(first, second))
        status, made, _ = await ask(cluster, "POST", gadgets("v2"), gadget("v2", x=1))
        assert (status, made["apiVersion"], made["spec"]) == (
            201,
            "example.com/v2",
            {"x": 1},
        )
        for name, spec in (("v1", {"a": "A", "x": 1}), ("v2", {"x": 1})):
            _, read, _ = await ask(cluster, "GET", f"{gadgets(name)}/g")
            assert (read["apiVersion"], read["spec"]) == (f"example.com/{name}", spec)
        dry = f"{gadgets('v2')}?dryRun=All"
        _, shown, _ = await ask(
            cluster, "POST", dry, gadget("v2", x=2, b="b") | {"metadata": {"name": "h"}}
        )
        assert shown["spec"] == {"x": 2}


async def test_manager_applies_through_two_versions() -> None:
    versions = (version("v1", storage=True, x=NUMBER, y=NUMBER), version("v2", x=NUMBER, y=NUMBER))
    async with Cluster() as cluster:
        await ask(cluster, "POST", DEFINITIONS, definition(*versions))
        for name, fields in (("v2", {"x": 1, "y": 1}), ("v1", {"x": 2})):
            path = f"{gadgets(name)}/g?fieldManager=m1"
            status, answer, _ = await ask(cluster, "PATCH", path, gadget(name, **fields), APPLY)
            assert status in (200, 201), answer
        assert (answer["apiVersion"], answer["spec"]) == ("example.com/v1", {"x": 2})


async def test_fields_that_left_the_schema_are_not_read() -> None:
    async with Cluster() as cluster:
        await ask(
            cluster,
            "POST",
            DEFINITIONS,
            definition(version("v1", storage=True, x=NUMBER, old=TEXT)),
        )
        await ask(cluster, "POST", gadgets("v1"), gadget("v1", x=1, old="o"))
        changed = {"spec": {"versions": [version("v1", storage=True, x=NUMBER)]}}
        await ask(cluster, "PATCH", f"{DEFINITIONS}/gadgets.example.com", changed, MERGE)
        _, read, _ = await ask(cluster, "GET", f"{gadgets('v1')}/g")
        assert read["spec"] == {"x": 1}
        label = {"metadata": {"labels": {"a": "b"}}}
        _, labeled, warnings = await ask(cluster, "PATCH", f"{gadgets('v1')}/g", label, MERGE)
        assert (labeled["metadata"]["generation"], warnings) == (1, [])


async def test_deprecated_version_names_its_successor() -> None:
    old = version("v1beta1", x=NUMBER) | {"deprecated": True}
    versions = (old, version("v1", x=NUMBER), version("v2", storage=True, x=NUMBER))
    async with Cluster() as cluster:
        await ask(cluster, "POST", DEFINITIONS, definition(*versions))
        _, _, warnings = await ask(cluster, "GET", gadgets("v1beta1"))
        assert warnings == [
            '299 - "example.com/v1beta1 Gadget is deprecated; use example.com/v2 Gadget"'
        ]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_writing_to_a_collection_of_all_namespaces_is_not_found(method: str) -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", DEFINITIONS, definition(version("v1", storage=True, x=NUMBER)))
        status, answer, _ = await ask(cluster, method, "/apis/example.com/v1/gadgets", gadget("v1"))
        assert (status, answer) == (404, b"404 page not found\n")
        assert (await ask(cluster, "GET", "/apis/example.com/v1/gadgets"))[0] == 200


async def test_scale_of_an_object_without_replicas_is_patched() -> None:
    scaled = version("v1", storage=True, replicas=NUMBER)
    scaled["subresources"] = {
        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    }
    async with Cluster() as cluster:
        await ask(cluster, "POST", DEFINITIONS, definition(scaled))
        await ask(cluster, "POST", gadgets("v1"), gadget("v1"))
        path = f"{gadgets('v1')}/g/scale"
        status, answer, _ = await ask(cluster, "PATCH", path, {"spec": {"replicas": 2}}, MERGE)
        assert (status, answer["spec"]) == (200, {"replicas": 2})
        metadata = {"name": "g", "resourceVersion": answer["metadata"]["resourceVersion"]}
        sent = {"metadata": metadata, "spec": {"replicas": None}}
        status, answer, _ = await ask(cluster, "PUT", path, sent)
        assert (status, answer["spec"]) == (200, {})
