"""Converts the stored JSON that field selections and indexes return into values."""

from typing import Any

from quarterdeck.cel.operations.classes import no_overload_error
from quarterdeck.cel.schema.conversion import find_scalar_converter
from quarterdeck.cel.types import Kind, Type, is_optional
from quarterdeck.cel.values import Optional, make_optional


def convert_scalar(type_: Type, value: Any) -> Any:
    """Convert a stored scalar; values that need no conversion are returned as they are."""
    convert = find_scalar_converter(type_)
    if convert is None or value is None:
        return value
    try:
        return convert(value)
    except (TypeError, ValueError):
        raise no_overload_error() from None


def convert_selected(type_: Type, value: Any) -> Any:
    """Convert the scalar that a selection or index returned, also inside an optional."""
    if not isinstance(value, Optional):
        return convert_scalar(type_, value)
    if not value.present or not type_.params:
        return value
    return make_optional(convert_scalar(type_.params[0], value.value))


def has_members(type_: Type) -> bool:
    """Whether it is an object with declared members, of which null ones count as absent."""
    inner = type_.params[0] if is_optional(type_) else type_
    return inner.kind is Kind.STRUCT
