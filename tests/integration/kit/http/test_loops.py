"""The same conversation on asyncio's loop and on uvloop, with nothing left open."""

import asyncio
import gc
import os
import ssl
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from quarterdeck.kit import http
from quarterdeck.kit.http import Request, Response, StreamResponse

Runner = Callable[[Coroutine[Any, Any, None]], None]


async def handler(request: Request) -> Response | StreamResponse:
    async def run(writer: http.BodyWriter) -> None:
        async for data in request.stream():
            await writer.write(data)

    if request.path == "/echo":
        return StreamResponse(200, [], run)
    return Response(200, [], await request.read(1 << 20))


async def parts(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * 50_000


def tls_of(certificates: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificates / "server.pem")
    return serving, ssl.create_default_context(cafile=str(certificates / "ca.crt"))


async def conversation(certificates: Path | None) -> None:
    serving, asking = (None, None) if certificates is None else tls_of(certificates)
    async with http.Server(handler) as server, http.Client(tls=asking) as client:
        listener = await server.listen("127.0.0.1", 0, tls=serving)

        async def talk(number: int) -> None:
            for _ in range(5):
                plain = await client.request("POST", f"{listener.url}/", body=b"%d" % number)
                assert await plain.read() == b"%d" % number
            echoed = await client.request("POST", f"{listener.url}/echo", body=parts(20))
            assert len(await echoed.read()) == 20 * 50_000

        await asyncio.gather(*(talk(number) for number in range(10)))
        await client.aclose()
        await server.drain(2)
        assert server.statistics().connections == 0
        assert server.statistics().requests_total == 60


def open_files() -> int:
    folder = Path("/proc/self/fd")
    return len(os.listdir(folder)) if folder.exists() else 0


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_conversation_leaves_nothing_open(run: Runner, certificates: Path, secure: bool) -> None:
    chosen = certificates if secure else None
    run(conversation(chosen))  # a loop may open files of its own, once
    gc.collect()
    before = open_files()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        run(conversation(chosen))
        gc.collect()
    assert open_files() <= before


PLAIN = [
    f"{method} / HTTP/1.1\r\nHost: a\r\n\r\n"
    for method in ("GET", "HEAD", "POST", "PUT", "OPTIONS")
]
NOT_ANSWERED = [
    b"neither TLS nor HTTP\r\n",
    b"DELETE / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"PATCH / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
]
"""What Go does not take for HTTP, by the first five bytes."""


async def exchange(port: int, *parts: bytes) -> bytes:
    """Send bytes without TLS, part by part; the whole answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            for _ in range(10):  # the server may look at the part alone
                await asyncio.sleep(0)
        return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


async def send_plain_http(certificates: Path) -> None:
    serving, asking = tls_of(certificates)
    async with http.Server(handler) as server, http.Client(tls=asking) as client:
        listener = await server.listen("127.0.0.1", 0, tls=serving)
        for request in PLAIN:
            assert await exchange(listener.port, request.encode()) == (
                b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
            )
        whole = await exchange(listener.port, b"OP", b"T", b"IONS / HTTP/1.1\r\n\r\n")
        assert whole.startswith(b"HTTP/1.0 400")
        for other in NOT_ANSWERED:
            assert await exchange(listener.port, other) == b""
        failures = len(PLAIN) + 1 + len(NOT_ANSWERED)
        assert server.statistics().handshake_failures_total == failures
        assert server.statistics().connections_total == 0
        answer = await client.request("GET", f"{listener.url}/")
        assert (answer.status, await answer.read()) == (200, b"")


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_plain_http_on_a_tls_port_is_answered_as_go_answers_it(
    run: Runner, certificates: Path
) -> None:
    run(send_plain_http(certificates))
    gc.collect()
    before = open_files()
    run(send_plain_http(certificates))
    gc.collect()
    assert open_files() <= before


async def stop_and_cancel(turns: int, *, how: str) -> None:
    """Stop a server with a running stream, and cancel whoever stops it after so many turns."""
    server = http.Server(handler)
    listeners = [await server.listen("127.0.0.1", 0) for _ in range(2)]
    streams = [await asyncio.open_connection("127.0.0.1", each.port) for each in listeners]
    for reader, writer in streams:
        writer.write(b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    stopping = asyncio.ensure_future(server.drain(60) if how == "drain" else server.close())
    for _ in range(turns):
        await asyncio.sleep(0)
    stopping.cancel()
    await asyncio.gather(stopping, return_exceptions=True)
    if not turns:  # cancelled before its first step, so nothing has begun
        await server.close()
    for reader, writer in streams:
        await reader.read()
        writer.close()
        await writer.wait_closed()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        async with asyncio.timeout(60):
            await asyncio.wait(others)
    for each in listeners:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", each.port)
    assert server.statistics().connections == 0


@pytest.mark.parametrize("how", ["drain", "close"])
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_server_whose_stop_is_cancelled_leaves_nothing_open(run: Runner, how: str) -> None:
    before = open_files()
    for turns in range(12):
        run(stop_and_cancel(turns, how=how))
    gc.collect()
    assert open_files() <= before
