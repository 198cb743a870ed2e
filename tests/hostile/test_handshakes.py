"""Peers that begin TLS handshakes and never end them."""

import asyncio
import ssl
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.certificate import CertificateRequest, issue_certificate
from quarterdeck.kit.http import Limits


async def hello(request: http.Request) -> http.Response:
    return http.Response(200, [], b"hello")


Contexts = tuple[ssl.SSLContext, ssl.SSLContext]


@pytest.fixture
def contexts(tmp_path: Path) -> Contexts:
    """TLS of a server, and of a client that trusts it."""
    now, hour = datetime.now(UTC), timedelta(hours=1)
    authority = issue_certificate(
        CertificateRequest("ca", hour, (), is_authority=True), now=now, issuer=None
    )
    issued = issue_certificate(
        CertificateRequest("server", hour, ("127.0.0.1",)), now=now, issuer=authority
    )
    pem = tmp_path / "server.pem"
    pem.write_bytes(issued.encode_certificate() + issued.encode_key())
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    client = ssl.create_default_context(cadata=authority.encode_certificate().decode())
    return server, client


async def test_half_open_handshakes_do_not_lock_others_out(
    contexts: Contexts,
) -> None:
    """The time limit of a handshake never comes: only giving one up lets the client in."""
    server_tls, client_tls = contexts
    limits = Limits(handshakes=8, handshake_timeout_s=3600.0, handshake_share_s=0.02)
    async with http.Server(hello, limits=limits) as server:
        listener = await server.listen("127.0.0.1", 0, tls=server_tls)
        silent = [await asyncio.open_connection("127.0.0.1", listener.port) for _ in range(24)]
        async with http.Client(tls=client_tls) as client:
            for _ in range(3):
                response = await client.request("GET", listener.url)
                assert await response.read() == b"hello"
        assert server.statistics().handshake_failures_total >= 17
        for _, writer in silent:
            writer.close()


@pytest.mark.skipif(sys.platform != "linux", reason="other loopback addresses are Linux only")
async def test_address_with_many_handshakes_displaces_its_own(
    contexts: Contexts,
) -> None:
    server_tls, _ = contexts
    limits = Limits(handshakes=4, handshake_timeout_s=3600.0, handshake_share_s=0.0)
    async with http.Server(hello, limits=limits) as server:
        listener = await server.listen("127.0.0.1", 0, tls=server_tls)
        reader, slow = await asyncio.open_connection(
            "127.0.0.1", listener.port, local_addr=("127.0.0.2", 0)
        )
        silent = [await asyncio.open_connection("127.0.0.1", listener.port) for _ in range(20)]
        for early, _ in silent[:10]:
            assert await early.read() == b""
        waiting = asyncio.ensure_future(reader.read())
        await asyncio.sleep(0)
        assert not waiting.done()
        for _, writer in [(reader, slow), *silent]:
            writer.close()
        waiting.cancel()
