"""Systems outside that repeat our credentials: known secrets are masked wherever it is shown.

Each driver with a credential talks to a server that puts what it was sent into reasons, headers
and names. Fleet servers are in `test_fleet_answers`.
"""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from quarterdeck.agents.collector.uplink import Disconnected, Uplink
from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.hubstate.errors import StoreRefused
from quarterdeck.hubstate.redis.address import RedisAddress
from quarterdeck.hubstate.redis.state import RedisState
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.kit.authorization_code import read_id_token
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.oidc import OidcError
from quarterdeck.kit.redaction import Masker, Secret, build_masker
from quarterdeck.meta.identity import GVR
from quarterdeck.operators.clusters.drivers.registry import DockerRegistry
from quarterdeck.operators.clusters.ports import RegistryAddress, RegistryCheck
from quarterdeck.operators.experiments.drivers.grafana import GrafanaApi
from quarterdeck.operators.experiments.drivers.result_stores import ObjectStorage
from quarterdeck.operators.experiments.ports import GrafanaUnavailable
from quarterdeck.operators.experiments.results.ports import StoreUnavailable
from quarterdeck.services.runners.polling import Poller, PollFailed, Repository, _Runs
from quarterdeck.wire.status import ApiError

PASSWORD = "correct-horse-battery"


