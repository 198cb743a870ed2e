"""Messages as protobuf: a small codec that follows the table.

Unknown fields are skipped, packed and unpacked repeats are read alike, and a message that ends
too early is an error, never a crash.
"""

import functools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from quarterdeck.kit import json, rfc3339
from quarterdeck.kit.protowire import (
    ProtobufError,
    iterate_fields,
    read_double,
    read_signed,
    write_bytes,
    write_double,
    write_number,
)
from quarterdeck.telemetry.fleet.fields import Field
from quarterdeck.telemetry.fleet.messages import ENUMS, MESSAGES, NUMBERS

MAX_DEPTH = 30
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decode(message: str, data: bytes, *, depth: int = 0) -> dict[str, Any]:
    """Decode a message; absent fields are not in the result.

    Raises:
        ProtobufError: naming the message.
    """
    if depth > MAX_DEPTH:
        raise ProtobufError(f"{message}: nested deeper than {MAX_DEPTH} levels")
    readers = _build_table(message)
    result: dict[str, Any] = {}
    for number, value in iterate_fields(data):
        if (reader := readers.get(number)) is not None:
            reader(result, value, depth)
    return result


Reader = Callable[[dict[str, Any], int | bytes, int], None]
"""Decodes a value of a field into a message, at a nesting depth."""


@functools.cache
def _build_table(message: str) -> dict[int, Reader]:
    """The readers of a message by field number; cached."""
    return {field.number: _build_reader(field) for field in MESSAGES[message]}


def _build_reader(field: Field) -> Reader:
    name = field.name
    kind = field.type.removeprefix("optional ")

    def one(result: dict[str, Any], value: int | bytes, depth: int) -> None:
        result[name] = _read_value(kind, value, field, depth)

    def repeated(result: dict[str, Any], value: int | bytes, depth: int) -> None:
        result.setdefault(name, []).append(_read_value(kind[9:], value, field, depth))

    def mapped(result: dict[str, Any], value: int | bytes, depth: int) -> None:
        key, member = _read_map_entry(kind[4:], value, field, depth)
        result.setdefault(name, {})[key] = member

    if kind.startswith("repeated "):
        return repeated
    return mapped if kind.startswith("map ") else one


def _read_map_entry(kind: str, value: int | bytes, field: Field, depth: int) -> tuple[str, Any]:
    key: Any = ""
    member: Any = {} if kind in MESSAGES else ""
    for number, raw in iterate_fields(_read_bytes(value, field)):
        if number == 1:
            key = _read_value("string", raw, field, depth)
        elif number == 2:
            member = _read_value(kind, raw, field, depth)
    return key, member


def _read_value(kind: str, value: int | bytes, field: Field, depth: int) -> Any:
    if kind == "string":
        try:
            return _read_bytes(value, field).decode()
        except UnicodeDecodeError as error:
            raise ProtobufError(f"{field.name} is not UTF-8") from error
    if kind in ENUMS or kind in ("bool", *NUMBERS):
        if not isinstance(value, int):
            raise ProtobufError(f"{field.name} is not a number")
        if kind == "bool":
            return value != 0
        if kind in NUMBERS:
            return value
        names = ENUMS[kind]
        return names[value] if value < len(names) else value
    data = _read_bytes(value, field)
    if kind == "bytes":
        return data
    if kind == "Timestamp":
        return _read_timestamp(data)
    if kind == "Struct":
        return _read_struct(data, depth + 1)
    return decode(kind, data, depth=depth + 1)


def _read_bytes(value: int | bytes, field: Field) -> bytes:
    if isinstance(value, int):
        raise ProtobufError(f"{field.name} is a number, not text")
    return value


def encode(message: str, document: dict[str, Any]) -> bytes:
    """Write a message; zero values of fields without presence are left out."""
    parts: list[bytes] = []
    for field in MESSAGES[message]:
        value = document.get(field.name)
        if value is None:
            continue
        kind = field.type
        if kind.startswith("repeated "):
            parts.extend(_write_field(field.number, kind[9:], each) for each in value)
        elif kind.startswith("map "):
            for key, member in value.items():
                entry = _write_field(1, "string", key) + _write_field(2, kind[4:], member)
                parts.append(write_bytes(field.number, entry))
        elif kind.startswith("optional ") or not _is_zero(kind, value):
            parts.append(_write_field(field.number, kind.removeprefix("optional "), value))
    return b"".join(parts)


