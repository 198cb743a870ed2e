"""HTTP/1.1, server and client, on `httptools` and `asyncio.Protocol`.

Built for many small requests and many long streams: one write for each response, no task or timer
that a request does not need, back-pressure in both directions, a limit on everything a peer can
make us hold, and an in-memory network for simulation. Works on asyncio's loop and on uvloop.

Start reading at `message` (what a handler sees), then `server` and `server_connection`; the other
half is `client`. Names load on first use, so that a process that only serves never loads the
client.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.kit.http.client import Client
    from quarterdeck.kit.http.encode import EncodedHeaders
    from quarterdeck.kit.http.errors import (
        BodyTimeout,
        BodyTooLarge,
        ConnectError,
        ConnectionClosed,
        ConnectTimeout,
        HttpError,
        PoolTimeout,
        ProtocolError,
        ProxyError,
        ReadTimeout,
        TlsError,
    )
    from quarterdeck.kit.http.headers import Headers
    from quarterdeck.kit.http.limits import ClientLimits, Limits
    from quarterdeck.kit.http.memory import Link, MemoryNetwork
    from quarterdeck.kit.http.message import Handler, Peer, Request, Response, StreamResponse
    from quarterdeck.kit.http.response import ClientResponse
    from quarterdeck.kit.http.server import Listener, Server
    from quarterdeck.kit.http.statistics import ClientStatistics, ServerStatistics
    from quarterdeck.kit.http.writer import BodyWriter

__all__ = [
    "BodyTimeout",
    "BodyTooLarge",
    "BodyWriter",
    "Client",
    "ClientLimits",
    "ClientResponse",
    "ClientStatistics",
    "ConnectError",
    "ConnectTimeout",
    "ConnectionClosed",
    "EncodedHeaders",
    "Handler",
    "Headers",
    "HttpError",
    "Limits",
    "Link",
    "Listener",
    "MemoryNetwork",
    "Peer",
    "PoolTimeout",
    "ProtocolError",
    "ProxyError",
    "ReadTimeout",
    "Request",
    "Response",
    "Server",
    "ServerStatistics",
    "StreamResponse",
    "TlsError",
]

_HOMES = {
    "client": ("Client",),
    "encode": ("EncodedHeaders",),
    "errors": (
        "BodyTooLarge",
        "ConnectError",
        "ConnectTimeout",
        "HttpError",
        "ConnectionClosed",
        "PoolTimeout",
        "ProtocolError",
        "ProxyError",
        "ReadTimeout",
        "BodyTimeout",
        "TlsError",
    ),
    "headers": ("Headers",),
    "limits": ("ClientLimits", "Limits"),
    "memory": ("Link", "MemoryNetwork"),
    "message": ("Handler", "Peer", "Request", "Response", "StreamResponse"),
    "response": ("ClientResponse",),
    "server": ("Listener", "Server"),
    "statistics": ("ClientStatistics", "ServerStatistics"),
    "writer": ("BodyWriter",),
}

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, _HOMES)


def __dir__() -> list[str]:
    """The face, loaded or not."""
    return sorted({*globals(), *__all__})
