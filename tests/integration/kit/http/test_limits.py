"""Slow, silent and too many peers, by small limits; and what a drain leaves behind."""

import asyncio
import socket
from contextlib import suppress

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.http import Limits, Request, Response, StreamResponse
from quarterdeck.testing.poll import eventually

Answer = Response | StreamResponse
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


async def hello(request: Request) -> Answer:
    return Response(200, [], await request.read(1 << 20) or b"hello")


async def ask(port: int, data: bytes) -> bytes:
    """Send bytes, and read until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        async with asyncio.timeout(240):
            return await reader.read()
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@pytest.mark.parametrize(
    ("data", "start"),
    [
        pytest.param(b"", b"", id="says nothing"),
        pytest.param(b"GET / HTTP/1.1\r\nHost", b"HTTP/1.1 408 ", id="stops within the header"),
        pytest.param(GET, b"HTTP/1.1 200 ", id="idle after a request"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc", b"HTTP/1.1 408 ",
            id="stops within the body",
        ),
    ],
)  # fmt: skip
async def test_a_silent_peer_is_let_go(data: bytes, start: bytes) -> None:
    limits = Limits(
        header_timeout_s=0.5, idle_timeout_s=0.5, body_timeout_s=0.5, linger_timeout_s=0.5
    )
    async with http.Server(hello, limits=limits) as server:
        listener = await server.listen("127.0.0.1", 0)
        answer = await ask(listener.port, data)
        assert answer.startswith(start) and (answer == b"") == (start == b"")
        assert answer.count(b"HTTP/1.1") == (1 if start else 0)


@pytest.mark.parametrize(("rate", "timeout_s"), [(0, 60.0), (1000, 0.1)])
async def test_a_trickling_body_is_slow_when_a_rate_is_asked_for(
    rate: int, timeout_s: float
) -> None:
    limits = Limits(body_timeout_s=timeout_s, body_rate=rate, linger_timeout_s=60)
    async with http.Server(hello, limits=limits) as server:
        listener = await server.listen("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n")
        for _ in range(8):
            await asyncio.sleep(0.04)
            writer.write(b"x")
        assert (await reader.read(12)) == (b"HTTP/1.1 408" if rate else b"HTTP/1.1 200")
        writer.close()


async def test_a_peer_that_does_not_read_is_cut() -> None:
    ended: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()

    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            try:
                while True:
                    await writer.write(bytes(65536))
            except http.ConnectionClosed as error:
                ended.set_result(error)
                raise

        return StreamResponse(200, [], run)

    limits = Limits(write_timeout_s=0.1)
    async with http.Server(handler, limits=limits) as server:
        listener = await server.listen("127.0.0.1", 0)
        with socket.create_connection(("127.0.0.1", listener.port)) as silent:
            silent.sendall(GET)
            async with asyncio.timeout(240):
                await ended
        assert server.statistics().timeouts_total == 1


async def test_a_peer_that_begins_by_not_reading_gets_its_time() -> None:
    async def handler(request: Request) -> Answer:
        return Response(200, [], bytes(32 << 20))

    limits = Limits(write_timeout_s=60, linger_timeout_s=0.02)
    async with http.Server(handler, limits=limits) as server:
        listener = await server.listen("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(GET)
        await asyncio.sleep(0.1)  # several ticks pass while the answer waits
        assert len(await reader.readexactly(32 << 20)) == 32 << 20
        writer.close()


async def test_a_silent_stream_is_not_a_slow_peer() -> None:
    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            await asyncio.sleep(0.2)
            await writer.write(b"late")

        return StreamResponse(200, [], run)

    limits = Limits(
        write_timeout_s=0.02, idle_timeout_s=0.02, body_timeout_s=0.02, header_timeout_s=60
    )
    async with http.Server(handler, limits=limits) as server:
        listener = await server.listen("127.0.0.1", 0)
        assert (await ask(listener.port, GET)).endswith(b"4\r\nlate\r\n0\r\n\r\n")


async def test_an_idle_connection_makes_room_for_a_newcomer() -> None:
    async with http.Server(hello, limits=Limits(connections=2)) as server:
        listener = await server.listen("127.0.0.1", 0)
        peers = []
        for _ in range(6):
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            peers.append(writer)
            writer.write(GET)
            assert (await reader.read(12)) == b"HTTP/1.1 200"
            assert server.statistics().connections <= 2
        assert server.statistics().evicted_total >= 4
        for writer in peers:
            writer.close()


async def test_a_newcomer_waits_while_all_connections_are_busy() -> None:
    release = asyncio.Event()

    async def handler(request: Request) -> Answer:
        await release.wait()
        return Response(200, [])

    async with http.Server(handler, limits=Limits(connections=1)) as server:
        listener = await server.listen("127.0.0.1", 0)
        closing = GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        both = asyncio.gather(ask(listener.port, closing), ask(listener.port, closing))
        await eventually(lambda: server.statistics().requests_running)
        await asyncio.sleep(0.05)  # time for the other one to be accepted by mistake
        assert server.statistics().connections_total == 1
        release.set()
        assert [answer[:12] for answer in await both] == [b"HTTP/1.1 200"] * 2


async def test_a_drain_ends_streams_well_and_closes_idle_connections() -> None:
    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            await writer.closing.wait()
            await writer.write(b"bye")

        return Response(200, []) if request.path == "/" else StreamResponse(200, [], run)

    async with http.Server(handler) as server:
        listener = await server.listen("127.0.0.1", 0)
        asked = [
            asyncio.ensure_future(ask(listener.port, GET.replace(b"/ ", path + b" ")))
            for path in (b"/", b"/stream")
        ]
        await eventually(
            lambda: (
                (stats := server.statistics()).streams_running == 1 and stats.requests_total == 2
            )
        )
        await server.drain(240)
        idle, stream = await asyncio.gather(*asked)
        assert idle.startswith(b"HTTP/1.1 200 ")
        assert stream.endswith(b"3\r\nbye\r\n0\r\n\r\n")
        assert server.statistics().connections == 0
        with pytest.raises(OSError):
            await ask(listener.port, GET)


async def test_a_stream_that_ignores_a_drain_is_ended_after_its_time() -> None:
    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            await writer.write(b"stay")
            await asyncio.Event().wait()

        return StreamResponse(200, [], run)

    async with http.Server(handler) as server:
        listener = await server.listen("127.0.0.1", 0)
        asked = asyncio.ensure_future(ask(listener.port, GET))
        await eventually(lambda: server.statistics().streams_running)
        await server.drain(0.1)
        assert (await asked).endswith(b"4\r\nstay\r\n0\r\n\r\n")
        assert server.statistics().connections == 0


async def test_a_drain_waits_for_running_requests() -> None:
    release = asyncio.Event()

    async def handler(request: Request) -> Answer:
        await release.wait()
        return Response(200, [], b"done")

    async with http.Server(handler) as server:
        listener = await server.listen("127.0.0.1", 0)
        asked = asyncio.ensure_future(ask(listener.port, GET))
        await eventually(lambda: server.statistics().requests_running)
        drained = asyncio.ensure_future(server.drain(60))
        await asyncio.sleep(0.01)
        assert not drained.done()
        release.set()
        answer = await asked
        await drained
        assert answer.endswith(b"done") and b"connection: close" in answer


async def test_close_cancels_what_runs() -> None:
    cancelled = asyncio.Event()

    async def handler(request: Request) -> Answer:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    async with http.Server(handler) as server:
        listener = await server.listen("127.0.0.1", 0)
        asked = asyncio.ensure_future(ask(listener.port, GET))
        await eventually(lambda: server.statistics().requests_running)
        await server.close()
        assert cancelled.is_set() and server.statistics().connections == 0
        with suppress(OSError):
            assert await asked == b""