def _is_zero(kind: str, value: Any) -> bool:
    if kind in ENUMS:
        return value in (0, "", ENUMS[kind][0])
    return kind not in MESSAGES and kind not in ("Timestamp", "Struct") and not value


def _write_field(number: int, kind: str, value: Any) -> bytes:
    if kind == "bool" or kind in NUMBERS:
        return write_number(number, int(value))
    if kind in ENUMS:
        index = value if isinstance(value, int) else ENUMS[kind].index(value)
        return write_number(number, index)
    return write_bytes(number, _write_payload(kind, value))


def _write_payload(kind: str, value: Any) -> bytes:
    match kind:
        case "string":
            return str(value).encode()
        case "bytes":
            return bytes(value)
        case "Timestamp":
            return _write_timestamp(value)
        case "Struct":
            return _write_struct(value)
        case _:
            return encode(kind, value)


def _read_timestamp(data: bytes) -> str:
    seconds = nanos = 0
    for number, value in iterate_fields(data):
        if isinstance(value, int):
            seconds, nanos = (value, nanos) if number == 1 else (seconds, value)
    seconds = read_signed(seconds)
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError as error:
        raise ProtobufError(f"timestamp out of range: {seconds} seconds") from error
    return rfc3339.format_micro(moment) if nanos else rfc3339.format_time(moment)


def _write_timestamp(text: str) -> bytes:
    since = rfc3339.parse(text) - _EPOCH
    seconds = since.days * 86400 + since.seconds
    nanos = since.microseconds * 1000
    return (write_number(1, seconds) if seconds else b"") + (
        write_number(2, nanos) if nanos else b""
    )


def _read_struct(data: bytes, depth: int) -> dict[str, Any]:
    """google.protobuf.Struct: field 1 is a map from string to Value."""
    if depth > MAX_DEPTH:
        raise ProtobufError(f"Struct: nested deeper than {MAX_DEPTH} levels")
    result: dict[str, Any] = {}
    for number, entry in iterate_fields(data):
        if number != 1 or isinstance(entry, int):
            continue
        members = dict(iterate_fields(entry))
        key, value = members.get(1, b""), members.get(2, b"")
        if isinstance(key, bytes) and isinstance(value, bytes):
            result[key.decode("utf-8", "replace")] = _read_any(value, depth)
    return result


def _read_any(data: bytes, depth: int) -> Any:
    for number, value in iterate_fields(data):
        match number, value:
            case 2, bytes():
                return _to_number(read_double(value))
            case 3, bytes():
                return value.decode("utf-8", "replace")
            case 4, int():
                return bool(value)
            case 5, bytes():
                return _read_struct(value, depth + 1)
            case 6, bytes():
                return [
                    _read_any(each, depth + 1)
                    for _, each in iterate_fields(value)
                    if isinstance(each, bytes)
                ]
            case _:
                continue
    return None


def _to_number(found: float) -> float | int:
    """Convert whole numbers to integers, as JSON writes them."""
    return int(found) if found.is_integer() else found


def _write_struct(document: dict[str, Any]) -> bytes:
    return b"".join(
        write_bytes(1, _write_field(1, "string", key) + write_bytes(2, _write_any(value)))
        for key, value in document.items()
    )


def _write_any(value: Any) -> bytes:
    match value:
        case None:
            return write_number(1, 0)
        case bool():
            return write_number(4, int(value))
        case int() | float():
            return write_double(2, value)
        case str():
            return write_bytes(3, value.encode())
        case dict():
            return write_bytes(5, _write_struct(value))
        case list():
            return write_bytes(6, b"".join(write_bytes(1, _write_any(each)) for each in value))
        case _:
            return write_bytes(3, json.encode(value))
