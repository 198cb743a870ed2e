"""The Kubernetes protobuf encoding of built-in kinds, written by the table.

The bytes are those of the published Go types: fields in the order of their numbers, map entries
in the order of their keys, plain fields also when they are zero, pointers only when they are set.
A writer is built once for each type, on first use.
"""

import binascii
import functools
import struct
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from quarterdeck.kit import duration, rfc3339
from quarterdeck.kit import json as kit_json
from quarterdeck.kit.protowire import ProtobufError, write_varint
from quarterdeck.meta.builtins import table
from quarterdeck.meta.builtins.protobuf import MAGIC, resolve

Writer = Callable[[Any], bytes]
"""Encodes a value as the payload of a length-delimited field."""

_META_GROUP = "meta.k8s.io/"
_LENGTHS = tuple(write_varint(size) for size in range(4096))
_SCHEMA = "apiextensions/v1.JSONSchemaProps"
_INTEGERS = frozenset({"bool", "int", "int16", "int32", "int64", "uint16", "uint32", "uint64"})


def find_message_type(api_version: str, kind: str) -> str | None:
    """The message type of a kind in protobuf; None if the table has none."""
    if api_version.startswith(_META_GROUP):
        return f"meta/v1.{kind}" if kind.startswith("PartialObjectMetadata") else None
    return table.find_kind_type(api_version, kind)


def encode(value: dict[str, Any]) -> bytes:
    """Encode an object with `kind` and `apiVersion` as an envelope.

    Raises:
        ProtobufError: if the table has no such kind, or the object does not fit its type.
    """
    api_version, kind = value.get("apiVersion") or "", value.get("kind") or ""
    name = find_message_type(api_version, kind)
    if name is None:
        raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')
    return wrap(api_version, kind, encode_message(name, value))


def encode_message(name: str, value: dict[str, Any]) -> bytes:
    """Encode an object of a type of the table, without an envelope.

    Raises:
        ProtobufError: if the object does not fit the type.
    """
    try:
        return _build_message_writer(name)(value)
    except (AttributeError, TypeError, ValueError, struct.error) as error:
        raise ProtobufError(f"an object does not fit the type {name}: {error}") from error


def wrap(api_version: str, kind: str, message: bytes) -> bytes:
    """Put a message into the envelope that names its kind."""
    type_meta = b"".join((b"\x0a", _write_text(api_version), b"\x12", _write_text(kind)))
    head = (MAGIC, b"\x0a", _write_length(len(type_meta)), type_meta)
    raw = (b"\x12", _write_length(len(message)), message)
    return b"".join((*head, *raw, b"\x1a\x00\x22\x00"))


def wrap_list(
    api_version: str, kind: str, metadata: dict[str, Any], items: Iterable[bytes]
) -> bytes:
    """Put messages into a list of their kind, and the list into an envelope."""
    parts = [_write_field(1, _build_message_writer("meta/v1.ListMeta")(metadata))]
    for item in items:
        parts += (b"\x12", _write_length(len(item)), item)
    return wrap(api_version, kind, b"".join(parts))


def encode_watch_event(kind: str, document: bytes) -> bytes:
    """Encode the frame of a watch: its length in four bytes, then the event around `document`."""
    raw = _write_field(1, document)
    event = b"".join((b"\x0a", _write_text(kind), b"\x12", _write_length(len(raw)), raw))
    return struct.pack(">I", len(event)) + event


class _Slot(NamedTuple):
    name: str
    """The member of the JSON object; empty if its members are inlined in the parent."""
    write: Callable[[list[bytes], Any], None]
    """Adds the field with a value to the parts of the message."""
    zero: bytes
    """The field when the member is absent."""


@functools.cache
def _get_slots(name: str) -> tuple[_Slot, ...]:
    fields = sorted((each for each in table.get_type(name).fields if each.tag), key=_get_tag)
    return tuple(_build_slot(each) for each in fields)


def _get_tag(field: table.Field) -> int:
    return field.tag


@functools.cache
def _build_message_writer(name: str) -> Writer:
    """The writer of a message; its fields are looked up when it is first used."""

    def write(value: Any) -> bytes:
        parts: list[bytes] = []
        get = value.get
        for member, add, zero in _get_slots(name):
            each = get(member) if member else value
            if each is not None:
                add(parts, each)
            elif zero:
                parts.append(zero)
        return b"".join(parts)

    return write


def _build_slot(field: table.Field) -> _Slot:
    expression = resolve(field.type)
    if expression.startswith("[]"):
        element = _build_adder(field.tag, expression[2:])
        return _Slot(field.name, _build_list_adder(element), b"")
    if expression.startswith("{}"):
        return _Slot(field.name, _build_map_adder(field.tag, expression[2:]), b"")
    add = _build_adder(field.tag, expression)
    zero = b"" if expression.startswith("*") else _build_zero(field.tag, expression)
    return _Slot(field.name, add, zero)


def _build_zero(tag: int, expression: str) -> bytes:
    """The bytes that Go writes for an unset plain field."""
    if expression in _INTEGERS:
        return _write_key(tag, 0) + b"\x00"
    if expression == "float64":
        return _write_key(tag, 1) + bytes(8)
    if expression == "bytes":
        return b""
    if not expression.startswith("#"):
        return _write_field(tag, b"")
    name = expression[1:]
    if name in table.SPECIAL:
        return _write_field(tag, _ZEROS.get(name.rpartition(".")[2], b""))
    if table.get_type(name).wrapped:
        return b""
    return _write_field(tag, _build_message_writer(name)({}))


