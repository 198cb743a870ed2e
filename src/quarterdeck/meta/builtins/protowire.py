"""Protobuf's wire format: fields, numbers and texts, without any knowledge of messages."""

import struct
from collections.abc import Iterator
from typing import Any

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class ProtobufError(ValueError):
    """Raised when bytes are not what they are declared to be."""


def fields(data: Any) -> Iterator[tuple[int, Any]]:
    """Tag and raw value of each field; a varint as int, everything else as a view."""
    if isinstance(data, int):
        raise ProtobufError("proto: wrong wireType: a message stands where a number is")
    view = memoryview(data)
    position, end = 0, len(view)
    while position < end:
        key, position = _varint(view, position)
        wire = key & 7
        if wire == _VARINT:
            value, position = _varint(view, position)
            yield key >> 3, value
            continue
        if wire == _BYTES:
            size, position = _varint(view, position)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ProtobufError(f"protobuf: wire type {wire} is not supported")
        if position + size > end:
            raise ProtobufError("unexpected EOF")
        yield key >> 3, view[position : position + size]
        position += size


def _varint(view: memoryview, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if position >= len(view):
            raise ProtobufError("unexpected EOF")
        byte = view[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
        shift += 7
        if shift > 63:
            raise ProtobufError("proto: integer overflow")


def text(value: Any) -> str:
    """A string field."""
    try:
        return str(value, "utf-8")
    except (TypeError, UnicodeDecodeError):
        raise ProtobufError("proto: a string field does not hold a UTF-8 string") from None


def unsigned(value: Any) -> int:
    """A number as it stands."""
    if not isinstance(value, int):
        raise ProtobufError("proto: wrong wireType: a number is not a varint")
    return value


def signed(value: Any) -> int:
    """A number in two's complement."""
    number = unsigned(value)
    return number - 2**64 if number >= 2**63 else number


def boolean(value: Any) -> bool:
    """A truth value."""
    return unsigned(value) != 0


def raw_bytes(value: Any) -> bytes:
    """The bytes of a length-delimited or fixed field."""
    if isinstance(value, int):
        raise ProtobufError("proto: wrong wireType: a number stands where bytes are")
    return bytes(value)


def double(value: Any) -> float:
    """A 64-bit float."""
    return float(struct.unpack("<d", raw_bytes(value))[0])
