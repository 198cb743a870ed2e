"""Messages as protobuf: a small codec that follows the table.

Unknown fields are passed over, packed and unpacked repeats are read alike, and a message that ends
too early is an error, never a crash.
"""

import functools
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from quarterdeck.kit import json, rfc3339
from quarterdeck.telemetry.fleet.messages import ENUMS, MESSAGES, Field

MAX_DEPTH = 30
_ONE_BYTE = [bytes([value]) for value in range(0x80)]
_ENDS_EARLY = "the message ends too early"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ProtobufError(ValueError):
    """Raised when bytes are not the message they should be."""


def decode(message: str, data: bytes, *, depth: int = 0) -> dict[str, Any]:
    """Read a message; absent fields are absent.

    Raises:
        ProtobufError: naming the message.
    """
    if depth > MAX_DEPTH:
        raise ProtobufError(f"{message}: nested deeper than {MAX_DEPTH} levels")
    fields = _table(message)
    result: dict[str, Any] = {}
    for number, value in _pieces(data):
        if (reader := fields.get(number)) is not None:
            reader(result, value, depth)
    return result


Reader = Callable[[dict[str, Any], int | bytes, int], None]
"""Stores a value from the wire in a message, at some depth."""


@functools.cache
def _table(message: str) -> dict[int, Reader]:
    """What to do with each field number of a message, decided once."""
    return {field.number: _reader(field) for field in MESSAGES[message]}


def _reader(field: Field) -> Reader:
    name = field.name
    kind = field.type.removeprefix("optional ")

    def one(result: dict[str, Any], value: int | bytes, depth: int) -> None:
        result[name] = _value(kind, value, field, depth)

    def repeated(result: dict[str, Any], value: int | bytes, depth: int) -> None:
        result.setdefault(name, []).append(_value(kind[9:], value, field, depth))

    def mapped(result: dict[str, Any], value: int | bytes, depth: int) -> None:
        key, member = _map_entry(kind[4:], value, field, depth)
        result.setdefault(name, {})[key] = member

    if kind.startswith("repeated "):
        return repeated
    return mapped if kind.startswith("map ") else one


def _pieces(data: bytes) -> list[tuple[int, int | bytes]]:
    """The fields of a message as they stand: number, and a number or bytes.

    Tags and lengths of one byte, nearly all of them, are read in place.
    """
    found: list[tuple[int, int | bytes]] = []
    position, end = 0, len(data)
    while position < end:
        tag = data[position]
        if tag < 0x80:
            position += 1
        else:
            tag, position = _varint(data, position)
        if tag & 7 == 2 and position < end and (size := data[position]) < 0x80:
            start = position + 1
            position = start + size
            if position > end:
                raise ProtobufError(_ENDS_EARLY)
            found.append((tag >> 3, data[start:position]))
        else:
            value, position = _wire_value(data, position, tag & 7)
            found.append((tag >> 3, value))
    return found


def _wire_value(data: bytes, position: int, kind: int) -> tuple[int | bytes, int]:
    match kind:
        case 0:
            return _varint(data, position)
        case 1 | 5:
            size = 8 if kind == 1 else 4
        case 2:
            size, position = _varint(data, position)
        case _:
            raise ProtobufError(f"wire type {kind} is not used here")
    end = position + size
    if end > len(data):
        raise ProtobufError(_ENDS_EARLY)
    return data[position:end], end


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise ProtobufError(_ENDS_EARLY)
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _map_entry(kind: str, value: int | bytes, field: Field, depth: int) -> tuple[str, Any]:
    key: Any = ""
    member: Any = {} if kind in MESSAGES else ""
    for number, raw in _pieces(_bytes(value, field)):
        if number == 1:
            key = _value("string", raw, field, depth)
        elif number == 2:
            member = _value(kind, raw, field, depth)
    return key, member


def _value(kind: str, value: int | bytes, field: Field, depth: int) -> Any:
    if kind == "string":
        try:
            return _bytes(value, field).decode()
        except UnicodeDecodeError as error:
            raise ProtobufError(f"{field.name} is not UTF-8") from error
    if kind in ENUMS or kind == "bool":
        if not isinstance(value, int):
            raise ProtobufError(f"{field.name} is not a number")
        if kind == "bool":
            return value != 0
        names = ENUMS[kind]
        return names[value] if value < len(names) else value
    data = _bytes(value, field)
    if kind == "bytes":
        return data
    if kind == "Timestamp":
        return _read_timestamp(data)
    if kind == "Struct":
        return _read_struct(data, depth + 1)
    return decode(kind, data, depth=depth + 1)


