"""Go's conversion of unstructured objects: how it converts numbers, and its errors.

Strategic merges and server-side applies of built-in kinds use that converter, not the JSON decoder.
Its messages are different, and it does not check whether an integer is too large.
"""

import math
from collections.abc import Iterator
from typing import Any

from quarterdeck.meta.builtins import table
from quarterdeck.meta.builtins.members import list_members
from quarterdeck.meta.builtins.special import Mismatch, decode_bytes
from quarterdeck.meta.builtins.structs import build_decoder
from quarterdeck.meta.field import get_go_type

_BYTES = "bytes"
_BITS = {"int32": 32, "int64": 64}
_GO_KINDS: dict[type, str] = {list: "slice", dict: "map"}


def find_conversion_error(value: Any, expression: str) -> str | None:
    """Find the first part of a value that cannot be converted to a Go type."""
    return next(_find_errors(value, expression), None)


def _find_errors(value: Any, expression: str) -> Iterator[str]:
    expression = expression.lstrip("*")
    if value is None:
        return
    if expression == _BYTES:
        yield from _find_byte_errors(value)
    elif expression.startswith("[]"):
        if not isinstance(value, list):
            yield f"cannot restore slice from {_name_kind(value)}"
            return
        for part in value:
            yield from _find_errors(part, expression[2:])
    elif expression.startswith("{}"):
        if not isinstance(value, dict):
            yield f"cannot restore map from {_name_kind(value)}"
            return
        for part in value.values():
            yield from _find_errors(part, expression[2:])
    elif expression.startswith("#"):
        yield from _find_named_errors(value, expression[1:])
    else:
        yield from _find_scalar_errors(value, expression, expression)


def _find_named_errors(value: Any, name: str) -> Iterator[str]:
    if name in table.SPECIAL:
        try:
            build_decoder(f"#{name}")(value)
        except Mismatch as error:
            yield error.format_message()
        return
    found = table.get_type(name)
    if not found.alias:
        yield from _find_struct_errors(value, name)
    elif found.alias.startswith(("[]", "{}")):
        yield from _find_errors(value, found.alias)
    else:
        yield from _find_scalar_errors(value, found.alias, table.to_go_name(name))


def convert_numbers(value: Any, expression: str) -> Any:
    """Convert numbers that are too large for their integer type, as Go does."""
    expression = expression.lstrip("*")
    if expression.startswith("#") and expression[1:] not in table.SPECIAL:
        found = table.get_type(expression[1:])
        if not found.alias:
            return _convert_members(value, expression[1:])
        expression = found.alias
    if expression.startswith("[]") and isinstance(value, list):
        return [convert_numbers(each, expression[2:]) for each in value]
    if expression.startswith("{}") and isinstance(value, dict):
        return {name: convert_numbers(each, expression[2:]) for name, each in value.items()}
    if expression in _BITS and _is_whole(value):
        return _wrap_integer(value, _BITS[expression])
    return value


def _convert_members(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        return value
    types = {member.name: member.type for member in list_members(name)}
    return {
        key: convert_numbers(each, types[key]) if key in types else each
        for key, each in value.items()
    }


def _wrap_integer(value: float, bits: int) -> int:
    """Return the lowest bits of a number, as Go does; outside of int64 it becomes the minimum."""
    number = int(value)
    if not -(1 << 63) <= number < 1 << 63:
        number = -(1 << 63)
    half = 1 << (bits - 1)
    return (number + half) % (1 << bits) - half


def _find_struct_errors(value: Any, name: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"cannot restore struct from: {_name_kind(value)}"
        return
    for member in list_members(name):
        yield from _find_errors(value.get(member.name), member.type)


def _find_byte_errors(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        return
    if not isinstance(value, str):
        yield f"cannot restore slice from {_name_kind(value)}"
        return
    try:
        decode_bytes(value)
    except Mismatch as error:
        yield f"error decoding from json: {error.format_message()}"


def _find_scalar_errors(value: Any, kind: str, shown: str) -> Iterator[str]:
    """Find why a value does not fit a scalar; Go converts integers to strings of one rune."""
    match kind:
        case "string":
            is_fitting, is_convertible = isinstance(value, str), _is_integer(value)
        case "bool":
            is_fitting, is_convertible = isinstance(value, bool), False
        case _ if kind.startswith(("int", "uint", "float")):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            is_fitting = is_number and (_is_whole(value) or kind.startswith("float"))
            is_convertible = is_number
        case _:
            return
    if is_fitting:
        return
    if is_convertible:
        yield f"cannot convert {get_go_type(value)} to {shown}"
    else:
        yield f"unrecognized type: {kind}"


def _is_whole(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) and value == math.trunc(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _name_kind(value: Any) -> str:
    return _GO_KINDS.get(type(value), get_go_type(value))
