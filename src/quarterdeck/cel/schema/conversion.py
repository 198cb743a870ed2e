"""Converts stored JSON to CEL values, where the two differ.

Most JSON is its own CEL value. Times, durations, bytes and doubles are not; they are converted
when a path reaches them, and containers of them only when one is used as a whole.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.library.time import parse_date, parse_duration, parse_timestamp
from quarterdeck.cel.types import Kind, Type
from quarterdeck.cel.values import MapList, SetList

Converter = Callable[[Any], Any]


def _convert_once(convert: Callable[[str], Any]) -> Converter:
    """A conversion that returns values which are converted already as they are."""
    return lambda value: convert(value) if type(value) is str else value


def _decode_bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise EvaluationError(f"Invalid byte formatted string {text}") from None


LEAVES: Mapping[str, Converter] = {
    "bytes": _convert_once(_decode_bytes),
    "duration": _convert_once(parse_duration),
    "date": _convert_once(parse_date),
    "date-time": _convert_once(parse_timestamp),
    "double": float,
}
"""Conversions of scalars, by the value of `Type.convert`."""


def needs_conversion(type_: Type) -> bool:
    """Whether a container must be converted before it is compared, added or passed on."""
    return type_.special or type_.convert == "deep"


def find_scalar_converter(type_: Type) -> Converter | None:
    """The conversion of a scalar, if it has one."""
    return LEAVES.get(type_.convert)


def build_converter(type_: Type) -> Converter:
    """A function that converts stored JSON of a type into a value, items of containers included."""
    match type_.kind:
        case Kind.LIST if type_.convert or type_.special:
            return _build_list_converter(type_)
        case Kind.MAP if type_.convert or type_.special:
            inner = build_converter(type_.params[1])
            return lambda value: (
                value if value is None else {key: inner(item) for key, item in value.items()}
            )
        case Kind.STRUCT if type_.convert or type_.special:
            return _build_struct_converter(type_)
    scalar = find_scalar_converter(type_)
    if scalar is None:
        return lambda value: value
    return lambda value: value if value is None else scalar(value)


def _build_list_converter(type_: Type) -> Converter:
    inner = build_converter(type_.params[0])

    def convert(value: Any) -> Any:
        if value is None:
            return None
        items = [inner(item) for item in value]
        if type_.list_kind == "set":
            return SetList(items)
        if type_.list_kind == "map":
            return MapList(items, type_.list_keys)
        return items

    return convert


def _build_struct_converter(type_: Type) -> Converter:
    members = {
        field.name: build_converter(field.type)
        for field in type_.fields.values()
        if field.type.convert or field.type.special
    }

    def convert(value: Any) -> Any:
        if value is None:
            return None
        changed = {key: members[key](item) for key, item in value.items() if key in members}
        return {**value, **changed}

    return convert
