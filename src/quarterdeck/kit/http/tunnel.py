"""Upgraded connections: after a 101 response both sides send bytes in any order.

Input is bounded: while more than the limit is unread, the socket is not read.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NoReturn, Protocol

from quarterdeck.kit.http.encode import format_headers
from quarterdeck.kit.http.errors import ConnectionClosed
from quarterdeck.kit.http.message import StreamResponse

if TYPE_CHECKING:
    from quarterdeck.kit.http.send_buffer import SendBuffer
    from quarterdeck.kit.http.writer import BodyWriter

MAX_BUFFERED = 256 * 1024
"""Limit of unread bytes; one read of the socket may exceed it."""


class Inlet(Protocol):
    """The reading half of the connection."""

    def hold(self) -> None:
        """Stop reading from the socket."""
        ...

    def resume(self) -> None:
        """Go on reading."""
        ...


class Tunnel:
    """Both directions of an upgraded connection."""

    def __init__(self, out: "SendBuffer", inlet: Inlet) -> None:
        self._out = out
        self._inlet = inlet
        self._is_held = False
        self._buffer = bytearray()
        self._arrived = asyncio.Event()
        self._is_ended = False
        self.closing = asyncio.Event()
        """Set when the server drains: the handler should end the tunnel."""

    def feed(self, data: bytes) -> None:
        """Bytes arrived."""
        self._buffer += data
        self._arrived.set()
        if not self._is_held and len(self._buffer) > MAX_BUFFERED:
            self._is_held = True
            self._inlet.hold()

    def end(self) -> None:
        """The peer sends no more."""
        self._is_ended = True
        self._arrived.set()

    async def receive(self) -> bytes:
        """The next bytes; empty when the peer sends no more."""
        while not self._buffer and not self._is_ended:
            self._arrived.clear()
            await self._arrived.wait()
        data, self._buffer = bytes(self._buffer), bytearray()
        if self._is_held:
            self._is_held = False
            self._inlet.resume()
        return data

    async def send(self, data: bytes) -> None:
        """Send bytes, when the peer has room for them.

        Raises:
            ConnectionClosed: if the peer has disconnected.
        """
        await self._out.wait_writable()
        if self._out.is_gone:
            raise ConnectionClosed("the peer closed the connection")
        self._out.put(data)


class Upgrade(StreamResponse):
    """A 101 response; `serve` talks through the tunnel, and the connection ends when it returns."""

    __slots__ = ("serve",)

    def __init__(
        self, headers: list[tuple[str, str]], serve: Callable[[Tunnel], Awaitable[None]]
    ) -> None:
        super().__init__(101, headers, _refuse_body)
        self.serve = serve

    def encode_head(self) -> bytes:
        """The head that ends HTTP on the connection."""
        text = "HTTP/1.1 101 Switching Protocols\r\n" + format_headers(self.headers) + "\r\n"
        return text.encode("latin-1")


async def _refuse_body(writer: "BodyWriter") -> NoReturn:
    raise ValueError("an upgraded connection has no response body")
