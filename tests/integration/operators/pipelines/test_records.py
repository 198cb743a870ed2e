"""The source of external attributes: real servers, and addresses that are refused."""

import contextlib
from collections.abc import AsyncIterator, Sequence

import pytest

from quarterdeck.apis.fleetmanagement.external_sync import HttpSource
from quarterdeck.kit import http
from quarterdeck.operators.pipelines.drivers.records import (
    RecordReader,
    SourceError,
    is_public,
    pick_records,
)

SECRET = "s3cret-token-of-the-inventory"


@contextlib.asynccontextmanager
async def serving(answer: http.Response) -> AsyncIterator[tuple[int, list[http.Request]]]:
    seen: list[http.Request] = []

    async def handle(request: http.Request) -> http.Response:
        seen.append(request)
        return answer

    server = http.Server(handle)
    listener = await server.listen("127.0.0.1", 0)
    try:
        yield int(listener.url.rpartition(":")[2]), seen
    finally:
        await server.close()


async def to_loopback(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


async def test_records_are_read_from_the_address_that_was_checked() -> None:
    body = b'{"data": {"hosts": [{"id": "edge-1"}, 7]}}'
    async with serving(http.Response(200, [], body)) as (port, seen):
        reader = RecordReader(resolve=to_loopback, is_allowed=lambda address: True)
        source = HttpSource(
            url=f"http://cmdb.example.com:{port}/hosts?all=1", records_path="data.hosts"
        )
        assert await reader.read(source, {}) == [{"id": "edge-1"}]
        assert seen[0].headers.get("host") == f"cmdb.example.com:{port}"
        assert seen[0].path == "/hosts" and seen[0].query == "all=1"


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
        *("::1", "fe80::1", "fd00::1", "::ffff:127.0.0.1", "::ffff:10.1.2.3", "2002:7f00:1::"),
        *("224.0.0.1", "100.64.0.1", "not an address"),
    ],
)
async def test_addresses_of_this_host_and_of_private_networks_are_refused(address: str) -> None:
    assert not is_public(address)

    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["93.184.216.34", address]

    with pytest.raises(SourceError, match="only public addresses"):
        await RecordReader(resolve=resolve).read(HttpSource(url="http://cmdb.example.com/"), {})


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://[::1/hosts", r"invalid URL: must be https://host\[:port\]/path"),
        ("https://cmdb.example.com:99999/", "invalid URL"),
        (f"https://{'a' * 64}.example.com/", "invalid URL"),
        ("https://cmdb..example.com/", "invalid URL"),
        (f"https://me:{SECRET}@cmdb.example.com/", "must not contain credentials"),
        (
            f"https://cmdb.example.com/gr\u00f6\u00dfe?token={SECRET}",
            "characters of path and query must be",
        ),
    ],
)
async def test_urls_that_cannot_be_used_name_the_field_and_no_secret(url: str, words: str) -> None:
    reader = RecordReader(resolve=to_loopback, is_allowed=lambda address: True)
    with pytest.raises(SourceError, match=f"^spec.source.http.url: {words}") as caught:
        await reader.read(HttpSource(url=url), {})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("token", [f"{SECRET}\nx: y", f"{SECRET}\u20ac"])
async def test_token_that_no_header_can_have_is_refused_and_not_told(token: str) -> None:
    reader = RecordReader(resolve=to_loopback, is_allowed=lambda address: True)
    secret = {"bearer-token": token.encode()}
    with pytest.raises(SourceError, match="value of bearer-token has characters") as caught:
        await reader.read(HttpSource(url="https://cmdb.example.com/"), secret)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "redis.default.svc", "db.local", "kubernetes"])
async def test_names_of_the_cluster_are_refused(host: str) -> None:
    with pytest.raises(SourceError, match=r"not allowed|only public"):
        await RecordReader(resolve=to_loopback).read(HttpSource(url=f"http://{host}/x"), {})


async def test_public_addresses_are_allowed() -> None:
    assert is_public("93.184.216.34") and is_public("2606:2800:220:1::1")


async def test_redirects_and_errors_are_not_followed_and_tell_no_secret() -> None:
    moved = http.Response(302, [("Location", "http://169.254.169.254/")], b"")
    async with serving(moved) as (port, seen):
        reader = RecordReader(resolve=to_loopback, is_allowed=lambda address: True)
        source = HttpSource(url=f"http://cmdb.example.com:{port}/")
        with pytest.raises(SourceError, match="HTTP 302"):
            await reader.read(source, {})
        assert len(seen) == 1
        with pytest.raises(SourceError, match="https is required") as caught:
            await reader.read(source, {"bearer-token": SECRET.encode()})
        assert SECRET not in str(caught.value)


def test_records_must_be_where_the_path_leads() -> None:
    assert pick_records(b'[{"a": 1}]', "") == [{"a": 1}]
    for data, path in ((b"{}", "x"), (b'{"x": 1}', "x"), (b"nonsense", "")):
        with pytest.raises(SourceError):
            pick_records(data, path)
