"""Credentials that are refused and renewed, certificates, trust, and answers worth another try."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quarterdeck.app.certificates import Certificates, ensure
from quarterdeck.client import Client, ClusterConfig, UntrustedServer
from quarterdeck.client.config.cluster import PemSource
from quarterdeck.client.credentials import Credentials
from quarterdeck.client.errors import ConnectionFailed, InvalidResponse
from quarterdeck.client.interfaces import Exchange
from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.testing.poll import eventually
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.status import ServiceUnavailable, Unauthorized

VERSION = b'{"gitVersion":"v1"}'


class Server:
    """Knows one token; counts who asked with what, and answers busy a few times first."""

    def __init__(self, token: str = "", *, busy: int = 0) -> None:
        self.token = token
        self.busy = busy
        self.seen: list[str] = []
        self.certificates: list[bytes | None] = []
        self.headers: list[http.Headers] = []

    async def handle(self, request: http.Request) -> http.Response:
        given = request.headers.get("authorization") or ""
        self.seen.append(given)
        self.headers.append(request.headers)
        self.certificates.append(request.peer.certificate)
        if self.token and given != f"Bearer {self.token}":
            return http.Response(401, [], b"")
        if self.busy:
            self.busy -= 1
            return http.Response(503, [("Retry-After", "0")], b"")
        return http.Response(200, [("Content-Type", "application/json")], VERSION)


@asynccontextmanager
async def listening(server: Server, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    async with http.Server(server.handle) as web:
        yield (await web.listen("127.0.0.1", 0, tls=tls)).url


def asking(url: str, token_file: Path) -> Client:
    return Client(ClusterConfig(server=url, token_file=token_file))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return ensure(tmp_path_factory.mktemp("pki"), datetime.now(UTC))


async def test_a_rotated_token_is_read_when_the_server_refuses_the_old(tmp_path: Path) -> None:
    path, server = tmp_path / "token", Server("one")
    path.write_text("one")
    async with listening(server) as url, asking(url, path) as client:
        await client.get_server_version()
        server.token = "two"
        path.write_text("two")
        assert (await client.get_server_version())["gitVersion"] == "v1"
    assert server.seen == ["Bearer one", "Bearer one", "Bearer two"]


async def test_a_redirection_is_named_and_not_followed() -> None:
    seen: list[str] = []

    async def redirect(request: http.Request) -> http.Response:
        seen.append(request.path)
        return http.Response(302, [("Location", "https://login.example.com/start?state=abc")], b"")

    async with http.Server(redirect) as web:
        url = (await web.listen("127.0.0.1", 0)).url
        async with Client(ClusterConfig(server=url)) as client:
            with pytest.raises(InvalidResponse) as caught:
                await client.get_server_version()
    text = str(caught.value)
    assert "the server redirects to https://login.example.com/start (HTTP 302)" in text
    assert "state=abc" not in text
    assert len(seen) == 1


class Numbering:
    """Adds a header of its own to each request, as a tracer does."""

    def __init__(self) -> None:
        self.count = 0

    def before(self, verb: str, path: ResourcePath) -> Sequence[tuple[str, str]]:
        self.count += 1
        return [("x-number", str(self.count))] if self.count != 2 else []

    def after(self, exchange: Exchange) -> None:
        pass


async def test_headers_of_observers_belong_to_one_request(tmp_path: Path) -> None:
    path, server = tmp_path / "token", Server("one")
    path.write_text("one")
    async with listening(server) as url, asking(url, path) as client:
        client.raw.observe(Numbering())
        for _ in range(4):
            await client.get_server_version()
    assert [each.get("x-number") for each in server.headers] == ["1", None, "3", "4"]
    assert {each.get("accept") for each in server.headers} == {"application/json"}
    assert server.seen == ["Bearer one"] * 4


async def test_a_token_that_stays_refused_is_an_error_after_one_renewal(tmp_path: Path) -> None:
    path, server = tmp_path / "token", Server("other")
    path.write_text("secret-one")
    async with listening(server) as url, asking(url, path) as client:
        with pytest.raises(Unauthorized) as caught:
            await client.get_server_version()
    assert len(server.seen) == 1
    assert "secret-one" not in str(caught.value)


class Plugin:
    """A provider that gives the next of some tokens once all requests were refused."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.refused = 0
        self.refreshes = 0

    def before(self, verb: str, path: ResourcePath) -> Sequence[tuple[str, str]]:
        return ()

    def after(self, exchange: Exchange) -> None:
        self.refused += exchange.code == 401

    async def get_credentials(self) -> Credentials:
        return Credentials(authorization=f"Bearer {self.tokens[0]}")

    async def refresh(self) -> bool:
        self.refreshes += 1
        await eventually(lambda: self.refused == 8)
        if len(self.tokens) == 1:
            return False
        self.tokens.pop(0)
        return True