@asynccontextmanager
async def listening(handle: http.Handler) -> AsyncIterator[str]:
    server = http.Server(handle)
    listener = await server.listen("127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{listener.port}"
    finally:
        await server.close()


def read_credential(request: http.Request) -> str:
    """What a peer knows of our password: the header, and what is in it."""
    header = request.headers.get("authorization") or ""
    scheme, _, value = header.partition(" ")
    if scheme == "Basic":
        return f"{header} {base64.b64decode(value).decode()}"
    return header


async def test_registry_that_repeats_the_password_shows_none() -> None:
    async def handle(request: http.Request) -> http.Response:
        said = read_credential(request)
        headers = [("docker-distribution-api-version", said)]
        names = {"repositories": [f"team/{said.rpartition(':')[2]}", "team/app"]}
        return http.Response(200, headers, kit_json.encode(names))

    async with listening(handle) as address:
        report = await DockerRegistry().check(
            RegistryAddress(url=f"http://{address}", username="me", password=Secret(PASSWORD)),
            RegistryCheck(catalog_limit=10),
        )
    assert report.facts.available
    assert "team/app" in report.facts.repositories
    check_masked(repr(report))


async def test_registry_that_redirects_to_the_password_shows_none() -> None:
    async def handle(request: http.Request) -> http.Response:
        location = f"/loop/{read_credential(request).rpartition(':')[2]}"
        return http.Response(302, [("location", location)], b"")

    async with listening(handle) as address:
        report = await DockerRegistry().check(
            RegistryAddress(url=f"http://{address}", username="me", password=Secret(PASSWORD)),
            RegistryCheck(),
        )
    assert "redirects" in str(report.facts.error)
    check_masked(repr(report))


def escape(data: bytes) -> bytes:
    """JSON in which every letter of a text is an escape, as a hostile server may write it."""
    pieces = data.decode().split('"')
    pieces[1::2] = ["".join(f"\\u{ord(each):04x}" for each in piece) for piece in pieces[1::2]]
    return '"'.join(pieces).encode()


@pytest.mark.parametrize("is_escaped", [False, True], ids=["plain", "escaped"])
async def test_api_server_that_repeats_the_token_shows_none(is_escaped: bool) -> None:
    async def handle(request: http.Request) -> http.Response:
        message = f"invalid credential {read_credential(request)}"
        status = {"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden"}
        body = kit_json.encode({**status, "message": message})
        return http.Response(403, [], escape(body) if is_escaped else body)

    async with listening(handle) as address:
        config = ClusterConfig(server=f"http://{address}", token=Secret(PASSWORD))
        async with Client(config) as client:
            with pytest.raises(ApiError, match="invalid credential") as caught:
                await client.get_server_version()
    check_masked(str(caught.value))


@pytest.mark.parametrize("is_escaped", [False, True], ids=["plain", "escaped"])
async def test_watch_that_fails_with_the_token_shows_none(is_escaped: bool) -> None:
    async def handle(request: http.Request) -> http.Response:
        status = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired"}
        message = f"no watch for {read_credential(request)}"
        event = kit_json.encode({"type": "ERROR", "object": {**status, "message": message}})
        return http.Response(200, [], (escape(event) if is_escaped else event) + b"\n")

    async with listening(handle) as address:
        config = ClusterConfig(server=f"http://{address}", token=Secret(PASSWORD))
        async with Client(config) as client:
            with pytest.raises(ApiError, match="no watch for") as caught:
                async with client.watch(ConfigMap) as events:
                    await anext(events)
            with pytest.raises(ApiError, match="no watch for") as untyped:
                async with client.resource(GVR("", "v1", "configmaps")).watch() as raw:
                    await anext(raw)
    check_masked(str(caught.value))
    check_masked(str(untyped.value))


@pytest.mark.usefixtures("obstore_runtime")
@pytest.mark.parametrize("place", ["options", "environment"])
async def test_object_storage_that_repeats_the_key_shows_none(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def handle(request: http.Request) -> http.Response:
        return http.Response(403, [], f"<Error>the key {PASSWORD} is wrong</Error>".encode())

    async with listening(handle) as address:
        options: dict[str, object] = {
            "endpoint": f"http://{address}",
            "region": "a",
            "access_key_id": "me",
            "client_options": {"allow_http": True},
        }
        if place == "options":
            options["secret_access_key"] = PASSWORD
        else:
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", PASSWORD)
        store = ObjectStorage("s3://results", options)
        spec = {"targets": [], "workflow": {"template": "t", "completion": {"mode": "workflow"}}}
        named = {"metadata": {"name": "a", "namespace": "b"}, "spec": spec}
        experiment = msgspec.convert(named, Experiment)
        with pytest.raises(StoreUnavailable, match="cannot write") as caught:
            await store.write(experiment, {"summary.json": b"{}"})
        with pytest.raises(StoreUnavailable, match="cannot read") as reading:
            await store.read("s3://results/a/", "summary.json")
    check_masked(str(caught.value))
    check_masked(str(reading.value))


async def test_redis_that_repeats_the_password_shows_none() -> None:
    pytest.importorskip("redis")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(4096):
            writer.write(f"-WRONGPASS {PASSWORD} is wrong\r\n".encode() * 4)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    state = RedisState(RedisAddress.parse(f"redis://:{PASSWORD}@127.0.0.1:{port}"))
    try:
        with pytest.raises(StoreRefused, match="credentials") as caught:
            await state.get("a")
    finally:
        await state.aclose()
        server.close()
    check_masked(str(caught.value))


async def test_hub_that_repeats_the_token_shows_none() -> None:
    grpc = pytest.importorskip("grpc")

    async def read() -> Any:
        return grpc.aio.EOF

    async def describe() -> str:
        return f"token {PASSWORD} is unknown"

    async def code() -> Any:
        return SimpleNamespace(name="UNAUTHENTICATED")

    call = SimpleNamespace(read=read, code=code, details=describe)
    uplink = Uplink(call, on_config=lambda update: None, masker=Masker(Secret(PASSWORD)))
    with pytest.raises(Disconnected, match="UNAUTHENTICATED") as caught:
        await uplink.receive()
    check_masked(str(caught.value))


async def test_github_that_repeats_the_token_shows_none() -> None:
    async def handle(request: http.Request) -> http.Response:
        return http.Response(200, [], kit_json.encode({"workflow_runs": [{"id": PASSWORD}]}))

    async with listening(handle) as address, http.Client() as web:
        poller = Poller(None, web, SystemClock())  # type: ignore[arg-type]  # not asked here
        with pytest.raises(PollFailed) as caught:
            await poller._get(
                f"http://{address}/", Repository(f"http://{PASSWORD}", "a/b", PASSWORD), _Runs
            )
    check_masked(str(caught.value))


async def test_grafana_that_cannot_be_reached_shows_no_token() -> None:
    async with http.Client() as web:
        grafana = GrafanaApi(f"http://127.0.0.1:1/{PASSWORD}", Secret(PASSWORD), client=web)
        with pytest.raises(GrafanaUnavailable) as caught:
            await grafana.delete("a")
    check_masked(str(caught.value))


async def test_issuer_that_repeats_the_client_secret_shows_none() -> None:
    body = kit_json.encode({"error": f"{PASSWORD} is wrong"})
    with pytest.raises(OidcError) as caught:
        read_id_token(401, body, Masker(Secret(PASSWORD)))
    check_masked(str(caught.value))


@pytest.mark.parametrize(
    ("masker", "text"),
    [
        (build_masker(f"Bearer {PASSWORD}"), f"token {PASSWORD}"),
        (
            build_masker("Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()),
            f"user me, password {PASSWORD}",
        ),
    ],
)
def test_credentials_of_headers_and_urls_are_masked(masker: Masker, text: str) -> None:
    assert PASSWORD not in masker.mask(text)
    assert PASSWORD.encode() not in masker.mask_bytes(text.encode())
    assert masker.mask_bytes(b'{"a": "token"}') == b'{"a": "token"}'
    escaped = escape(kit_json.encode({"message": text}))
    assert PASSWORD not in str(kit_json.decode(masker.mask_bytes(escaped)))


def test_answers_that_cannot_be_read_are_masked_or_hidden() -> None:
    masker = Masker(Secret(PASSWORD))
    assert masker.mask_bytes(f"C:\\{PASSWORD}".encode()) == b"C:\\***"
    deep = b"[" * 100_000 + escape(f'"{PASSWORD}"'.encode()) + b"]" * 100_000
    assert masker.mask_bytes(deep) == b'"***"'


def check_masked(text: str) -> None:
    """The password is there in no form, and something was in its place."""
    assert "***" in text
    assert Masker(Secret(PASSWORD), Secret(f"me:{PASSWORD}")).is_clean(text)
