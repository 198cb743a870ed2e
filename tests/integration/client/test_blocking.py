"""Reads without an event loop: what they can do they do at once, the rest they leave to a loop."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app.cluster_factory import EmbeddedClusters
from quarterdeck.cli.loop import run_without_loop
from quarterdeck.client import Client, ClusterConfig, RequestTimeout
from quarterdeck.client.blocking import BlockingTransport, EventLoopRequired
from quarterdeck.client.config.cluster import ExecConfig, PemSource
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import Secret


def read(config: ClusterConfig) -> Any:
    """The version of a server, asked without a loop."""

    async def ask() -> Any:
        async with Client(config, sender=BlockingTransport(config)) as client:
            return [await client.get_server_version(), await client.get_server_version()]

    return run_without_loop(ask())


@contextlib.contextmanager
def stub(*answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that takes one connection and gives one answer to each request on it."""
    seen: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                for answer in answers:
                    seen.append(connection.recv(65536))
                    for part in answer.splitlines(keepends=True):  # in pieces, as networks do
                        connection.sendall(part)
                connection.recv(1)  # until the client closes

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/below", seen
    finally:
        listener.close()
        thread.join()


PLAIN = b'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{"a":1}'
CHUNKED = (
    b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n4;x=y\r\n":1}\r\n0\r\n\r\n'
)


def test_answers_are_read_whole_on_one_connection() -> None:
    with stub(PLAIN, CHUNKED) as (url, seen):
        assert read(ClusterConfig(server=url, token=Secret("t0ken"))) == [{"a": 1}, {"a": 1}]
    assert [each.split(b"\r\n")[0] for each in seen] == [b"GET /below/version HTTP/1.1"] * 2
    assert b"\r\nAuthorization: Bearer t0ken\r\n" in seen[0]
    assert b"\r\nHost: 127.0.0.1:" in seen[0]


async def test_a_server_is_read_over_tls() -> None:
    async with EmbeddedClusters(clock=SystemClock()) as clusters:
        config = await clusters.create("one")
        assert config.server.startswith("https://")
        assert (await asyncio.to_thread(read, config))[1]["gitVersion"].startswith("v1.")
        stranger = msgspec.structs.replace(config, certificate_authority=PemSource())
        with pytest.raises(EventLoopRequired):
            await asyncio.to_thread(read, stranger)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(PLAIN.replace(b"200 OK", b"404 Not Found"), id="a failure"),
        pytest.param(PLAIN.replace(b"200 OK", b"302 Found"), id="a redirection"),
        pytest.param(PLAIN.replace(b"HTTP/1.1", b"HTTP/1.0"), id="an older protocol"),
        pytest.param(PLAIN.replace(b"Content-Length: 7", b"Content-Length: x"), id="no length"),
        pytest.param(PLAIN.replace(b"7\r\n", b"7\r\nConnection: close\r\n", 1), id="a last answer"),
        pytest.param(PLAIN.replace(b"7\r\n", b"7\r\nContent-Encoding: gzip\r\n", 1), id="packed"),
        pytest.param(PLAIN.replace(b": 7", b": 2000000"), id="too long"),
        pytest.param(CHUNKED.replace(b"3\r\n", b"5\r\n", 1), id="a broken chunk"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n\r\n", id="another protocol"),
    ],
)
def test_what_is_unusual_is_left_to_a_loop(answer: bytes) -> None:
    with stub(answer) as (url, _), pytest.raises(EventLoopRequired):
        read(ClusterConfig(server=url, max_body_bytes=1_000_000))


def test_a_silent_server_costs_a_bounded_time() -> None:
    with stub(b"HTTP/1.1 200 OK\r\n") as (url, _), pytest.raises(RequestTimeout, match=r"0\.2 s"):
        read(ClusterConfig(server=url, timeout_s=0.2))


@pytest.mark.parametrize(
    "config",
    [
        ClusterConfig(server="http://127.0.0.1:9"),
        ClusterConfig(server="http+unix://%2Fsocket"),
        ClusterConfig(server="http://127.0.0.1:9", proxy_url="http://127.0.0.1:9"),
        ClusterConfig(server="http://127.0.0.1:9", token_file=Path("token")),
        ClusterConfig(server="http://127.0.0.1:9", exec=ExecConfig(command="login")),
        ClusterConfig(server="http://127.0.0.1:9", requests_per_s=1.0),
        ClusterConfig(server="http://127.0.0.1:9", user_agent="a\r\nb: c"),
    ],
)
def test_what_needs_more_than_a_connection_is_left_to_a_loop(config: ClusterConfig) -> None:
    with pytest.raises(EventLoopRequired):
        read(config)


def test_writes_and_watches_are_left_to_a_loop() -> None:
    config = ClusterConfig(server="http://127.0.0.1:9")

    async def write(client: Client) -> None:
        await client.delete(ConfigMap, "a", "default")

    async def watch(client: Client) -> None:
        async with client.watch(ConfigMap):
            pass

    for act in (write, watch):
        client = Client(config, sender=BlockingTransport(config))
        work: Coroutine[Any, Any, None] = act(client)
        with pytest.raises(EventLoopRequired):
            run_without_loop(work)
