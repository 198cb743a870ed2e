"""Accepting under pressure: no descriptors left, handshakes that never end, taken socket files."""

import asyncio
import errno
import os
import resource
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.http import Limits, Request, Response

GET = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


async def hello(request: Request) -> Response:
    return Response(200, [], b"hello")


@contextmanager
def few_descriptors(spare: int) -> Iterator[list[int]]:
    """Leave this process few descriptors; closing those in the list gives it more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(int(name) for name in os.listdir("/proc/self/fd")) + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + spare, before[1]))
    taken: list[int] = []
    try:
        yield taken
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for each in taken:
            os.close(each)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs the system's list of files")
async def test_a_server_without_descriptors_waits_and_goes_on() -> None:
    async with http.Server(hello) as server:
        listener = await server.listen("127.0.0.1", 0)
        peer = socket.socket()
        peer.setblocking(False)
        with peer, few_descriptors(8) as taken:
            while True:
                try:
                    taken.append(os.dup(0))
                except OSError:
                    break
            loop = asyncio.get_running_loop()
            await loop.sock_connect(peer, ("127.0.0.1", listener.port))
            await loop.sock_sendall(peer, GET)
            await asyncio.sleep(0.05)
            assert server.statistics().connections_total == 0
            while taken:
                os.close(taken.pop())
            async with asyncio.timeout(240):
                assert (await loop.sock_recv(peer, 100)).startswith(b"HTTP/1.1 200")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs the system's list of files")
async def test_the_last_descriptor_is_enough_for_a_tls_connection(certificates: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem")
    trust = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
    async with http.Server(hello) as server:
        listener = await server.listen("127.0.0.1", 0, tls=context)
        peer = socket.socket()
        peer.setblocking(False)
        with few_descriptors(8) as taken:
            with suppress(OSError):
                while True:
                    taken.append(os.dup(0))
            os.close(taken.pop())
            await asyncio.get_running_loop().sock_connect(peer, ("127.0.0.1", listener.port))
            reader, writer = await asyncio.open_connection(
                sock=peer, ssl=trust, server_hostname="127.0.0.1"
            )
            writer.write(GET)
            assert (await reader.read()).endswith(b"hello")
            writer.close()


async def test_handshakes_that_never_end_make_room_for_newcomers(certificates: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem")
    limits = Limits(handshakes=1)
    async with http.Server(hello, limits=limits) as server:
        listener = await server.listen("127.0.0.1", 0, tls=context)
        _, silent = await asyncio.open_connection("127.0.0.1", listener.port)
        trust = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
        async with http.Client(tls=trust) as client:
            response = await client.request("GET", listener.url)
            assert await response.read() == b"hello"
        assert server.statistics().handshake_failures_total == 1
        silent.close()


async def test_a_socket_file_in_use_is_not_taken_over(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    async with http.Server(hello) as first, http.Server(hello) as second:
        await first.listen_unix(path)
        with pytest.raises(OSError):
            await second.listen_unix(path)
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(GET)
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_a_file_that_is_no_socket_is_never_removed(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("mine")
    async with http.Server(hello) as server:
        with pytest.raises(OSError):
            await server.listen_unix(str(path))
    assert path.read_text() == "mine"


async def test_port_that_is_taken_is_named() -> None:
    async with http.Server(hello) as server, http.Server(hello) as second:
        listener = await server.listen("127.0.0.1", 0)
        with pytest.raises(OSError, match=f"127.0.0.1 port {listener.port}: ") as caught:
            await second.listen("127.0.0.1", listener.port)
        assert caught.value.errno == errno.EADDRINUSE
