"""Readers of fields that may be absent or null."""

from typing import Any

from quarterdeck.server.registry.resource import Object


def get_field(value: Object, *names: str) -> Any:
    """Return the value at a path; None if a member of the path is missing."""
    place: Any = value
    for name in names:
        if not isinstance(place, dict):
            return None
        place = place.get(name)
    return place


def get_mapping(value: Object, *names: str) -> Object:
    """Return the object at a path; empty if there is none. It must not be changed."""
    if len(names) == 1 and isinstance(value, dict):  # by far the most frequent
        found = value.get(names[0])
    else:
        found = get_field(value, *names)
    return found if isinstance(found, dict) else {}


def get_items(value: Object, *names: str) -> list[Any]:
    """Return the list at a path; empty if there is none. It must not be changed."""
    if len(names) == 1 and isinstance(value, dict):
        found = value.get(names[0])
    else:
        found = get_field(value, *names)
    return found if isinstance(found, list) else []


def set_defaults(value: Object, **defaults: Any) -> None:
    """Set members that are absent or null."""
    for name, default in defaults.items():
        if value.get(name) is None:
            value[name] = default
