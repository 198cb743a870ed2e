"""Drops `null` where the type does not allow it, as Go's decoders do."""

import typing
from collections.abc import Mapping
from typing import Any

import msgspec

from quarterdeck.meta.annotations import find_item_type, unwrap


def drop_nulls(value: Any, annotation: Any) -> Any:
    """Return plain data without the nulls that the type does not allow.

    Arbitrary JSON inside keeps its nulls, because they may have a meaning there.
    """
    base, _ = unwrap(annotation)
    if isinstance(base, type) and issubclass(base, msgspec.Struct) and isinstance(value, dict):
        return _drop_from_struct(value, base)
    if (entry := find_item_type(base)) is not None and isinstance(value, list):
        return [drop_nulls(each, entry) for each in value]
    if typing.get_origin(base) is Mapping and isinstance(value, dict):
        inner = typing.get_args(base)[1]
        return {name: drop_nulls(each, inner) for name, each in value.items() if each is not None}
    return value


def _drop_from_struct(value: dict[str, Any], struct: type[msgspec.Struct]) -> dict[str, Any]:
    known = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
    return {
        name: drop_nulls(member, known[name])
        for name, member in value.items()
        if member is not None and name in known
    }
