"""A network without sockets: servers and clients in one process, with faults on demand.

Bytes move in the order of the event loop's turns, so a run repeats exactly; with latency they move
by the given clock. Each connection is a `Link`, which a test can cut, freeze or slow down.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.http.client import Client
from quarterdeck.kit.http.errors import ConnectError
from quarterdeck.kit.http.link import Link
from quarterdeck.kit.http.message import Peer
from quarterdeck.kit.http.origin import Origin
from quarterdeck.kit.http.server import Server

__all__ = ["Link", "MemoryNetwork"]


class MemoryNetwork:
    """Names, the servers behind them, and the connections between."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._servers: dict[str, Server] = {}
        self.links: list[Link] = []
        """The open connections, oldest first."""
        self.on_connect: Callable[[Link], None] | None = None
        """Called with each new link before any bytes are delivered, to set faults."""

    def serve(self, server: Server, host: str) -> str:
        """Make a server reachable under a name; returns the start of its URLs."""
        server.start()
        self._servers[host] = server
        return f"http://{host}"

    def remove(self, host: str) -> None:
        """Let connections to a name be refused from now on."""
        self._servers.pop(host, None)

    def client(
        self, *, certificate: bytes | None = None, name: str = "memory", **options: Any
    ) -> Client:
        """A client whose connections stay in memory; `options` are those of `Client`.

        With a certificate (DER) the server sees a peer that TLS has verified.
        """
        peer = Peer(f"{name}:0", certificate=certificate, secure=certificate is not None)
        return Client(dialer=_MemoryDialer(self, peer), **options)

    def connect(self, host: str, protocol: asyncio.Protocol, *, peer: Peer) -> Link:
        """Connect a client's protocol to a server.

        Raises:
            ConnectError: the name has no server.
        """
        server = self._servers.get(host)
        if server is None:
            raise ConnectError(f"cannot connect to {host}: no server is registered under this name")
        link = Link(
            protocol, server.connect(), peer=peer, clock=self._clock, on_closed=self._remove_link
        )
        self.links.append(link)
        if self.on_connect is not None:
            self.on_connect(link)
        link.open()
        return link

    def _remove_link(self, link: Link) -> None:
        if link in self.links:
            self.links.remove(link)


class _MemoryDialer:
    """Dials into a memory network; the scheme does not matter there."""

    def __init__(self, network: MemoryNetwork, peer: Peer) -> None:
        self._network = network
        self._peer = peer

    async def dial(self, origin: Origin, protocol: asyncio.Protocol) -> None:
        """Connect at once."""
        self._network.connect(origin.host, protocol, peer=self._peer)

    def proxy_headers(self, origin: Origin) -> list[tuple[str, str]] | None:
        """There is no proxy."""
        return None
