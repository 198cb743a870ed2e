"""Readers of stored objects, and builders of parts of new ones."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from quarterdeck.kit.rfc3339 import format_time, parse
from quarterdeck.server.lifecycle.engine.actions import Delete, Remove, Update
from quarterdeck.server.registry.object_meta import ObjectMeta
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreKey


def get_name(value: Object) -> str:
    """Return the name of an object; empty for a template that has none."""
    return str((value.get("metadata") or {}).get("name", ""))


def get_namespace(value: Object) -> str:
    """Return the namespace of an object; empty for cluster-scoped ones."""
    return str(value["metadata"].get("namespace") or "")


def get_uid(value: Object) -> str:
    """Return the uid of an object."""
    return str(value["metadata"].get("uid") or "")


def get_key(resource: str, value: Object) -> StoreKey:
    """Return the store key of an object."""
    return StoreKey(resource, get_namespace(value), get_name(value))


def get_revision(value: Object) -> int:
    """Return the revision an object was read at."""
    return int(value["metadata"].get("resourceVersion") or 0)


def get_spec(value: Object) -> Object:
    """Return the spec of an object, or an empty one."""
    return value.get("spec") or {}


def get_status(value: Object) -> Object:
    """Return the status of an object, or an empty one."""
    return value.get("status") or {}


def get_annotations(value: Object) -> Mapping[str, str]:
    """Return the annotations of an object."""
    return value["metadata"].get("annotations") or {}


def get_labels(value: Object) -> Mapping[str, str]:
    """Return the labels of an object."""
    return value["metadata"].get("labels") or {}


def is_deleting(value: Object) -> bool:
    """Whether an object is being deleted."""
    return bool(value["metadata"].get("deletionTimestamp"))


def get_creation_time(value: Object) -> datetime | None:
    """Return the creation time of an object."""
    return parse_time(value["metadata"].get("creationTimestamp"))


def parse_time(text: str | None) -> datetime | None:
    """Parse a time that may be absent."""
    return parse(text) if text else None


def format_moment(moment: datetime) -> str:
    """Format a time as in the fields of objects."""
    return format_time(moment)


# owners ------------------------------------------------------------------------------------------


def get_controller(value: Object) -> Object | None:
    """Return the owner that controls an object."""
    for owner in value["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            found: Object = owner
            return found
    return None


def is_controlled_by(value: Object, owner: Object) -> bool:
    """Whether an object is controlled by another."""
    reference = get_controller(value)
    return reference is not None and reference.get("uid") == get_uid(owner)


def build_owner_reference(owner: Object) -> Object:
    """Build the owner reference by which `owner` controls an object."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": get_name(owner),
        "uid": get_uid(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def get_controller_key(
    object_meta: ObjectMeta, kind: str, resource: str, namespace: str
) -> StoreKey | None:
    """Return the key of the controlling owner if it is of a kind; None otherwise."""
    for owner in object_meta.owner_references or ():
        if owner.controller and owner.kind == kind:
            return StoreKey(resource, namespace, owner.name)
    return None


# actions -----------------------------------------------------------------------------------------


def update(resource: str, before: Object, subresource: str = "", **members: Any) -> Update:
    """Build the update of an object that was read; `metadata` is merged, other members replaced."""
    value = {**before, **members}
    if "metadata" in members:
        value["metadata"] = {**before["metadata"], **members["metadata"]}
        for member in [each for each, text in value["metadata"].items() if text is None]:
            del value["metadata"][member]
    return Update(
        key=get_key(resource, before),
        revision=get_revision(before),
        value=value,
        subresource=subresource,
    )


def update_last(resource: str, before: Object, subresource: str, **members: Any) -> Update:
    """Build an update after which the controller has nothing to do; see `Update.is_last`."""
    action = update(resource, before, subresource, **members)
    return msgspec.structs.replace(action, is_last=True)


def delete(resource: str, value: Object, **options: Any) -> Delete:
    """Build the deletion of an object that was read."""
    return Delete(key=get_key(resource, value), uid=get_uid(value), **options)


def remove(resource: str, value: Object) -> Remove:
    """Build the removal of an object that was read."""
    return Remove(key=get_key(resource, value), revision=get_revision(value))


# conditions --------------------------------------------------------------------------------------


def get_condition(conditions: Sequence[Object] | None, kind: str) -> Object | None:
    """Return the condition of a type."""
    return next((each for each in conditions or () if each.get("type") == kind), None)


def is_true(conditions: Sequence[Object] | None, kind: str) -> bool:
    """Whether a condition exists and is true."""
    found = get_condition(conditions, kind)
    return found is not None and found.get("status") == "True"


def with_condition(conditions: Sequence[Object] | None, new: Object) -> list[Object]:
    """Return the conditions with one set, in its old position if it exists.

    `lastTransitionTime` is kept if the status is the same.
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
