"""What Go's converter of unstructured objects says of a value that does not fit its type.

Strategic merges and server-side applies of built-in kinds end with that converter, not with a
reader of JSON, and it has words of its own.
"""

import math
from collections.abc import Iterator
from typing import Any

from quarterdeck.meta.builtins import table
from quarterdeck.meta.builtins.special import Mismatch, decode_bytes
from quarterdeck.meta.builtins.structs import build_decoder, list_members
from quarterdeck.meta.field import get_go_type

_BYTES = "bytes"
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
    """Find out why a value is no scalar; Go would turn any number into a string of one rune."""
    match kind:
        case "string":
            is_fitting, is_convertible = isinstance(value, str), _is_integer(value)
        case "bool":
            is_fitting, is_convertible = isinstance(value, bool), False
        case _ if kind.startswith(("int", "uint", "float")):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            is_whole = is_number and math.isfinite(value) and value == math.trunc(value)
            is_fitting = is_number and (is_whole or kind.startswith("float"))
            is_convertible = is_number
        case _:
            return
    if is_fitting:
        return
    if is_convertible:
        yield f"cannot convert {get_go_type(value)} to {shown}"
    else:
        yield f"unrecognized type: {kind}"


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _name_kind(value: Any) -> str:
    return _GO_KINDS.get(type(value), get_go_type(value))
