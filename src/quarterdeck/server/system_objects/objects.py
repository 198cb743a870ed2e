"""Creates the objects that are missing when a server starts."""

from collections.abc import Iterable

from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.server.core import Core
from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.server.registry.name_generator import generate_uid
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreKey, Ticket


def complete_metadata(core: Core, value: Object) -> Object:
    """Add uid and creation time to the metadata of an object, in place; returns the object."""
    value["metadata"] |= {
        "uid": generate_uid(core.random),
        "resourceVersion": "",
        "creationTimestamp": format_time(core.clock.now()),
    }
    return value


def create_missing(core: Core, resource: str, objects: Iterable[Object]) -> list[Ticket]:
    """Create the objects that do not exist; the returned tickets must be awaited."""
    tickets = []
    for value in objects:
        metadata = value["metadata"]
        key = StoreKey(resource, metadata.get("namespace", ""), metadata["name"])
        if core.store.get_pending(key) is None:
            encode = build_encoder(complete_metadata(core, value))
            tickets.append(core.store.put(key, encode, expected=0))
    return tickets