def _bytes(value: int | bytes, field: Field) -> bytes:
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
            parts.extend(_field(field.number, kind[9:], each) for each in value)
        elif kind.startswith("map "):
            for key, member in value.items():
                entry = _field(1, "string", key) + _field(2, kind[4:], member)
                parts.append(_delimited(field.number, entry))
        elif kind.startswith("optional ") or not _is_zero(kind, value):
            parts.append(_field(field.number, kind.removeprefix("optional "), value))
    return b"".join(parts)


def _is_zero(kind: str, value: Any) -> bool:
    if kind in ENUMS:
        return value in (0, "", ENUMS[kind][0])
    return kind not in MESSAGES and kind not in ("Timestamp", "Struct") and not value


def _field(number: int, kind: str, value: Any) -> bytes:
    if kind == "bool":
        return _write_varint(number << 3) + _write_varint(int(value))
    if kind in ENUMS:
        index = value if isinstance(value, int) else ENUMS[kind].index(value)
        return _write_varint(number << 3) + _write_varint(index)
    return _delimited(number, _payload(kind, value))


def _payload(kind: str, value: Any) -> bytes:
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


def _delimited(number: int, payload: bytes) -> bytes:
    return _write_varint(number << 3 | 2) + _write_varint(len(payload)) + payload


def _write_varint(value: int) -> bytes:
    if value < 0x80:
        return _ONE_BYTE[value]
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _read_timestamp(data: bytes) -> str:
    seconds = nanos = 0
    for number, value in _pieces(data):
        if isinstance(value, int):
            seconds, nanos = (value, nanos) if number == 1 else (seconds, value)
    if seconds >= 2**63:
        seconds -= 2**64
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError as error:
        raise ProtobufError(f"{seconds} seconds is no time") from error
    return rfc3339.format_micro(moment) if nanos else rfc3339.format_time(moment)


def _write_timestamp(text: str) -> bytes:
    since = rfc3339.parse(text) - _EPOCH
    seconds = since.days * 86400 + since.seconds
    nanos = since.microseconds * 1000
    return (_write_varint(8) + _write_varint(seconds % 2**64) if seconds else b"") + (
        _write_varint(16) + _write_varint(nanos) if nanos else b""
    )


def _read_struct(data: bytes, depth: int) -> dict[str, Any]:
    """google.protobuf.Struct: field 1 is a map from string to Value."""
    if depth > MAX_DEPTH:
        raise ProtobufError(f"Struct: nested deeper than {MAX_DEPTH} levels")
    result: dict[str, Any] = {}
    for number, entry in _pieces(data):
        if number != 1 or isinstance(entry, int):
            continue
        members = dict(_pieces(entry))
        key, value = members.get(1, b""), members.get(2, b"")
        if isinstance(key, bytes) and isinstance(value, bytes):
            result[key.decode("utf-8", "replace")] = _read_any(value, depth)
    return result


def _read_any(data: bytes, depth: int) -> Any:
    for number, value in _pieces(data):
        match number, value:
            case 2, bytes():
                return _number(value)
            case 3, bytes():
                return value.decode("utf-8", "replace")
            case 4, int():
                return bool(value)
            case 5, bytes():
                return _read_struct(value, depth + 1)
            case 6, bytes():
                return [
                    _read_any(each, depth + 1)
                    for _, each in _pieces(value)
                    if isinstance(each, bytes)
                ]
            case _:
                continue
    return None


def _number(data: bytes) -> float | int:
    """A double; whole numbers read as integers, as JSON writes them."""
    if len(data) != 8:
        raise ProtobufError("a number has eight bytes")
    found: float = struct.unpack("<d", data)[0]
    return int(found) if found.is_integer() else found


def _write_struct(document: dict[str, Any]) -> bytes:
    return b"".join(
        _delimited(1, _field(1, "string", key) + _delimited(2, _write_any(value)))
        for key, value in document.items()
    )


def _write_any(value: Any) -> bytes:
    match value:
        case None:
            return _write_varint(8) + b"\0"
        case bool():
            return _write_varint(32) + _write_varint(int(value))
        case int() | float():
            return _write_varint(2 << 3 | 1) + struct.pack("<d", value)
        case str():
            return _delimited(3, value.encode())
        case dict():
            return _delimited(5, _write_struct(value))
        case list():
            return _delimited(6, b"".join(_delimited(1, _write_any(each)) for each in value))
        case _:
            return _delimited(3, json.encode(value))
