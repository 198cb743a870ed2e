"""A server that is slow, silent or half dead costs a bounded time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, ClientError, ClusterConfig, RequestTimeout
from quarterdeck.kit import http
from quarterdeck.testing import server_faults as faults
from quarterdeck.testing.poll import eventually
from quarterdeck.testing.server_faults import ServerFaults
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError, NotFound

LIMIT_S = 0.3


@contextlib.asynccontextmanager
async def bounded(url: str, limit_s: float = LIMIT_S) -> AsyncIterator[Client]:
    """A client that waits briefly, and a test that fails rather than hang."""
    async with asyncio.timeout(240), Client(ClusterConfig(server=url, timeout_s=limit_s)) as client:
        yield client


@contextlib.asynccontextmanager
async def stub(answer: bytes) -> AsyncIterator[str]:
    """A server that says this much to everybody, and then nothing."""
    opened: list[asyncio.StreamWriter] = []

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(writer)
        writer.write(answer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in opened:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        await server.wait_closed()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="nothing at all"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-", id="half a head"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{", id="half a body"),
        pytest.param(
            b"HTTP/1.1 500 Oh\r\ncontent-length: 900\r\n\r\n{", id="half a body of an error"
        ),
    ],
)
async def test_a_request_without_a_response_times_out(answer: bytes) -> None:
    async with stub(answer) as url, bounded(url) as client:
        # on a loaded machine the time may be over before there is a connection
        with pytest.raises(RequestTimeout, match=r"no answer within 0\.3 s|connect"):
            await client.get(ConfigMap, "a", "default")


async def test_a_handshake_that_does_not_end_is_a_failed_connection() -> None:
    async with stub(b"") as url, bounded(url.replace("http:", "https:")) as client:
        with pytest.raises(RequestTimeout, match=r"no connection to|before connecting to"):
            await client.get(ConfigMap, "a", "default")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\ncontent-"], ids=["none", "half"])
async def test_a_watch_without_a_response_times_out(answer: bytes) -> None:
    async with stub(answer) as url, bounded(url) as client:
        with pytest.raises(RequestTimeout):
            async with client.watch(ConfigMap, "default"):
                pass


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nnonsense!", id="no JSON"),
        pytest.param(b"HTTP/1.1 500 Oh\r\ncontent-length: 4\r\n\r\nhelp", id="no Status"),
    ],
)
async def test_a_malformed_response_is_a_client_error(answer: bytes) -> None:
    async with stub(answer) as url, bounded(url) as client:
        with pytest.raises((ClientError, ApiError)):
            await client.list(ConfigMap, "default")
        with pytest.raises((ClientError, ApiError)):
            await client.discover_resource_by_name("pods")


async def test_a_slow_server_does_not_hold_up_others() -> None:
    rules = ServerFaults(faults.delay("list", 3600, times=1))
    async with Cluster(faults=rules) as cluster, bounded(cluster.url, 240) as client:
        slow = asyncio.ensure_future(client.list(ConfigMap, "default"))
        await eventually(lambda: bool(rules.rules[0].injected))
        assert await client.list(ConfigMap, "default", ListOptions())
        assert not slow.done()
        slow.cancel()


def discover_each(handler: http.Handler) -> http.Handler:
    """Serve discovery as servers before 1.26 do: each group version by itself."""

    async def handle(request: http.Request) -> http.Response | http.StreamResponse:
        accept = request.headers.get("accept") or ""
        if "APIGroupDiscoveryList" in accept:
            request = http.Request.of(request.method, request.target, peer=request.peer)
        return await handler(request)

    return handle


async def test_an_aggregated_api_that_is_down_hides_no_other() -> None:
    def down(handler: http.Handler) -> http.Handler:
        async def handle(request: http.Request) -> http.Response | http.StreamResponse:
            if request.path == "/apis/apps/v1":
                return http.Response(503, [("content-type", "text/plain")], b"unavailable")
            return await discover_each(handler)(request)

        return handle

    async with Cluster(faults=down) as cluster:
        _, found = await cluster.client.discover_resource_by_name("leases")
        assert found.gvr.group == "coordination.k8s.io"
        with pytest.raises(NotFound):
            await cluster.client.discover_resource_by_name("deployments")


def build_definition(plural: str, *versions: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {
                "plural": plural,
                "kind": plural.removesuffix("s").title(),
                "categories": ["shop"],
            },
            "versions": [
                {"name": each, "served": True, "storage": each == versions[0], "schema": schema}
                for each in versions
            ],
        },
    }


@pytest.mark.parametrize("wrap", [None, discover_each], ids=["at once", "each by itself"])
async def test_a_kind_that_the_preferred_version_of_its_group_lacks_is_found(
    wrap: Callable[[http.Handler], http.Handler] | None,
) -> None:
    async with Cluster(faults=wrap) as cluster, Client(cluster.client.config) as client:
        old, both = build_definition("olds", "v1alpha1"), build_definition("boths", "v1", "v1beta1")
        await definitions.apply(cluster.client.raw, [old, both])
        for name, version in {"olds": "v1alpha1", "old": "v1alpha1", "both": "v1"}.items():
            for each in (name, f"{name}.example.com"):
                _, found = await client.discover_resource_by_name(each)
                assert found.gvr.version == version
        category = await client.list_resources_in_category("shop")
        assert {(each.gvr.resource, each.gvr.version) for each in category} == {
            ("olds", "v1alpha1"),
            ("boths", "v1"),
        }
        listed = [each.gvr for each in await client.list_resources()]
        assert [each.version for each in listed if each.group == "example.com"] == [
            "v1",
            "v1alpha1",
        ]


async def test_a_limit_on_requests_is_kept() -> None:
    async with Cluster() as cluster:
        config = ClusterConfig(server=cluster.url, requests_per_s=100.0, burst=5)
        loop = asyncio.get_running_loop()
        async with Client(config) as client:
            started = loop.time()
            await asyncio.gather(*(client.get_server_version() for _ in range(25)))
            assert loop.time() - started >= 0.19
