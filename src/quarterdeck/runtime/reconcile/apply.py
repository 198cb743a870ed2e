"""Decides whether a server-side apply would change an object, without a request.

The fields our manager owns are in the object itself (`managedFields`). An apply is a no-op when
it names exactly the fields we own and each has its current value. In doubt the apply is sent: an
unneeded one costs a request, while one that is skipped wrongly would lose a change.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

_SERVER_SET = frozenset({"apiVersion", "kind"})
_NOT_OWNED = frozenset({"name", "namespace"})


def is_apply_redundant(
    desired: Mapping[str, Any], current: Mapping[str, Any], *, manager: str, subresource: str = ""
) -> bool:
    """Whether applying `desired` as `manager` would leave `current` as it is."""
    if not current:
        return False
    owned = _find_owned_fields(current, manager, subresource)
    if owned is None:
        return False
    wanted = {name: value for name, value in desired.items() if name not in _SERVER_SET}
    metadata = wanted.get("metadata")
    if isinstance(metadata, dict):
        rest = {name: value for name, value in metadata.items() if name not in _NOT_OWNED}
        wanted["metadata"] = rest
        if not rest:
            del wanted["metadata"]
    return _has_same_fields(wanted, current, owned)


def _find_owned_fields(
    current: Mapping[str, Any], manager: str, subresource: str
) -> Mapping[str, Any] | None:
    """The fields that `manager` applied: empty without an entry; None if they are unknown."""
    for entry in current.get("metadata", {}).get("managedFields", ()):
        if (
            entry.get("manager") == manager
            and entry.get("operation") == "Apply"
            and entry.get("subresource", "") == subresource
        ):
            if entry.get("apiVersion") != current.get("apiVersion", entry.get("apiVersion")):
                return None
            fields = entry.get("fieldsV1", {})
            return fields if isinstance(fields, dict) else None
    return {}


def _has_same_fields(desired: Mapping[str, Any], current: Any, owned: Mapping[str, Any]) -> bool:
    if not isinstance(current, dict):
        return False
    names = {name[2:] for name in owned if name.startswith("f:")}
    if names != desired.keys():
        return False
    return all(
        name in current and _is_same(value, current[name], owned[f"f:{name}"])
        for name, value in desired.items()
    )


def _is_same(desired: Any, current: Any, owned: Mapping[str, Any]) -> bool:
    if not [name for name in owned if name != "."]:
        return bool(desired == current)
    if isinstance(desired, dict):
        return _has_same_fields(desired, current, owned)
    if isinstance(desired, list) and isinstance(current, list):
        return _has_same_items(desired, current, owned)
    return False


def _has_same_items(desired: list[Any], current: list[Any], owned: Mapping[str, Any]) -> bool:
    entries = [name for name in owned if name != "."]
    if len(entries) != len(desired):
        return False
    for name in entries:
        if name.startswith("v:"):
            value = msgspec.json.decode(name[2:])
            if value not in desired or value not in current:
                return False
            continue
        if not name.startswith("k:"):
            return False
        keys = msgspec.json.decode(name[2:])
        ours, theirs = _find_item(desired, keys), _find_item(current, keys)
        if (
            ours is None
            or theirs is None
            or not _has_same_fields_of_item(ours, theirs, owned[name], keys)
        ):
            return False
    return True


def _has_same_fields_of_item(
    ours: Mapping[str, Any], theirs: Any, owned: Mapping[str, Any], keys: Mapping[str, Any]
) -> bool:
    """Compare an item of a list; keys with defaults may be missing in `ours`, but are owned."""
    if not [name for name in owned if name != "."]:
        return bool(ours == theirs)  # owned as a whole, such as an owner reference
    filled = {**{k: v for k, v in keys.items() if f"f:{k}" in owned}, **ours}
    return _has_same_fields(filled, theirs, owned)


def _find_item(items: Sequence[Any], keys: Mapping[str, Any]) -> Any:
    for item in items:
        if isinstance(item, dict) and all(item.get(k, v) == v for k, v in keys.items()):
            return item
    return None
