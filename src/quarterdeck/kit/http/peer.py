"""The peer of a transport."""

import asyncio

from quarterdeck.kit.http.message import Peer


def get_peer(transport: asyncio.BaseTransport) -> Peer:
    """The peer of an accepted connection; in-memory transports bring their own."""
    given = transport.get_extra_info("quarterdeck_peer")
    if isinstance(given, Peer):
        return given
    secure = transport.get_extra_info("ssl_object")
    certificate = None if secure is None else secure.getpeercert(binary_form=True)
    return Peer(
        format_address(transport.get_extra_info("peername")),
        certificate=certificate,
        secure=secure is not None,
        local_address=format_address(transport.get_extra_info("sockname")),
    )


def format_address(name: object) -> str:
    """A socket's name as `host:port`; Unix sockets have a path or nothing."""
    if isinstance(name, tuple) and len(name) >= 2:
        host, port = name[0], name[1]
        return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
    return str(name) if name else "unix"
