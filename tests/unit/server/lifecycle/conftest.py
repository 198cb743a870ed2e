"""A world made of a few objects, for plans."""

import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterdeck.kit import json as kit_json
from quarterdeck.meta import builtins
from quarterdeck.meta.identity import GVK, GroupVersion
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.view import DecodedObjects, ServedResource, View
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage import Entry, StoreKey

Object = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
_BUILTIN = {each.kind: each for each in builtins.list_resources() if "list" in each.verbs}


def serves(api_version: str, kind: str) -> ServedResource | None:
    group, version = GroupVersion.parse(api_version)
    found = _BUILTIN.get(GVK(group, version, kind))
    return None if found is None else ServedResource(found.gvr.group_resource, found.namespaced)


def key_of(value: Object) -> StoreKey:
    served = serves(value["apiVersion"], value["kind"])
    assert served is not None, value["kind"]
    metadata = value["metadata"]
    return StoreKey(served.resource, metadata.get("namespace") or "", metadata["name"])


class Objects:
    """A source of entries: revision 1 unless the object says otherwise."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self.entries: dict[StoreKey, Entry] = {}
        for value in objects:
            metadata = {"resourceVersion": "1", **value["metadata"]}
            self.put({**value, "metadata": metadata})

    def put(self, value: Object) -> Entry:
        key, data = key_of(value), kit_json.encode(value)
        revision = int(value["metadata"]["resourceVersion"])
        entry = Entry(key, revision, revision, data, decode_object_meta(key.resource, data))
        self.entries[key] = entry
        return entry

    def get(self, key: StoreKey) -> Entry | None:
        return self.entries.get(key)

    def range(self, resource: str, namespace: str | None) -> Iterable[Entry]:
        return [
            entry
            for key, entry in sorted(self.entries.items())
            if key.resource == resource and namespace in (None, key.namespace)
        ]

    def resources(self) -> Iterable[str]:
        return sorted({key.resource for key in self.entries})


def view_of(objects: Iterable[Object], now: datetime = NOW) -> View:
    source, index = Objects(objects), Index()
    for entry in source.entries.values():
        index.load(entry)
    return View(
        source, index, decoded=DecodedObjects(), serves=serves, now=now, rng=random.Random(7)
    )


@pytest.fixture
def look() -> Callable[..., View]:
    """Makes the view of some objects."""
    return view_of
