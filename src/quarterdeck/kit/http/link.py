"""A connection in memory: two transports, and the faults between them."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http.message import Peer

_HIGH = 64 * 1024


class Link:
    """Both directions of a connection.

    `latency_s` delays what is sent from then on. `cut_after` cuts the connection when that many
    bytes have been delivered, both directions counted. `freeze` holds everything back, as a dead
    peer would, until `thaw`.
    """

    def __init__(
        self,
        client: asyncio.Protocol,
        server: asyncio.Protocol,
        *,
        peer: Peer,
        clock: Clock,
        on_closed: "Callable[[Link], None]",
    ) -> None:
        self.latency_s = 0.0
        self.cut_after: int | None = None
        self.delivered = 0
        self.is_frozen = False
        self.clock = clock
        self._on_closed = on_closed
        self._client = MemoryTransport(self, client, peer=None)
        self._server = MemoryTransport(self, server, peer=peer)
        self._client.other = self._server
        self._server.other = self._client

    def open(self) -> None:
        """Call `connection_made` of both protocols."""
        self._server.protocol.connection_made(self._server)
        self._client.protocol.connection_made(self._client)

    def cut(self) -> None:
        """End the connection as a reset does."""
        error = ConnectionResetError("the connection was reset")
        self._client.lose(error)
        self._server.lose(error)

    def freeze(self) -> None:
        """Deliver nothing in either direction, without an error."""
        self.is_frozen = True

    def thaw(self) -> None:
        """Deliver again, first what was held back."""
        self.is_frozen = False
        self._client.deliver_soon()
        self._server.deliver_soon()

    def count(self, size: int) -> bool:
        """Count delivered bytes; True if the connection must be cut after them."""
        self.delivered += size
        return self.cut_after is not None and self.delivered >= self.cut_after

    def allowed(self, size: int) -> int:
        """How many of these bytes may pass before the cut."""
        return (
            size if self.cut_after is None else max(0, min(size, self.cut_after - self.delivered))
        )

    def on_end_closed(self) -> None:
        """One end has closed; if both have, report that the link is closed."""
        if self._client.is_lost and self._server.is_lost:
            self._on_closed(self)


class MemoryTransport(asyncio.Transport):
    """One end of a link; it buffers what is written until the other end reads it."""

    other: "MemoryTransport"

    def __init__(self, link: Link, protocol: asyncio.Protocol, *, peer: Peer | None) -> None:
        super().__init__({"quarterdeck_peer": peer, "peername": ("memory", 0)})
        self.protocol = protocol
        self.is_lost = False
        self._link = link
        self._loop = asyncio.get_running_loop()
        self._outgoing: deque[bytes | None] = deque()
        self._size = 0
        self._high = _HIGH
        self._low = _HIGH // 4
        self._is_reading = True
        self._is_closing = False
        self._is_full = False
        self._has_sent_eof = False
        self._scheduled = False
        self._late: set[asyncio.Task[None]] = set()

    # --- asyncio.Transport ----------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Queue bytes for the other end."""
        if self._is_closing or not data:
            return
        self._outgoing.append(bytes(data))
        self._size += len(data)
        if self._size > self._high and not self._is_full:
            self._is_full = True
            self.protocol.pause_writing()
        self.deliver_soon()

    def writelines(self, list_of_data: "Iterable[bytes | bytearray | memoryview]") -> None:
        """Queue several pieces."""
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        """Always true: each direction can be closed separately."""
        return True

    def write_eof(self) -> None:
        """Send no more."""
        if not self._has_sent_eof and not self._is_closing:
            self._has_sent_eof = True
            self._outgoing.append(None)
            self.deliver_soon()

    def close(self) -> None:
        """Close when everything written was taken."""
        if self._is_closing:
            return
        self._is_closing = True
        if not self._has_sent_eof:
            self._has_sent_eof = True
            self._outgoing.append(None)
        self.deliver_soon()
        self._loop.call_soon(self._close_when_empty)

    def abort(self) -> None:
        """Close at once."""
        self._is_closing = True
        self._loop.call_soon(self.lose, None)
        self._loop.call_soon(self.other.lose, ConnectionResetError("the peer reset the connection"))

    def is_closing(self) -> bool:
        """Closing or closed."""
        return self._is_closing

    def pause_reading(self) -> None:
        """Leave bytes with the sender."""
        self._is_reading = False

    def resume_reading(self) -> None:
        """Take bytes again."""
        self._is_reading = True
        self.other.deliver_soon()

    def is_reading(self) -> bool:
        """Bytes are taken."""
        return self._is_reading and not self._is_closing

    def get_write_buffer_size(self) -> int:
        """Bytes the other end has not taken."""
        return self._size

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Low and high water."""
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """When to pause the writer."""
        self._high = _HIGH if high is None else high
        self._low = self._high // 4 if low is None else low

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Set the protocol that receives events."""
        if not isinstance(protocol, asyncio.Protocol):
            raise TypeError("the protocol of a memory transport must be an asyncio.Protocol")
        self.protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """The protocol that receives events."""
        return self.protocol

    # --- delivery -------------------------------------------------------------------------------

    def deliver_soon(self) -> None:
        """Schedule the delivery of buffered bytes, for the next turn or after the latency."""
        link = self._link
        if self._scheduled or not self._outgoing or link.is_frozen or self.is_lost:
            return
        self._scheduled = True
        if link.latency_s <= 0:
            self._loop.call_soon(self._deliver)
            return
        task = self._loop.create_task(self._deliver_late(link.latency_s), name="memory-latency")
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def _deliver_late(self, seconds: float) -> None:
        await self._link.clock.sleep(seconds)
        self._deliver()

    def _deliver(self) -> None:
        self._scheduled = False
        other, link = self.other, self._link
        while self._outgoing and other._is_reading and not link.is_frozen and not other.is_lost:
            data = self._outgoing.popleft()
            if data is None:
                other.take_eof()
                continue
            self._size -= len(data)
            passed = data[: link.allowed(len(data))]
            if passed:
                other.protocol.data_received(passed)
            if link.count(len(passed)):
                link.cut()
                return
        if self._is_full and self._size <= self._low:
            self._is_full = False
            self.protocol.resume_writing()
        self._close_when_empty()

    def take_eof(self) -> None:
        """The other end sends no more."""
        if not self.is_lost and not self.protocol.eof_received():
            self.close()

    def _close_when_empty(self) -> None:
        if self._is_closing and not any(self._outgoing):
            self.lose(None)

    def lose(self, error: Exception | None) -> None:
        """Close this end, and call `connection_lost` of its protocol."""
        if self.is_lost:
            return
        self.is_lost = True
        self._is_closing = True
        for task in self._late:
            task.cancel()
        self.protocol.connection_lost(error)
        self._link.on_end_closed()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Information about the connection, such as the peer."""
        return super().get_extra_info(name, default)
