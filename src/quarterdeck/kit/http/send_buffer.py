"""Bytes on their way to one peer: counted, held back while it is slow, given up when it stalls."""

import asyncio

from quarterdeck.kit.http.state import ServerState


class SendBuffer:
    """The writing half of a server connection; implements `Outlet`."""

    __slots__ = (
        "_flushed",
        "_flushed_at",
        "_state",
        "_transport",
        "blocked",
        "is_gone",
        "written",
    )

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._transport: asyncio.Transport
        self.is_gone = False
        """The connection is lost or being cut: nothing is written any more."""
        self.blocked: asyncio.Event | None = None
        """An event while the transport holds more than its limit; set when it has room again."""
        self.written = 0
        """Bytes handed to the transport so far."""
        self._flushed = 0
        self._flushed_at = state.now

    def attach(self, transport: asyncio.Transport) -> None:
        """Set the transport of a new connection, and its buffer limit."""
        self._transport = transport
        transport.set_write_buffer_limits(high=self._state.limits.write_buffer_bytes)

    def detach(self) -> None:
        """Release the transport; the caller has set `is_gone`, so that nothing uses it."""
        del self._transport

    def put(self, data: bytes) -> None:
        """Write bytes to the transport; does nothing once the peer is gone."""
        if not self.is_gone:
            size = len(data)
            self.written += size
            self._state.bytes_written_total += size
            self._transport.write(data)

    @property
    def unsent(self) -> int:
        """Bytes the transport still holds."""
        return 0 if self.is_gone else self._transport.get_write_buffer_size()

    def block(self) -> None:
        """The transport holds more than its limit."""
        self.blocked = asyncio.Event()

    def unblock(self) -> None:
        """Resume writers: the transport has room again, or the connection ended."""
        if self.blocked is not None:
            self.blocked.set()
            self.blocked = None

    async def wait_writable(self) -> None:
        """Wait until the transport holds less than its limit, or the peer is gone."""
        while self.blocked is not None:
            await self.blocked.wait()

    def is_stalled(self, now: float) -> bool:
        """Whether the peer has read nothing of the unsent bytes for `write_timeout_s`."""
        unsent = self.unsent
        flushed = self.written - unsent
        if unsent == 0 or flushed > self._flushed:
            self._flushed = flushed
            self._flushed_at = now
            return False
        return now > self._flushed_at + self._state.limits.write_timeout_s
