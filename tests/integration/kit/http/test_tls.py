"""TLS, client certificates and proxies."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from cryptography import x509

from quarterdeck.kit import http
from quarterdeck.kit.http import Limits, Request, Response, StreamResponse
from quarterdeck.testing.poll import eventually

Answer = Response | StreamResponse


def server_tls(folder: Path, verify: ssl.VerifyMode = ssl.CERT_OPTIONAL) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    context.load_verify_locations(folder / "ca.crt")
    context.verify_mode = verify
    return context


def client_tls(folder: Path, identity: str | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    if identity is not None:
        context.load_cert_chain(folder / f"{identity}.pem")
    return context


async def who(request: Request) -> Answer:
    body = await request.read(10 << 20)
    assert request.peer.secure
    if request.peer.certificate is None:
        return Response(200, [], b"anonymous " + body)
    certificate = x509.load_der_x509_certificate(request.peer.certificate)
    return Response(200, [], certificate.subject.rfc4514_string().encode() + b" " + body)


async def test_a_client_certificate_reaches_the_handler(certificates: Path) -> None:
    async with http.Server(who) as server:
        listener = await server.listen("127.0.0.1", 0, tls=server_tls(certificates))
        assert listener.url.startswith("https://")
        for identity, seen in ((None, b"anonymous "), ("client", b"CN=client ")):
            async with http.Client(tls=client_tls(certificates, identity)) as client:
                for _ in range(2):
                    response = await client.request("POST", listener.url, body=b"x" * 200_000)
                    assert await response.read() == seen + b"x" * 200_000
                assert client.statistics().connections_total == 1


async def test_an_untrusted_server_is_a_tls_error(certificates: Path) -> None:
    async with http.Server(who) as server, http.Client() as client:
        listener = await server.listen("127.0.0.1", 0, tls=server_tls(certificates))
        with pytest.raises(http.TlsError, match="untrusted certificate"):
            await client.request("GET", listener.url)
        async with http.Client(tls=client_tls(certificates), server_name="other") as wrong:
            with pytest.raises(http.TlsError, match="other"):
                await wrong.request("GET", listener.url)
        async with asyncio.timeout(240):
            await eventually(lambda: server.statistics().handshake_failures_total >= 2)
        assert server.statistics().connections_total == 0


@pytest.mark.parametrize("identity", [None, "stranger"])
async def test_a_client_without_the_right_certificate_is_refused(
    certificates: Path, identity: str | None
) -> None:
    async with http.Server(who) as server:
        tls = server_tls(certificates, ssl.CERT_REQUIRED)
        listener = await server.listen("127.0.0.1", 0, tls=tls)
        async with http.Client(tls=client_tls(certificates, identity)) as client:
            with pytest.raises((http.TlsError, http.ConnectError, http.ConnectionClosed)):
                await client.request("GET", listener.url)


async def test_handshakes_that_never_end_are_given_up(certificates: Path) -> None:
    limits = Limits(handshakes=2, handshake_timeout_s=0.1, handshake_share_s=60)
    async with http.Server(who, limits=limits) as server:
        listener = await server.listen("127.0.0.1", 0, tls=server_tls(certificates))
        silent = [await asyncio.open_connection("127.0.0.1", listener.port) for _ in range(5)]
        silent[0][1].write(b"GET / HTTP/1.1\r\n\r\n")
        await eventually(lambda: server.statistics().handshake_failures_total == len(silent))
        for _, writer in silent:
            writer.close()


async def test_a_tls_stream_ends_well_at_a_drain(certificates: Path) -> None:
    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            await writer.write(b"one\n")
            await writer.closing.wait()
            await writer.write(b"two\n")

        return StreamResponse(200, [], run)

    async with http.Server(handler) as server, http.Client(tls=client_tls(certificates)) as client:
        listener = await server.listen("127.0.0.1", 0, tls=server_tls(certificates))
        lines = (await client.request("GET", listener.url)).lines()
        assert await anext(lines) == b"one"
        drained = asyncio.ensure_future(server.drain(60))
        assert [line async for line in lines] == [b"two"]
        await drained


async def test_a_watch_over_tls_notices_a_gone_peer(certificates: Path) -> None:
    gone = asyncio.Event()

    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            await request.wait_disconnect()
            gone.set()

        return StreamResponse(200, [], run)

    async with http.Server(handler) as server, http.Client(tls=client_tls(certificates)) as client:
        listener = await server.listen("127.0.0.1", 0, tls=server_tls(certificates))
        response = await client.request("GET", listener.url)
        await response.aclose()
        async with asyncio.timeout(240):
            await gone.wait()


class Proxy:
    """A proxy for tunnels and plain requests; notes what it was asked for."""

    def __init__(self, refusal: bytes = b"") -> None:
        self.refusal = refusal
        self.heads: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            if self.refusal:
                writer.write(self.refusal)
            elif head.startswith(b"CONNECT "):
                await self._tunnel(head, reader, writer)
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nproxied")
                await reader.read()
        writer.close()

    async def _tunnel(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        host, port = head.split()[1].decode().rsplit(":", 1)
        up_reader, up_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

        async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            with suppress(OSError):
                while data := await source.read(65536):
                    sink.write(data)
            sink.close()

        await asyncio.gather(copy(reader, up_writer), copy(up_reader, writer))

    @asynccontextmanager
    async def running(self, login: str = "") -> AsyncIterator[str]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        yield f"http://{login}{host}:{port}"
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0.01)


async def test_a_tunnel_carries_tls_through_a_proxy(certificates: Path) -> None:
    proxy = Proxy()
    async with proxy.running("us%20er:pass@") as url, http.Server(who) as server:
        listener = await server.listen("127.0.0.1", 0, tls=server_tls(certificates))
        async with http.Client(tls=client_tls(certificates, "client"), proxy=url) as client:
            for _ in range(2):
                response = await client.request("GET", listener.url)
                assert await response.read() == b"CN=client "
    (head,) = proxy.heads
    assert head.startswith(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n" % listener.port)
    assert base64.b64encode(b"us er:pass") in head


async def test_a_plain_request_goes_to_the_proxy_whole() -> None:
    proxy = Proxy()
    async with proxy.running() as url, http.Client(proxy=url) as client:
        response = await client.request("GET", "http://example.invalid/path?q")
        assert await response.read() == b"proxied"
    assert proxy.heads[0].startswith(b"GET http://example.invalid/path?q HTTP/1.1\r\n")
    assert b"\r\nhost: example.invalid\r\n" in proxy.heads[0]


@pytest.mark.parametrize(
    ("refusal", "match"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407"),
        (b"garbage\r\n\r\n", "HTTP/1.1"),
        (b"HTTP/1.1 200 OK", "closed"),
        (b"x" * 20_000, "too long"),
    ],
    ids=["refused", "garbage", "cut short", "too long"],
)
async def test_a_proxy_that_refuses_is_named(refusal: bytes, match: str) -> None:
    async with Proxy(refusal).running() as url, http.Client(proxy=url) as client:
        with pytest.raises(http.ProxyError, match=match):
            await client.request("GET", "https://example.invalid/")


async def test_a_proxy_that_is_not_there_is_named() -> None:
    async with http.Client(proxy="http://127.0.0.1:1") as client:
        with pytest.raises(http.ProxyError, match=r"127\.0\.0\.1:1"):
            await client.request("GET", "http://example.invalid/")
    with pytest.raises(ValueError, match="http://"):
        http.Client(proxy="socks5://x")
