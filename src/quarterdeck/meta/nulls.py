"""`null` as Go's decoders read it: absent, wherever the type has no place for it."""

import typing
from collections.abc import Mapping
from typing import Any

import msgspec

from quarterdeck.meta.annotations import item_of, unwrap


def without_nulls(value: Any, annotation: Any) -> Any:
    """Plain data without the `null`s that a typed decoder would stumble over.

    Arbitrary JSON inside keeps its `null`s: there they may mean something.
    """
    base, _ = unwrap(annotation)
    if isinstance(base, type) and issubclass(base, msgspec.Struct) and isinstance(value, dict):
        return _struct(value, base)
    if (entry := item_of(base)) is not None and isinstance(value, list):
        return [without_nulls(each, entry) for each in value]
    if typing.get_origin(base) is Mapping and isinstance(value, dict):
        inner = typing.get_args(base)[1]
        return {
            name: without_nulls(each, inner) for name, each in value.items() if each is not None
        }
    return value


def _struct(value: dict[str, Any], struct: type[msgspec.Struct]) -> dict[str, Any]:
    known = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
    return {
        name: without_nulls(member, known[name])
        for name, member in value.items()
        if member is not None and name in known
    }
