"""A body on its way out: chunks to a peer that may be slow."""

import asyncio
from typing import Protocol

from quarterdeck.kit.http.encode import LAST_CHUNK, encode_chunk
from quarterdeck.kit.http.errors import ConnectionClosed


class Outlet(Protocol):
    """What a writer needs of its connection."""

    def put(self, data: bytes) -> None:
        """Write bytes to the transport; does nothing once the peer is gone."""
        ...

    @property
    def unsent(self) -> int:
        """Bytes the transport still holds."""
        ...

    @property
    def is_gone(self) -> bool:
        """The connection is lost or being cut."""
        ...

    async def wait_writable(self) -> None:
        """Wait until the transport holds less than its limit, or the peer is gone."""
        ...


class BodyWriter:
    """Writes a streamed body.

    What is written within one turn of the event loop goes out together, as one chunk.
    """

    __slots__ = (
        "_chunked",
        "_head",
        "_loop",
        "_outlet",
        "_parts",
        "_scheduled",
        "_waiting",
        "closing",
    )

    def __init__(self, outlet: Outlet, head: bytes, *, chunked: bool) -> None:
        self._outlet = outlet
        self._head = head
        self._chunked = chunked
        self._parts: list[bytes] = []
        self._waiting = 0
        self._scheduled = True
        self._loop = asyncio.get_running_loop()
        self._loop.call_soon(self._flush)
        self.closing = asyncio.Event()
        """Set when the server drains: end the stream soon."""

    @property
    def buffered(self) -> int:
        """Bytes written that the kernel has not taken yet."""
        return self._waiting + self._outlet.unsent

    def write_nowait(self, data: bytes) -> int:
        """Queue bytes and return how many are buffered now; the caller bounds that number.

        Raises:
            ConnectionClosed: the connection is lost.
        """
        if self._outlet.is_gone:
            raise ConnectionClosed("the peer closed the connection while a body was being written")
        if data:
            self._parts.append(data)
            self._waiting += len(data)
            if not self._scheduled:
                self._scheduled = True
                self._loop.call_soon(self._flush)
        return self._waiting + self._outlet.unsent

    async def write(self, data: bytes) -> None:
        """Write bytes, waiting while the peer is behind.

        Raises:
            ConnectionClosed: the connection is lost.
        """
        self.write_nowait(data)
        if self._waiting >= _EAGER:
            self._flush()
            # A peer that takes everything at once never lets us wait, and a lost connection is
            # reported by the loop: without this turn a long body would block the whole server.
            await asyncio.sleep(0)
        await self._outlet.wait_writable()
        if self._outlet.is_gone:
            raise ConnectionClosed("the peer closed the connection while a body was being written")

    def finish(self) -> None:
        """Send what is left and the end of the body."""
        self._flush(LAST_CHUNK if self._chunked else b"")

    def discard(self) -> bool:
        """Discard the response if nothing was sent yet; False if it is too late for that."""
        if not self._head:
            return False
        self._head = b""
        self._parts.clear()
        self._waiting = 0
        return True

    def _flush(self, end: bytes = b"") -> None:
        self._scheduled = False
        parts = self._parts
        if parts:
            data = parts[0] if len(parts) == 1 else b"".join(parts)
            parts.clear()
            self._waiting = 0
            body = encode_chunk(data) if self._chunked else data
            self._outlet.put(self._head + body + end if self._head or end else body)
        elif self._head or end:
            self._outlet.put(self._head + end)
        self._head = b""


_EAGER = 32 * 1024
