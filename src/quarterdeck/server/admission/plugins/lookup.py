"""Stored objects that plugins look up."""

from collections.abc import Iterator

from quarterdeck.kit import json as kit_json
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store, StoreKey


def get_object(store: Store, resource: str, namespace: str, name: str) -> Object | None:
    """Return an object in its newest state, including writes that are not durable yet."""
    entry = store.get_pending(StoreKey(resource, namespace, name))
    return kit_json.decode(entry.value) if entry is not None else None


def list_objects(store: Store, resource: str, namespace: str | None = None) -> Iterator[Object]:
    """List all objects of a resource, or of one namespace; each is decoded, so use it for few."""
    for entry in store.snapshot().range(resource, namespace, after=None, limit=None):
        yield kit_json.decode(entry.value)
