"""Protobuf's wire format: fields, numbers and texts, without any knowledge of messages."""

import struct
from typing import Any, Final

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_ONE_BYTE: Final = tuple(bytes([value]) for value in range(0x80))


class ProtobufError(ValueError):
    """Raised when bytes are not what they are declared to be."""


def iterate_fields(data: Any) -> list[tuple[int, Any]]:
    """Number and raw value of each field: a varint as int, all else as a piece of `data`.

    Give a `memoryview` to avoid copies. Keys and lengths of one byte, nearly all of them, are read
    in place.

    Raises:
        ProtobufError: if the bytes end too early or are of an unknown wire type.
    """
    if isinstance(data, int):
        raise ProtobufError("proto: wrong wireType: expected a message, found a number")
    found: list[tuple[int, Any]] = []
    position, end = 0, len(data)
    while position < end:
        key = data[position]
        if key < 0x80:
            position += 1
        else:
            key, position = _read_varint(data, position)
        wire = key & 7
        if wire == _VARINT:
            value, position = _read_varint(data, position)
            found.append((key >> 3, value))
            continue
        start, size = _find_extent(data, position, wire)
        position = start + size
        if position > end:
            raise ProtobufError("unexpected EOF")
        found.append((key >> 3, data[start:position]))
    return found


def _find_extent(data: Any, position: int, wire: int) -> tuple[int, int]:
    """Where a value that is not a varint begins, and how long it is."""
    if wire == _BYTES:
        if position < len(data) and (size := data[position]) < 0x80:
            return position + 1, size
        size, position = _read_varint(data, position)
        return position, size
    if wire in (_FIXED64, _FIXED32):
        return position, 8 if wire == _FIXED64 else 4
    raise ProtobufError(f"protobuf: wire type {wire} is not supported")


def _read_varint(data: Any, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if position >= len(data):
            raise ProtobufError("unexpected EOF")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
        shift += 7
        if shift > 63:
            raise ProtobufError("proto: integer overflow")


def read_packed(data: Any) -> list[int]:
    """The varints of a packed list.

    Raises:
        ProtobufError: if the bytes end within one.
    """
    found: list[int] = []
    position, end = 0, len(data)
    while position < end:
        value, position = _read_varint(data, position)
        found.append(value)
    return found


def read_text(value: Any) -> str:
    """A string field."""
    try:
        return str(value, "utf-8")
    except (TypeError, UnicodeDecodeError):
        raise ProtobufError("proto: a string field does not hold a UTF-8 string") from None


def read_unsigned(value: Any) -> int:
    """An unsigned number."""
    if not isinstance(value, int):
        raise ProtobufError("proto: wrong wireType: expected a varint")
    return value


def read_signed(value: Any) -> int:
    """A number in two's complement."""
    number = read_unsigned(value)
    return number - 2**64 if number >= 2**63 else number


def read_bool(value: Any) -> bool:
    """A truth value."""
    return read_unsigned(value) != 0


def read_bytes(value: Any) -> bytes:
    """The bytes of a length-delimited or fixed field."""
    if isinstance(value, int):
        raise ProtobufError("proto: wrong wireType: expected bytes, found a number")
    return bytes(value)


def read_double(value: Any) -> float:
    """A 64-bit float."""
    data = read_bytes(value)
    if len(data) != 8:
        raise ProtobufError("proto: wrong wireType: expected a double of 8 bytes")
    return float(struct.unpack("<d", data)[0])


def write_varint(value: int) -> bytes:
    """A number of up to 64 bits, a negative one in two's complement."""
    if 0 <= value < 0x80:
        return _ONE_BYTE[value]
    value %= 2**64
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def write_number(number: int, value: int) -> bytes:
    """A field with a number."""
    return write_varint(number << 3) + write_varint(value)


def write_double(number: int, value: float) -> bytes:
    """A field with a 64-bit float."""
    return write_varint(number << 3 | _FIXED64) + struct.pack("<d", value)


def write_bytes(number: int, payload: bytes) -> bytes:
    """A field with bytes, a text or a message."""
    return write_varint(number << 3 | _BYTES) + write_varint(len(payload)) + payload
