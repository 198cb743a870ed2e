"""Annotations of fields taken apart: the type itself, its markers, its entries."""

import types
import typing
from typing import Annotated, Any, Union

from quarterdeck.meta.markers import Schema


def unwrap(annotation: Any) -> tuple[Any, tuple[Schema, ...]]:
    """Return an annotation without `None` and markers, and its markers, innermost first."""
    if typing.get_origin(annotation) is Annotated:
        inner, found = unwrap(annotation.__origin__)
        own = tuple(entry for entry in annotation.__metadata__ if isinstance(entry, Schema))
        return inner, found + own
    members = list_alternatives(annotation)
    if len(members) == 1 and members[0] is not annotation:
        return unwrap(members[0])
    return annotation, ()


def find_item_type(base: Any) -> Any | None:
    """Return the type of the entries of a list; None for other types."""
    return typing.get_args(base)[0] if typing.get_origin(base) in (tuple, list) else None


def list_alternatives(annotation: Any) -> tuple[Any, ...]:
    """List the members of a union without `None`; any other annotation is its only member."""
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return tuple(part for part in typing.get_args(annotation) if part is not types.NoneType)
    return (annotation,)
