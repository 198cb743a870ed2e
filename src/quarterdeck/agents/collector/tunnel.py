"""TLS to a hub whose certificate has another name than its address.

A passthrough route finds the hub by the name in the handshake (SNI), which must be the host that
was dialled; the certificate is that of the Service behind it. gRPC can only use one name for both.
So gRPC uses plain HTTP/2 to a port on loopback, and this module carries the bytes over TLS: SNI
is the host, and the certificate is checked against the given name.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from quarterdeck.kit.digits import parse_digits
from quarterdeck.kit.ip_address import parse_address
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime.observability.logging import get_logger

_LOOPBACK = "127.0.0.1"
_CHUNK = 64 * 1024
_CONNECT_S = 20.0
_log = get_logger("agents.collector.tunnel")


class CertificateNameMismatch(ssl.SSLError):
    """Raised when a certificate is not for the name that it must have."""


@contextlib.asynccontextmanager
async def open_tunnel(
    address: str, context: ssl.SSLContext, *, server_name: str
) -> AsyncIterator[str]:
    """Forward loopback connections to an address over TLS; yields the target for gRPC."""
    host, port = split_address(address)
    open_writers: set[asyncio.StreamWriter] = set()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_CONNECT_S):
                far = await _connect(host, port, context, server_name=server_name)
        except (OSError, TimeoutError, UnicodeError) as error:  # ssl.SSLError is an OSError
            reason = (
                str(error.__cause__ or error) if isinstance(error, UnicodeError) else str(error)
            )
            _log.warning("cannot reach the hub", address=address, reason=reason)
            writer.close()
            return
        writers = {writer, far[1]}
        open_writers.update(writers)
        try:
            await _carry_both(reader, writer, *far)
        finally:
            open_writers.difference_update(writers)

    async with await asyncio.start_server(carry, _LOOPBACK, 0) as server:
        try:
            yield f"{_LOOPBACK}:{server.sockets[0].getsockname()[1]}"
        finally:
            for each in list(open_writers):  # gRPC keeps its end open for a while
                each.close()


def split_address(address: str) -> tuple[str, int]:
    """Host and port; 443 if there is none."""
    host, colon, digits = address.rpartition(":")
    port = parse_digits(digits)
    if not colon or port is None:
        return address, 443
    return host.strip("[]"), port


def matches_name(certificate: Mapping[str, Any], name: str) -> bool:
    """Whether a certificate is for a name: exactly, or by a wildcard for the first label."""
    alternatives: Sequence[tuple[str, str]] = certificate.get("subjectAltName", ())
    if parse_address(name) is not None:
        return ("IP Address", name) in alternatives
    wanted = name.rstrip(".").lower()
    _, _, parent = wanted.partition(".")
    accepted = {wanted, f"*.{parent}"} if parent else {wanted}
    return any(kind == "DNS" and value.lower() in accepted for kind, value in alternatives)


async def _connect(
    host: str, port: int, context: ssl.SSLContext, *, server_name: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect with the host as SNI, and check the certificate against the other name."""
    reader, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=host)
    certificate = writer.get_extra_info("peercert") or {}
    if not matches_name(certificate, server_name):
        writer.close()
        raise CertificateNameMismatch(
            f"the certificate of {host}:{port} is not for {server_name!r}; check "
            "INGESTER_TLS_SERVER_NAME"
        )
    return reader, writer


async def _carry_both(
    near_reader: asyncio.StreamReader,
    near_writer: asyncio.StreamWriter,
    far_reader: asyncio.StreamReader,
    far_writer: asyncio.StreamWriter,
) -> None:
    """Copy bytes in both directions until one side ends."""
    try:
        async with Supervisor("tunnel") as tasks:
            directions = (
                tasks.spawn(_carry(near_reader, far_writer), name="out"),
                tasks.spawn(_carry(far_reader, near_writer), name="in"),
            )
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
            await tasks.cancel_all()
    finally:
        near_writer.close()
        far_writer.close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
