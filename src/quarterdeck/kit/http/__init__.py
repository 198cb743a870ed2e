"""HTTP/1.1, server and client, on `httptools` and `asyncio.Protocol`.

Built for many small requests and many long streams: one write for each response, no task or timer
that a request does not need, back-pressure in both directions, a limit on everything a peer can
make us hold, and an in-memory network for simulation. Works on asyncio's loop and on uvloop.

Imports `kit.clock` and httptools. Start reading at `message` (what a handler sees), then `server`
and `connection`; the other half is `client`. Names load on first use, so that a process that only
serves never pays for the client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quarterdeck.kit.http.client import Client
    from quarterdeck.kit.http.errors import (
        BodyTooLarge,
        ConnectError,
        ConnectTimeout,
        HttpError,
        PeerGone,
        PoolTimeout,
        ProtocolError,
        ProxyError,
        ReadTimeout,
        SlowPeer,
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
    "BodyTooLarge",
    "BodyWriter",
    "Client",
    "ClientLimits",
    "ClientResponse",
    "ClientStatistics",
    "ConnectError",
    "ConnectTimeout",
    "Handler",
    "Headers",
    "HttpError",
    "Limits",
    "Link",
    "Listener",
    "MemoryNetwork",
    "Peer",
    "PeerGone",
    "PoolTimeout",
    "ProtocolError",
    "ProxyError",
    "ReadTimeout",
    "Request",
    "Response",
    "Server",
    "ServerStatistics",
    "SlowPeer",
    "StreamResponse",
    "TlsError",
]

_HOMES = {
    "client": ("Client",),
    "errors": (
        "BodyTooLarge",
        "ConnectError",
        "ConnectTimeout",
        "HttpError",
        "PeerGone",
        "PoolTimeout",
        "ProtocolError",
        "ProxyError",
        "ReadTimeout",
        "SlowPeer",
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


def __getattr__(name: str) -> Any:
    """Load the module that defines a name when the name is first used."""
    for module, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The face, loaded or not."""
    return sorted({*globals(), *__all__})
