"""WebSocket (RFC 6455), the server's side of it, without I/O: bytes in, messages out.

No extensions and no compression are offered, so every reserved bit is an error.
"""

import base64
import binascii
import enum
import hashlib
import struct
from collections.abc import Iterator
from typing import NamedTuple, Protocol

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MAX_MESSAGE = 16 * 1024 * 1024


class Opcode(enum.IntEnum):
    """What a frame carries."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


class CloseCode(enum.IntEnum):
    """Why a connection ends."""

    NORMAL = 1000
    GOING_AWAY = 1001
    PROTOCOL_ERROR = 1002
    UNSUPPORTED = 1003
    POLICY = 1008
    TOO_BIG = 1009
    TRY_AGAIN_LATER = 1013


class WebSocketError(Exception):
    """Raised when the peer breaks the protocol; carries the code to close with."""

    def __init__(self, code: CloseCode, problem: str) -> None:
        super().__init__(problem)
        self.code = code


class Fields(Protocol):
    """Header fields of a request."""

    def get(self, name: str, /) -> str | None:
        """The value of a field."""
        ...


class Message(NamedTuple):
    """A complete message, or a control frame."""

    opcode: Opcode
    data: bytes


def is_handshake(headers: Fields) -> bool:
    """Whether a request asks for a WebSocket."""
    connection = (headers.get("connection") or "").lower().replace(" ", "").split(",")
    return (headers.get("upgrade") or "").lower() == "websocket" and "upgrade" in connection


def accept(headers: Fields) -> list[tuple[str, str]]:
    """The fields of the 101 that completes a handshake.

    Raises:
        WebSocketError: if the request is not a handshake of version 13.
    """
    key = (headers.get("sec-websocket-key") or "").strip()
    try:
        is_key = len(base64.b64decode(key, validate=True)) == 16
    except (binascii.Error, ValueError):
        is_key = False
    if headers.get("sec-websocket-version") != "13" or not is_key:
        raise WebSocketError(CloseCode.PROTOCOL_ERROR, "not a WebSocket handshake of version 13")
    digest = hashlib.sha1(key.encode() + _GUID, usedforsecurity=False).digest()
    return [
        ("upgrade", "websocket"),
        ("connection", "Upgrade"),
        ("sec-websocket-accept", base64.b64encode(digest).decode()),
    ]


def build_frame(opcode: Opcode, data: bytes) -> bytes:
    """A whole message in one frame, as a server sends it."""
    head = bytes([0x80 | opcode])
    size = len(data)
    if size < 126:
        return head + bytes([size]) + data
    if size < 1 << 16:
        return head + b"\x7e" + struct.pack("!H", size) + data
    return head + b"\x7f" + struct.pack("!Q", size) + data


def build_close(code: CloseCode, reason: str = "") -> bytes:
    """The frame that ends a connection."""
    return build_frame(Opcode.CLOSE, struct.pack("!H", code) + reason.encode()[:120])


class FrameReader:
    """Collects the frames of a client into messages."""

    def __init__(self, max_message: int = MAX_MESSAGE) -> None:
        self._max = max_message
        self._buffer = bytearray()
        self._message = bytearray()
        """The fragments so far, joined: a list of them would grow with empty fragments, too."""
        self._opcode: Opcode | None = None

    @property
    def held(self) -> int:
        """Bytes of messages that are not complete."""
        return len(self._buffer) + len(self._message)

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that these bytes complete.

        Raises:
            WebSocketError: if the peer breaks the protocol, or a message is too big.
        """
        self._buffer += data
        while (frame := self._take_frame()) is not None:
            is_final, opcode, payload = frame
            if opcode >= Opcode.CLOSE:
                yield Message(opcode, payload)
            elif (message := self._collect(opcode, payload, is_final=is_final)) is not None:
                yield message

    def _collect(self, opcode: Opcode, payload: bytes, *, is_final: bool) -> Message | None:
        if (opcode is Opcode.CONTINUATION) is (self._opcode is None):
            raise WebSocketError(CloseCode.PROTOCOL_ERROR, "unexpected fragment of a message")
        kind = self._opcode if self._opcode is not None else opcode
        self._message += payload
        if len(self._message) > self._max:
            raise WebSocketError(CloseCode.TOO_BIG, f"a message exceeds {self._max} bytes")
        self._opcode = kind
        if not is_final:
            return None
        message = Message(kind, bytes(self._message))
        self._message, self._opcode = bytearray(), None
        return message

    def _take_frame(self) -> tuple[bool, Opcode, bytes] | None:
        """The next frame, unmasked; None until all of it is there."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        first, second = buffer[0], buffer[1]
        opcode, is_final = self._check_head(first, second)
        size, at = second & 0x7F, 2
        if size >= 126:
            width = 2 if size == 126 else 8
            if len(buffer) < 2 + width:
                return None
            size, at = int.from_bytes(buffer[2 : 2 + width]), 2 + width
        if size > self._max:
            raise WebSocketError(CloseCode.TOO_BIG, f"a frame exceeds {self._max} bytes")
        if len(buffer) < at + 4 + size:
            return None
        mask, payload = bytes(buffer[at : at + 4]), bytes(buffer[at + 4 : at + 4 + size])
        del buffer[: at + 4 + size]
        return is_final, opcode, _unmask(payload, mask)

    @staticmethod
    def _check_head(first: int, second: int) -> tuple[Opcode, bool]:
        is_final = bool(first & 0x80)
        try:
            opcode = Opcode(first & 0x0F)
        except ValueError:
            raise WebSocketError(CloseCode.PROTOCOL_ERROR, "unknown opcode") from None
        if first & 0x70:
            raise WebSocketError(CloseCode.PROTOCOL_ERROR, "reserved bits are set")
        if not second & 0x80:
            raise WebSocketError(CloseCode.PROTOCOL_ERROR, "frames from a client must be masked")
        if opcode >= Opcode.CLOSE and (not is_final or second & 0x7F > 125):
            raise WebSocketError(
                CloseCode.PROTOCOL_ERROR, "a control frame is fragmented or longer than 125 bytes"
            )
        return opcode, is_final


def _unmask(payload: bytes, mask: bytes) -> bytes:
    if not payload:
        return b""
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload) ^ int.from_bytes(key)).to_bytes(size)
