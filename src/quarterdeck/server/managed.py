"""Who owns which fields: the server's use of `wire.apply`."""

from quarterdeck.server.call import Call
from quarterdeck.server.core import Core
from quarterdeck.server.registry.resource import Object


def track_create(core: Core, call: Call, value: Object, manager: str) -> None:
    """Record the fields of a new object as the creator's. In place."""
    value["metadata"].pop("managedFields", None)


def track_update(core: Core, call: Call, value: Object, old: Object, *, manager: str) -> None:
    """Record the fields an update changed as the updater's. In place."""
    before = old["metadata"].get("managedFields")
    if before is None:
        value["metadata"].pop("managedFields", None)
    else:
        value["metadata"]["managedFields"] = before


def only_times_differ(value: Object, old: Object) -> bool:
    """Whether two objects are the same but for the times in `managedFields`."""
    if value == old:
        return True
    new_metadata, old_metadata = value["metadata"], old["metadata"]
    entries = new_metadata.get("managedFields"), old_metadata.get("managedFields")
    if _without_times(entries[0]) != _without_times(entries[1]):
        return False
    return _without_entries(new_metadata) == _without_entries(old_metadata) and all(
        value.get(name) == old.get(name) for name in value.keys() | old.keys() if name != "metadata"
    )


def _without_times(entries: list[Object] | None) -> list[Object]:
    return [
        {name: each for name, each in entry.items() if name != "time"} for entry in entries or ()
    ]


def _without_entries(metadata: Object) -> Object:
    return {name: each for name, each in metadata.items() if name != "managedFields"}
