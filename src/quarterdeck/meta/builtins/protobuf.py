"""The Kubernetes protobuf encoding of built-in kinds, decoded by the table.

kubectl and client-go send it for every typed write. Message fields are read by tag number and
by the type the table gives; the wire type in the stream decides how many bytes that takes.
Protobuf carries zero values that JSON omits: those of plain fields are dropped, those behind a
pointer are kept.
"""

import base64
import functools
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from quarterdeck.kit import duration, protowire, rfc3339
from quarterdeck.kit.protowire import ProtobufError
from quarterdeck.meta.builtins import table

MAGIC = b"k8s\x00"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Reader = Callable[[Any], Any]


def decode(body: bytes) -> dict[str, Any]:
    """Read the envelope and the object in it.

    Raises:
        ProtobufError: if the bytes are not such an envelope, or its kind is unknown.
    """
    try:
        return _decode(body)
    except (OverflowError, RecursionError, struct.error) as error:
        raise ProtobufError(f"proto: a value is out of range: {error}") from None


def _decode(body: bytes) -> dict[str, Any]:
    if not body.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected k8s")
    api_version = kind = ""
    raw = b""
    for tag, value in protowire.iterate_fields(memoryview(body)[4:]):
        if tag == 1:
            for part, text in protowire.iterate_fields(value):
                if part == 1:
                    api_version = protowire.read_text(text)
                elif part == 2:
                    kind = protowire.read_text(text)
        elif tag == 2:
            raw = protowire.read_bytes(value)
    name = table.find_kind_type(api_version, kind)
    if name is None:
        raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')
    decoded: dict[str, Any] = _build_message_reader(name)(memoryview(raw))
    return {"kind": kind, "apiVersion": api_version} | decoded


class _Slot(msgspec.Struct, frozen=True):
    name: str
    read: Reader
    shape: str  # "one", "list", "numbers", "map", "inline"
    omit_zero: bool


@functools.cache
def _get_slots(name: str) -> dict[int, _Slot]:
    return {field.tag: _build_slot(field) for field in table.get_type(name).fields if field.tag}


def _build_slot(field: table.Field) -> _Slot:
    expression = resolve(field.type)
    if not field.name:
        return _Slot("", _build_reader(expression.lstrip("*")), "inline", omit_zero=False)
    if expression.startswith("[]"):
        read = _build_reader(expression[2:])
        shape = "numbers" if read in _VARINTS else "list"
        return _Slot(field.name, read, shape, omit_zero=False)
    if expression.startswith("{}"):
        return _Slot(field.name, _build_reader(expression[2:]), "map", omit_zero=False)
    pointer = expression.startswith("*")
    return _Slot(
        field.name,
        _build_reader(expression.lstrip("*")),
        "one",
        omit_zero=not pointer and field.omit_empty and not _is_message(expression),
    )


def resolve(expression: str) -> str:
    """Follow other names for slices, maps and scalars; a wrapped slice stays a message."""
    while expression.startswith("#") and expression[1:] not in table.SPECIAL:
        named = table.get_type(expression[1:])
        if not named.alias or named.wrapped:
            break
        expression = named.alias
    return expression


def _is_message(expression: str) -> bool:
    return expression.startswith("#")


@functools.cache
def _build_reader(expression: str) -> Reader:
    expression = resolve(expression).lstrip("*")
    if expression.startswith("#"):
        name = expression[1:]
        if name in table.SPECIAL:
            return _SPECIALS[name.rpartition(".")[2]]
        if table.get_type(name).wrapped:
            return _read_wrapped_list
        return _build_message_reader(name)
    return _SCALARS.get(expression, _read_opaque)


@functools.cache
def _build_message_reader(name: str) -> Reader:
    """The reader of a message; its fields are looked up when it is first used."""

    def read(data: Any) -> dict[str, Any]:
        slots = _get_slots(name)
        result: dict[str, Any] = {}
        for tag, raw in protowire.iterate_fields(data):
            slot = slots.get(tag)
            if slot is not None:
                _store(result, slot, raw)
        return result

    return read


def _store(result: dict[str, Any], slot: _Slot, raw: Any) -> None:
    match slot.shape:
        case "list":
            result.setdefault(slot.name, []).append(slot.read(raw))
        case "numbers":
            if numbers := [raw] if isinstance(raw, int) else protowire.read_packed(raw):
                result.setdefault(slot.name, []).extend(map(slot.read, numbers))
        case "map":
            key, value = _read_map_entry(raw, slot.read)
            result.setdefault(slot.name, {})[key] = value
        case "inline":
            result.update(slot.read(raw))
        case _:
            value = slot.read(raw)
            if not (slot.omit_zero and not value):
                result[slot.name] = value


