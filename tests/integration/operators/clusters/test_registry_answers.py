"""The registry driver against registries of our own, for what Debian's does not do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from quarterdeck.kit import http, json
from quarterdeck.kit.redaction import Secret
from quarterdeck.operators.clusters.drivers.challenge import (
    Challenge,
    parse_challenge,
    parse_next_page,
)
from quarterdeck.operators.clusters.drivers.registry import DockerRegistry
from quarterdeck.operators.clusters.ports import RegistryAddress, RegistryCheck
from quarterdeck.testing import programs

CATALOG = RegistryCheck(catalog_limit=100)


@contextlib.asynccontextmanager
async def serving(handler: http.Handler) -> AsyncIterator[str]:
    server = http.Server(handler)
    listener = await server.listen("127.0.0.1", 0)
    try:
        yield listener.url
    finally:
        await server.close()


async def test_a_bearer_token_is_asked_for_and_used() -> None:
    asked: list[tuple[str, str]] = []

    async def handle(request: http.Request) -> http.Response:
        authorization = request.headers.get("Authorization") or ""
        if request.path == "/token":
            asked.append((request.target, authorization))
            return http.Response(200, [], b'{"token":"short-lived"}')
        if authorization != "Bearer short-lived":
            host = request.headers.get("Host")
            challenge = f'Bearer realm="http://{host}/token",service="r",scope="x"'
            return http.Response(401, [("WWW-Authenticate", challenge)])
        if request.path == "/v2/_catalog":
            last = "last" in request.target
            link = [] if last else [("Link", '</v2/_catalog?n=2&last=b>; rel="next"')]
            names = ["c"] if last else ["a", "b"]
            return http.Response(200, link, json.encode({"repositories": names}))
        return http.Response(200, [("Server", "Harbor")])

    async with serving(handle) as url:
        address = RegistryAddress(url=url, username="hub", password=Secret("secret"))
        found = await DockerRegistry().check(address, CATALOG)
        few = await DockerRegistry().check(address, RegistryCheck(catalog_limit=2))
    assert (few.facts.repository_count, few.note) == (
        2,
        "the count ends at spec.monitoring.maxCatalogEntries",
    )
    assert found.facts.available and found.authenticated and not found.note
    assert found.facts.repositories == ("a", "b", "c")
    assert found.facts.features == {
        "catalog_accessible": True,
        "harbor_detected": True,
        "pagination": True,
        "requires_auth": True,
        "token_auth": True,
    }
    assert "service=r" in asked[0][0] and asked[0][1].startswith("Basic ")
    assert "registry%3Acatalog%3A%2A" in asked[1][0]


@pytest.mark.parametrize(
    ("realm", "status", "answer"),
    [
        pytest.param("token", 200, b"{}", id="a realm that is not an address"),
        pytest.param("http://HOST/token", 403, b"{}", id="refused"),
        pytest.param("http://HOST/token", 200, b"<html>", id="a page"),
        pytest.param("http://HOST/token", 200, b"[]", id="a list"),
        pytest.param("http://HOST/token", 200, b"{}", id="no token"),
        pytest.param("http://HOST/token", 200, b'{"token":7}', id="a number"),
        pytest.param("http://HOST/token", 200, b'{"token":"a\\nb"}', id="two lines"),
    ],
)
async def test_registry_that_gives_no_usable_token_is_there_but_refuses(
    realm: str, status: int, answer: bytes
) -> None:
    async def handle(request: http.Request) -> http.Response:
        if request.path == "/token":
            return http.Response(status, [], answer)
        found = realm.replace("HOST", request.headers.get("Host") or "")
        return http.Response(401, [("WWW-Authenticate", f'Bearer realm="{found}"')])

    async with serving(handle) as url:
        address = RegistryAddress(url=url, username="hub", password=Secret("secret"))
        found = await DockerRegistry().check(address, CATALOG)
    assert found.facts.available and not found.authenticated
    assert found.facts.features == {"requires_auth": True, "token_auth": True}


@pytest.mark.parametrize(
    ("status", "body"),
    [(403, b"{}"), (200, b"<html>"), (200, b"[]"), (200, b'{"repositories":5}')],
)
async def test_catalog_that_is_not_a_list_of_names_is_noted(status: int, body: bytes) -> None:
    async def handle(request: http.Request) -> http.Response:
        if request.path == "/v2/_catalog":
            return http.Response(status, [], body)
        return http.Response(200, [("Docker-Content-Digest", "sha256:0"), ("Link", "<x>")])

    async with serving(handle) as url:
        found = await DockerRegistry().check(RegistryAddress(url=url), CATALOG)
    assert found.facts.available and found.facts.repository_count == 0
    assert found.note.startswith("its repositories cannot be listed")
    assert found.facts.features == {
        "catalog_accessible": False,
        "content_digest": True,
        "pagination": True,
    }


async def test_certificate_authority_that_cannot_be_read_is_reported() -> None:
    address = RegistryAddress(url="https://127.0.0.1:1", certificate_authority=b"no certificate")
    found = await DockerRegistry().check(address, CATALOG)
    assert str(found.facts.error).startswith("invalid CA certificate: ")


async def test_repositories_that_cannot_be_listed_are_noted() -> None:
    async def handle(request: http.Request) -> http.Response:
        return http.Response(401, [("WWW-Authenticate", 'Basic realm="r"')])

    async with serving(handle) as url:
        found = await DockerRegistry().check(RegistryAddress(url=url), CATALOG)
        unasked = await DockerRegistry().check(RegistryAddress(url=url), RegistryCheck())
    assert found.facts.available and found.authenticated
    assert found.note.startswith("its repositories cannot be listed")
    assert not unasked.note


async def test_redirects_are_followed_a_few_times_without_the_password() -> None:
    seen: list[str] = []

    async def other(request: http.Request) -> http.Response:
        seen.append(request.headers.get("Authorization") or "")
        return http.Response(200, [])

    async with serving(other) as target:

        async def moved(request: http.Request) -> http.Response:
            return http.Response(302, [("Location", f"{target}/v2/")])

        async def loop(request: http.Request) -> http.Response:
            return http.Response(302, [("Location", request.path)])

        async with serving(moved) as url:
            address = RegistryAddress(url=url, username="hub", password=Secret("secret"))
            assert (await DockerRegistry().check(address, RegistryCheck())).facts.available
        assert seen == [""]
        async with serving(loop) as url:
            found = await DockerRegistry().check(RegistryAddress(url=url), RegistryCheck())
            assert "redirects" in str(found.facts.error)


@pytest.mark.parametrize(
    ("moved", "status"),
    [
        pytest.param("/v2/", 401, id="the registry"),
        pytest.param("/v2/", 200, id="a registry that asks although it lets everybody in"),
        pytest.param("/token", 401, id="the token server"),
    ],
)
async def test_a_redirect_on_the_way_to_a_token_server_gets_no_password(
    moved: str, status: int
) -> None:
    seen: list[str] = []

    def challenge(request: http.Request, status: int = 401) -> http.Response:
        realm = f"http://{request.headers.get('Host')}/token"
        return http.Response(status, [("WWW-Authenticate", f'Bearer realm="{realm}"')])

    async def other(request: http.Request) -> http.Response:
        seen.append(request.headers.get("Authorization") or "")
        if request.path == "/v2/":
            return challenge(request, status)
        return http.Response(200, [], b"{}")

    async with serving(other) as target:

        async def handle(request: http.Request) -> http.Response:
            if request.path == moved:
                return http.Response(302, [("Location", f"{target}{moved}")])
            return challenge(request)

        async with serving(handle) as url:
            address = RegistryAddress(url=url, username="hub", password=Secret("secret"))
            found = await DockerRegistry().check(address, CATALOG)
    assert (found.facts.available, found.authenticated) == (True, status == 200)
    assert set(seen) == {""}


@pytest.mark.parametrize(
    ("status", "text"), [(404, "unexpected status code: 404"), (503, "status code: 503")]
)
async def test_unexpected_responses_are_reported_as_unavailable(status: int, text: str) -> None:
    async def handle(request: http.Request) -> http.Response:
        return http.Response(status, [])

    async with serving(handle) as url:
        found = await DockerRegistry().check(RegistryAddress(url=url), CATALOG)
    assert not found.facts.available
    assert text in str(found.facts.error)


async def test_a_registry_that_never_ends_is_given_up() -> None:
    async def endless(request: http.Request) -> Any:
        async def run(writer: http.BodyWriter) -> None:
            while True:
                await writer.write(b"x" * 65536)

        return http.StreamResponse(200, [], run)

    async def silent(request: http.Request) -> http.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with serving(endless) as url:
        found = await DockerRegistry().check(RegistryAddress(url=url), RegistryCheck())
        assert "larger than the limit" in str(found.facts.error)
    async with serving(silent) as url:
        found = await DockerRegistry().check(RegistryAddress(url=url), RegistryCheck(timeout_s=0.2))
        assert "no answer within 0.2 s" in str(found.facts.error)
    refused = f"http://127.0.0.1:{programs.find_free_port()}"
    found = await DockerRegistry().check(RegistryAddress(url=refused), RegistryCheck())
    assert str(found.facts.error).startswith("request failed: ")


async def test_the_first_path_that_answers_decides() -> None:
    async def handle(request: http.Request) -> http.Response:
        return http.Response(200 if request.path == "/healthz" else 404, [])

    async with serving(handle) as url:
        wanted = RegistryCheck(paths=("/v2/", "/healthz"))
        assert (await DockerRegistry().check(RegistryAddress(url=url), wanted)).facts.available


async def test_a_token_is_used_for_the_path_that_requires_it() -> None:
    async def handle(request: http.Request) -> http.Response:
        if request.path == "/token":
            return http.Response(200, [], b'{"token":"short-lived"}')
        if request.path != "/v2/":
            return http.Response(404, [])
        if request.headers.get("Authorization") == "Bearer short-lived":
            return http.Response(200, [])
        host = request.headers.get("Host")
        return http.Response(401, [("WWW-Authenticate", f'Bearer realm="http://{host}/token"')])

    async with serving(handle) as url:
        wanted = RegistryCheck(paths=("/healthz", "/v2/"))
        found = await DockerRegistry().check(RegistryAddress(url=url), wanted)
    assert found.facts.available, found.facts.error


def test_challenges_and_links_are_read() -> None:
    header = 'Bearer realm="https://a/t?x=1",service="s \\"q\\"",scope=repository:x:pull'
    challenge = parse_challenge(header)
    assert challenge == Challenge("bearer", "https://a/t?x=1", 's "q"', "repository:x:pull")
    assert challenge.build_token_url().startswith("https://a/t?x=1&service=")
    assert parse_challenge("Basic realm=x") == Challenge("basic", "x")
    assert parse_challenge("") is None
    assert parse_next_page('</v2/_catalog?last=b>; rel="next"') == "/v2/_catalog?last=b"
    assert parse_next_page("<x>; rel=prev") == ""
