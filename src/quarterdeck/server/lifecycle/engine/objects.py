"""Small questions about stored objects, and small pieces of new ones."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.kit.rfc3339 import format_time, parse
from quarterdeck.server.lifecycle.engine.actions import Delete, Remove, Update
from quarterdeck.server.registry.object_meta import Facts
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreKey


def metadata(value: Object) -> Object:
    """The metadata of an object."""
    found: Object = value["metadata"]
    return found


def name(value: Object) -> str:
    """The name of an object; empty for a template that has none."""
    return str((value.get("metadata") or {}).get("name", ""))


def namespace(value: Object) -> str:
    """The namespace of an object; empty for cluster-scoped ones."""
    return str(value["metadata"].get("namespace") or "")


def uid(value: Object) -> str:
    """The uid of an object."""
    return str(value["metadata"].get("uid") or "")


def key_of(resource: str, value: Object) -> StoreKey:
    """Where an object is stored."""
    return StoreKey(resource, namespace(value), name(value))


def revision_of(value: Object) -> int:
    """The revision an object was read at."""
    return int(value["metadata"].get("resourceVersion") or 0)


def spec(value: Object) -> Object:
    """The spec of an object, or an empty one."""
    return value.get("spec") or {}


def status(value: Object) -> Object:
    """The status of an object, or an empty one."""
    return value.get("status") or {}


def annotations(value: Object) -> Mapping[str, str]:
    """The annotations of an object."""
    return value["metadata"].get("annotations") or {}


def labels(value: Object) -> Mapping[str, str]:
    """The labels of an object."""
    return value["metadata"].get("labels") or {}


def is_deleting(value: Object) -> bool:
    """Whether an object is on its way out."""
    return bool(value["metadata"].get("deletionTimestamp"))


def created_at(value: Object) -> datetime | None:
    """When an object was made."""
    return time_of(value["metadata"].get("creationTimestamp"))


def time_of(text: str | None) -> datetime | None:
    """A time that may be absent."""
    return parse(text) if text else None


def stamp(moment: datetime) -> str:
    """A time as objects carry it."""
    return format_time(moment)


# owners ------------------------------------------------------------------------------------------


def controller_of(value: Object) -> Object | None:
    """The owner that controls an object."""
    for owner in value["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            found: Object = owner
            return found
    return None


def is_controlled_by(value: Object, owner: Object) -> bool:
    """Whether an object is controlled by another."""
    reference = controller_of(value)
    return reference is not None and reference.get("uid") == uid(owner)


def owner_reference(owner: Object) -> Object:
    """The reference that makes an object the controller of another."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name(owner),
        "uid": uid(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_key(facts: Facts, kind: str, resource: str, namespace: str) -> StoreKey | None:
    """Where the controller of an object is stored, if it is of a kind."""
    for owner in facts.owner_references or ():
        if owner.controller and owner.kind == kind:
            return StoreKey(resource, namespace, owner.name)
    return None


# actions -----------------------------------------------------------------------------------------


def update(resource: str, before: Object, subresource: str = "", **members: Any) -> Update:
    """Replace members of an object that was read; `metadata` is merged, the others replaced."""
    value = {**before, **members}
    if "metadata" in members:
        value["metadata"] = {**before["metadata"], **members["metadata"]}
        for member in [each for each, text in value["metadata"].items() if text is None]:
            del value["metadata"][member]
    return Update(
        key=key_of(resource, before),
        revision=revision_of(before),
        value=value,
        subresource=subresource,
    )


def delete(resource: str, value: Object, **options: Any) -> Delete:
    """Begin to delete an object that was read."""
    return Delete(key=key_of(resource, value), uid=uid(value), **options)


def remove(resource: str, value: Object) -> Remove:
    """End an object that was read."""
    return Remove(key=key_of(resource, value), revision=revision_of(value))


# conditions --------------------------------------------------------------------------------------


def condition(conditions: Sequence[Object] | None, kind: str) -> Object | None:
    """The condition of a type."""
    return next((each for each in conditions or () if each.get("type") == kind), None)


def is_true(conditions: Sequence[Object] | None, kind: str) -> bool:
    """Whether a condition is there and true."""
    found = condition(conditions, kind)
    return found is not None and found.get("status") == "True"


def with_condition(conditions: Sequence[Object] | None, new: Object) -> list[Object]:
    """The conditions with one of them set; the old place is kept, and the time of the last
    transition where the status is the same.
    """
    result, placed = [], False
    for each in conditions or ():
        if each.get("type") != new["type"]:
            result.append(each)
            continue
        placed = True
        if each.get("status") == new["status"] and "lastTransitionTime" in each:
            new = {**new, "lastTransitionTime": each["lastTransitionTime"]}
        result.append(new)
    return result if placed else [*result, new]
