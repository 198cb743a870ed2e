"""Schemas made to end the server: refused when they are written, survived when they are stored."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.apis.core.config import Namespace
from quarterdeck.app.cluster import DATABASE, Cluster
from quarterdeck.kit import json as kit_json
from quarterdeck.server.custom.schema_depth import MAX_DEPTH, measure_depth
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage import StoreKey
from quarterdeck.storage.sqlite import open_sqlite
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import CreateOptions
from quarterdeck.wire.status import Invalid

DEFINITIONS = ResourcePath("apiextensions.k8s.io", "v1", "customresourcedefinitions")


def nest(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def definition(levels: int) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "deeps.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "deeps", "kind": "Deep"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": nest(levels)},
                }
            ],
        },
    }


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 260])
async def test_deep_schema_is_refused(levels: int) -> None:
    async with Cluster() as cluster:
        body = kit_json.encode(definition(levels))
        with pytest.raises(Invalid, match="must not be nested more than 100 levels deep"):
            await cluster.client.raw.create(DEFINITIONS, body, CreateOptions())


async def test_schema_at_the_limit_is_served() -> None:
    async with Cluster() as cluster:
        body = kit_json.encode(definition(MAX_DEPTH))
        await cluster.client.raw.create(DEFINITIONS, body, CreateOptions())
        assert measure_depth(nest(MAX_DEPTH)) == MAX_DEPTH


async def test_stored_definition_that_fails_is_skipped(tmp_path: Path) -> None:
    """As an earlier version stored it, which accepted any depth."""
    async with Cluster(in_memory=False, data_dir=tmp_path) as cluster:
        body = kit_json.encode(definition(3))
        await cluster.client.raw.create(DEFINITIONS, body, CreateOptions())
    await replace_schema(tmp_path, nest(300))
    async with Cluster(in_memory=False, data_dir=tmp_path) as cluster:
        found = await cluster.client.list(Namespace)
        assert "default" in {each.metadata.name for each in found}


async def replace_schema(folder: Path, schema: dict[str, Any]) -> None:
    store = await asyncio.to_thread(open_sqlite, folder / DATABASE, derive=decode_object_meta)
    key = StoreKey("customresourcedefinitions.apiextensions.k8s.io", "", "deeps.example.com")
    entry = store.get(key)
    assert entry is not None
    stored = kit_json.decode(entry.value)
    stored["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    encoded = kit_json.encode(stored)
    await store.put(key, lambda revision: encoded)
    await store.close()