def _build_adder(tag: int, expression: str) -> Callable[[list[bytes], Any], None]:
    """Adds one value of a type as a field."""
    expression = resolve(expression.lstrip("*"))
    if expression in _INTEGERS:
        return _build_integer_adder(_write_key(tag, 0))
    key = _write_key(tag, 1 if expression == "float64" else 2)
    if expression == "float64":
        return lambda parts, value: parts.extend((key, struct.pack("<d", value)))
    write = _find_writer(expression)

    def add(parts: list[bytes], value: Any) -> None:
        payload = write(value)
        size = len(payload)
        parts += (key, _LENGTHS[size] if size < 4096 else write_varint(size), payload)

    return add


def _build_integer_adder(key: bytes) -> Callable[[list[bytes], Any], None]:
    def add(parts: list[bytes], value: Any) -> None:
        parts.append(key + (_LENGTHS[value] if 0 <= value < 4096 else write_varint(value)))

    return add


def _build_list_adder(
    element: Callable[[list[bytes], Any], None],
) -> Callable[[list[bytes], Any], None]:
    def add(parts: list[bytes], values: Any) -> None:
        for value in values:
            element(parts, value)

    return add


def _build_map_adder(tag: int, expression: str) -> Callable[[list[bytes], Any], None]:
    key, write_value = _write_key(tag, 2), _build_adder(2, expression)

    def add(parts: list[bytes], values: Any) -> None:
        for name in sorted(values, key=str.encode):
            entry = [b"\x0a", _write_text(name)]
            write_value(entry, values[name])
            payload = b"".join(entry)
            parts += (key, _write_length(len(payload)), payload)

    return add


def _find_writer(expression: str) -> Writer:
    if expression.startswith("#"):
        name = expression[1:]
        if name in table.SPECIAL:
            return _SPECIALS[name.rpartition(".")[2]]
        if table.get_type(name).wrapped:
            return _write_texts
        return _build_message_writer(name)
    return binascii.a2b_base64 if expression == "bytes" else str.encode


def _write_key(tag: int, wire: int) -> bytes:
    return write_varint(tag << 3 | wire)


def _write_length(size: int) -> bytes:
    return _LENGTHS[size] if size < 4096 else write_varint(size)


def _write_field(tag: int, payload: bytes) -> bytes:
    return _write_key(tag, 2) + _write_length(len(payload)) + payload


def _write_text(text: str) -> bytes:
    raw = text.encode()
    return _write_length(len(raw)) + raw


def _write_texts(values: Any) -> bytes:
    return b"".join(b"\x0a" + _write_text(value) for value in values)


@functools.lru_cache(maxsize=4096)
def _write_moment(text: str) -> bytes:
    """Encode a time; cached, because an object has the same time in several places."""
    moment = rfc3339.parse(text)
    seconds = int(moment.replace(microsecond=0).timestamp())
    return b"".join(
        (b"\x08", write_varint(seconds), b"\x10", write_varint(moment.microsecond * 1000))
    )


def _write_duration(value: Any) -> bytes:
    return b"\x08" + write_varint(duration.parse(value))


def _write_quantity(value: Any) -> bytes:
    return b"\x0a" + _write_text(str(value))


def _write_int_or_string(value: Any) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00\x1a" + _write_text(value)
    return b"\x08\x00\x10" + write_varint(value) + b"\x1a\x00"


def _write_json(value: Any) -> bytes:
    return _write_field(1, kit_json.encode(value))


def _write_schema(value: Any) -> bytes:
    return _build_message_writer(_SCHEMA)(value)


def _write_schema_or_array(value: Any) -> bytes:
    if isinstance(value, dict):
        return _write_field(1, _write_schema(value))
    return b"".join(_write_field(2, _write_schema(each)) for each in value)


def _write_schema_or_bool(value: Any) -> bytes:
    if isinstance(value, bool):
        return b"\x08\x01" if value else b"\x08\x00"
    return b"\x08\x01" + _write_field(2, _write_schema(value))


def _write_schema_or_strings(value: Any) -> bytes:
    if isinstance(value, dict):
        return _write_field(1, _write_schema(value))
    return b"".join(b"\x12" + _write_text(each) for each in value)


_SPECIALS: dict[str, Writer] = {
    "Time": _write_moment,
    "MicroTime": _write_moment,
    "Duration": _write_duration,
    "Quantity": _write_quantity,
    "IntOrString": _write_int_or_string,
    "RawExtension": _write_json,
    "Object": _write_json,
    "FieldsV1": _write_json,
    "JSON": _write_json,
    "JSONSchemaPropsOrArray": _write_schema_or_array,
    "JSONSchemaPropsOrBool": _write_schema_or_bool,
    "JSONSchemaPropsOrStringArray": _write_schema_or_strings,
}
_ZEROS = {
    "Duration": b"\x08\x00",
    "Quantity": b"\x0a\x010",
    "IntOrString": b"\x08\x00\x10\x00\x1a\x00",
}
"""What Go writes for unset plain fields of these types; others are empty."""