def _read_map_entry(raw: Any, read: Reader) -> tuple[str, Any]:
    key, value = "", None
    for tag, part in protowire.iterate_fields(raw):
        if tag == 1:
            key = protowire.read_text(part)
        elif tag == 2:
            value = read(part)
    return key, value


def _read_base64(value: Any) -> str:
    return base64.b64encode(protowire.read_bytes(value)).decode()


def _read_opaque(value: Any) -> Any:
    raise ProtobufError("proto: a field of an unknown type cannot be read")


_SCALARS: dict[str, Reader] = {
    "string": protowire.read_text,
    "bool": protowire.read_bool,
    "int": protowire.read_signed,
    "int16": protowire.read_signed,
    "int32": protowire.read_signed,
    "int64": protowire.read_signed,
    "uint16": protowire.read_unsigned,
    "uint32": protowire.read_unsigned,
    "uint64": protowire.read_unsigned,
    "float64": protowire.read_double,
    "bytes": _read_base64,
}

_VARINTS = (protowire.read_bool, protowire.read_signed, protowire.read_unsigned)
"""Readers whose values a list may have one by one or packed, as each client chooses."""


def _read_wrapped_list(data: Any) -> list[str]:
    return [protowire.read_text(value) for tag, value in protowire.iterate_fields(data) if tag == 1]


def _read_numbers(data: Any) -> dict[int, int]:
    return {tag: protowire.read_signed(value) for tag, value in protowire.iterate_fields(data)}


def _read_moment(data: Any) -> datetime | None:
    numbers = _read_numbers(data)
    if not numbers:
        return None
    return _EPOCH + timedelta(seconds=numbers.get(1, 0), microseconds=numbers.get(2, 0) // 1000)


def _read_time(data: Any) -> str | None:
    moment = _read_moment(data)
    return None if moment is None else rfc3339.format_time(moment)


def _read_micro_time(data: Any) -> str | None:
    moment = _read_moment(data)
    return None if moment is None else rfc3339.format_micro(moment)


def _read_duration(data: Any) -> str:
    return duration.format_duration(_read_numbers(data).get(1, 0))


def _read_quantity(data: Any) -> str:
    return next(
        (protowire.read_text(value) for tag, value in protowire.iterate_fields(data) if tag == 1),
        "0",
    )


def _read_int_or_string(data: Any) -> int | str:
    parts = dict(protowire.iterate_fields(data))
    return (
        protowire.read_text(parts.get(3, b""))
        if parts.get(1, 0) == 1
        else protowire.read_signed(parts.get(2, 0))
    )


def _read_json(data: Any) -> Any:
    raw = next(
        (protowire.read_bytes(value) for tag, value in protowire.iterate_fields(data) if tag == 1),
        b"",
    )
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise ProtobufError(f"embedded JSON: {error}") from None


def _read_schema_or_array(data: Any) -> Any:
    parts = list(protowire.iterate_fields(data))
    schema = [value for tag, value in parts if tag == 1]
    if schema:
        return _build_message_reader("apiextensions/v1.JSONSchemaProps")(schema[0])
    return [
        _build_message_reader("apiextensions/v1.JSONSchemaProps")(value)
        for tag, value in parts
        if tag == 2
    ]


def _read_schema_or_bool(data: Any) -> Any:
    parts = dict(protowire.iterate_fields(data))
    if 2 in parts:
        return _build_message_reader("apiextensions/v1.JSONSchemaProps")(parts[2])
    return bool(parts.get(1, 0))


def _read_schema_or_strings(data: Any) -> Any:
    parts = list(protowire.iterate_fields(data))
    schema = [value for tag, value in parts if tag == 1]
    if schema:
        return _build_message_reader("apiextensions/v1.JSONSchemaProps")(schema[0])
    return [protowire.read_text(value) for tag, value in parts if tag == 2]


_SPECIALS: dict[str, Reader] = {
    "Time": _read_time,
    "MicroTime": _read_micro_time,
    "Duration": _read_duration,
    "Quantity": _read_quantity,
    "IntOrString": _read_int_or_string,
    "RawExtension": _read_json,
    "Object": _read_opaque,
    "FieldsV1": _read_json,
    "JSON": _read_json,
    "JSONSchemaPropsOrArray": _read_schema_or_array,
    "JSONSchemaPropsOrBool": _read_schema_or_bool,
    "JSONSchemaPropsOrStringArray": _read_schema_or_strings,
}