@pytest.mark.parametrize(
    ("tokens", "result"),
    [
        pytest.param(("old", "new"), dict, id="renewed"),
        pytest.param(("old",), Unauthorized, id="not renewed"),
    ],
)
async def test_requests_that_are_refused_together_refresh_their_credentials_once(
    tokens: tuple[str, ...], result: type[object]
) -> None:
    plugin = Plugin(*tokens)
    async with (
        listening(Server("new")) as url,
        Client(ClusterConfig(server=url), credentials=plugin) as client,
    ):
        client.raw.observe(plugin)
        reads = [client.get_server_version() for _ in range(8)]
        found = await asyncio.gather(*reads, return_exceptions=True)
    assert plugin.refreshes == 1
    assert [type(each) for each in found] == [result] * 8


async def test_closing_the_client_opens_no_new_connection_for_a_read_under_way() -> None:
    arrived = asyncio.Event()

    async def hold_second(request: http.Request) -> http.Response:
        if web.statistics().requests_total > 1:
            arrived.set()
            await asyncio.Event().wait()
        return http.Response(200, [("Content-Type", "application/json")], VERSION)

    async with http.Server(hold_second) as web:
        url = (await web.listen("127.0.0.1", 0)).url
        client = Client(ClusterConfig(server=url))
        await client.get_server_version()
        reading = asyncio.ensure_future(client.get_server_version())
        await arrived.wait()
        await client.aclose()
        with pytest.raises(ConnectionFailed):
            await reading
        assert web.statistics().connections_total == 1
        assert web.statistics().requests_total == 2


async def test_a_client_that_is_closed_opens_no_new_connection_for_a_request_that_waits() -> None:
    async def ask_to_wait(request: http.Request) -> http.Response:
        return http.Response(429, [("Retry-After", "5")], b"")

    clock = VirtualClock()
    async with http.Server(ask_to_wait) as web:
        url = (await web.listen("127.0.0.1", 0)).url
        client = Client(ClusterConfig(server=url), clock=clock)
        reading = asyncio.ensure_future(client.get_server_version())
        await eventually(lambda: clock.next_deadline is not None)
        await client.aclose()
        await clock.advance(5)
        with pytest.raises(ConnectionFailed, match="the client was closed"):
            await reading
        assert web.statistics().connections_total == 1


async def test_a_busy_server_is_asked_again_for_reads() -> None:
    server = Server(busy=2)
    async with listening(server) as url, Client(ClusterConfig(server=url)) as client:
        assert (await client.get_server_version())["gitVersion"] == "v1"
        assert len(server.seen) == 3
        server.busy = 1_000
        with pytest.raises(ServiceUnavailable):
            await client.get_server_version()


async def test_a_renewed_certificate_is_used_for_new_connections(
    certificates: Certificates, tmp_path: Path
) -> None:
    own, key = tmp_path / "own.crt", tmp_path / "own.key"
    server = Server("never")
    own.write_bytes(certificates.certificate("administrator").read_bytes())
    key.write_bytes(certificates.key("administrator").read_bytes())
    async with listening(server, certificates.server_context()) as url:
        config = ClusterConfig(
            server=url,
            certificate_authority=PemSource(file=certificates.certificate("authority")),
            client_certificate=PemSource(file=own),
            client_key=PemSource(file=key),
        )
        async with Client(config) as client:
            with pytest.raises(Unauthorized):
                await client.get_server_version()
            own.write_bytes(certificates.certificate("server").read_bytes())
            key.write_bytes(certificates.key("server").read_bytes())
            with pytest.raises(Unauthorized):
                await client.get_server_version()
    assert len(set(server.certificates)) == 2 and None not in server.certificates


async def test_a_server_of_another_authority_is_not_trusted(
    certificates: Certificates, tmp_path: Path
) -> None:
    other = ensure(tmp_path / "other", datetime.now(UTC))
    server = Server()
    async with listening(server, certificates.server_context()) as url:
        authority = PemSource(file=other.certificate("authority"))
        config = ClusterConfig(server=url, certificate_authority=authority)
        async with Client(config) as client:
            with pytest.raises(UntrustedServer, match=f"GET {url}/version: "):
                await client.get_server_version()
    assert server.seen == []
