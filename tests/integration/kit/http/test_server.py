"""The server over real sockets, spoken to in raw bytes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.http import Limits, Request, Response, StreamResponse
from quarterdeck.testing.poll import eventually

Answer = Response | StreamResponse


class Raw:
    """A connection spoken to in bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def rest(self) -> bytes:
        return await self.reader.read()

    async def until(self, end: bytes) -> bytes:
        return await self.reader.readuntil(end)

    async def response(self) -> tuple[bytes, bytes]:
        head = await self.until(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        return head, await self.reader.readexactly(length)


@asynccontextmanager
async def serving(
    handler: http.Handler,
    *,
    limits: Limits | None = None,
    on_error: Callable[[Request, BaseException], None] | None = None,
) -> AsyncIterator[tuple[http.Server, Callable[[], "asyncio.Future[Raw]"]]]:
    opened: list[Raw] = []
    async with http.Server(handler, limits=limits, on_error=on_error) as server:
        listener = await server.listen("127.0.0.1", 0)

        async def connect() -> Raw:
            opened.append(Raw(*await asyncio.open_connection(listener.host, listener.port)))
            return opened[-1]

        try:
            yield server, lambda: asyncio.ensure_future(connect())
        finally:
            for raw in opened:
                raw.writer.close()
                with suppress(OSError):
                    await raw.writer.wait_closed()


async def echo(request: Request) -> Answer:
    body = await request.read(1000)
    text = f"{request.method} {request.path} {request.query} ".encode() + body
    return Response(200, [("content-type", "text/plain")], text)


GET = b"GET /%s HTTP/1.1\r\nHost: a\r\n\r\n"


async def test_requests_share_a_connection() -> None:
    async with serving(echo) as (server, connect):
        raw = await connect()
        for number in range(3):
            raw.send(GET % b"%d" % number)
            head, body = await raw.response()
            assert head.startswith(b"HTTP/1.1 200 OK\r\n") and b"\r\ndate: " in head
            assert body == b"GET /%d  " % number
        assert server.statistics().requests_total == 3
        assert server.statistics().connections == 1


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with serving(echo, limits=Limits(pipeline=2)) as (_, connect):
        raw = await connect()
        raw.send(b"".join(GET % b"%d" % number for number in range(2000)))
        for number in range(2000):
            assert (await raw.response())[1] == b"GET /%d  " % number


async def test_a_body_arrives_by_length_and_in_chunks() -> None:
    async with serving(echo) as (_, connect):
        raw = await connect()
        raw.send(b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
        await asyncio.sleep(0)
        raw.send(b"def")
        assert (await raw.response())[1] == b"POST /a  abcdef"
        raw.send(b"PUT /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        raw.send(b"3;ext=1\r\ndef\r\n0\r\nTrailer: x\r\n\r\n")
        assert (await raw.response())[1] == b"PUT /b  abcdef"


async def test_head_has_the_length_and_no_body() -> None:
    async with serving(echo) as (_, connect):
        raw = await connect()
        raw.send(b"HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n" + GET % b"y")
        assert b"content-length: 9\r\n" in await raw.until(b"\r\n\r\n")
        assert (await raw.response())[1] == b"GET /y  "


@pytest.mark.parametrize("status", [204, 304])
async def test_some_statuses_have_no_body(status: int) -> None:
    async def handler(request: Request) -> Answer:
        return Response(status, [], b"ignored")

    async with serving(handler) as (_, connect):
        raw = await connect()
        raw.send(GET % b"" + b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        answer = await raw.rest()
        assert answer.count(b"HTTP/1.1 %d" % status) == 2
        assert b"content-length" not in answer and b"ignored" not in answer


async def test_http_1_0_gets_a_body_that_ends_with_the_connection() -> None:
    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            await writer.write(b"one ")
            await writer.write(b"two")

        return StreamResponse(200, [], run)

    async with serving(handler) as (_, connect):
        raw = await connect()
        raw.send(b"GET / HTTP/1.0\r\n\r\n")
        answer = await raw.rest()
        assert answer.endswith(b"\r\n\r\none two") and b"chunked" not in answer
        assert b"connection: close" in answer


async def test_http_1_0_keeps_the_connection_when_asked() -> None:
    async with serving(echo) as (_, connect):
        raw = await connect()
        for _ in range(2):
            raw.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            assert b"connection: keep-alive" in (await raw.response())[0]


async def test_a_stream_is_chunked_and_the_connection_goes_on() -> None:
    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            await writer.write(b"one")
            await asyncio.sleep(0)
            await writer.write(b"")
            writer.write_nowait(b"two")

        return StreamResponse(200, [("content-type", "x")], run)

    async with serving(handler) as (_, connect):
        raw = await connect()
        for _ in range(2):
            raw.send(GET % b"")
            answer = await raw.until(b"0\r\n\r\n")
            assert answer.endswith(b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")


async def test_a_quiet_stream_sends_its_head_at_once() -> None:
    release = asyncio.Event()

    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            await release.wait()

        return StreamResponse(200, [], run)

    async with serving(handler) as (server, connect):
        raw = await connect()
        raw.send(GET % b"")
        await raw.until(b"\r\n\r\n")
        assert server.statistics().streams_running == 1
        release.set()
        assert await raw.until(b"0\r\n\r\n") == b"0\r\n\r\n"


async def test_a_slow_reader_holds_the_writer_back() -> None:
    most = 0
    finished = asyncio.Event()

    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            nonlocal most
            for _ in range(400):
                await writer.write(b"x" * 65536)
                most = max(most, writer.buffered)
            finished.set()

        return StreamResponse(200, [], run)

    async with serving(handler) as (_, connect):
        raw = await connect()
        raw.send(GET % b"")
        await raw.until(b"\r\n\r\n")
        await asyncio.sleep(0.05)
        assert not finished.is_set()
        total = 0
        while not finished.is_set():
            total += len(await raw.reader.read(1 << 20))
        assert most < 1 << 20


async def test_a_handler_that_does_not_read_holds_the_client_back() -> None:
    release = asyncio.Event()

    async def handler(request: Request) -> Answer:
        await release.wait()
        return Response(200, [], b"%d" % sum([len(part) async for part in request.stream()]))

    size = 32 << 20
    async with serving(handler, limits=Limits(buffer_bytes=1024)) as (_, connect):
        raw = await connect()
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)
        raw.send(bytes(size))
        await asyncio.sleep(0.05)
        assert raw.writer.transport.get_write_buffer_size() > size // 2
        release.set()
        assert (await raw.response())[1] == b"%d" % size


async def test_continue_is_sent_when_the_body_is_wanted() -> None:
    async with serving(echo) as (_, connect):
        raw = await connect()
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        assert await raw.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        raw.send(b"abc")
        assert (await raw.response())[1] == b"POST /  abc"


async def test_continue_is_not_sent_for_a_refused_body() -> None:
    async def handler(request: Request) -> Answer:
        return Response(403, [], b"no")

    async with serving(handler) as (_, connect):
        raw = await connect()
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        answer = await raw.rest()
        assert answer.startswith(b"HTTP/1.1 403") and b"connection: close" in answer


async def test_a_small_unread_body_is_dropped_and_the_connection_goes_on() -> None:
    async def handler(request: Request) -> Answer:
        return Response(403, [], b"no")

    async with serving(handler) as (server, connect):
        raw = await connect()
        for _ in range(3):
            raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
            assert b"connection: close" not in (await raw.response())[0]
            raw.send(bytes(1000))
        assert server.statistics().connections_total == 1


async def test_a_large_unread_body_ends_the_connection_after_the_answer() -> None:
    async def handler(request: Request) -> Answer:
        return Response(403, [], b"no")

    limits = Limits(drain_bytes=100, linger_timeout_s=0.1)
    async with serving(handler, limits=limits) as (_, connect):
        raw = await connect()
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + bytes(50000))
        head, body = await raw.response()
        assert b"connection: close" in head and body == b"no"
        assert await raw.rest() == b""


async def test_an_endless_unread_body_in_chunks_is_cut() -> None:
    async def handler(request: Request) -> Answer:
        return Response(403, [], b"no")

    async with serving(handler, limits=Limits(drain_bytes=100)) as (_, connect):
        raw = await connect()
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert (await raw.response())[1] == b"no"
        raw.send(b"400\r\n" + bytes(1024) + b"\r\n")
        with pytest.raises(ConnectionResetError):
            await raw.rest()
            raise ConnectionResetError("closed in order")


async def test_a_body_beyond_the_limit_is_a_413() -> None:
    async with serving(echo) as (_, connect):
        raw = await connect()
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n" + bytes(1001))
        assert (await raw.response())[0].startswith(b"HTTP/1.1 413 ")
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        raw.send(b"3e9\r\n" + bytes(1001) + b"\r\n0\r\n\r\n")
        assert (await raw.response())[0].startswith(b"HTTP/1.1 413 ")
        raw.send(GET % b"still")
        assert (await raw.response())[1] == b"GET /still  "


async def test_a_failing_handler_is_a_500_that_tells_nothing() -> None:
    errors: list[BaseException] = []

    async def handler(request: Request) -> Answer:
        raise ValueError("the secret inside")

    async with serving(handler, on_error=lambda _, error: errors.append(error)) as (
        server,
        connect,
    ):
        raw = await connect()
        raw.send(GET % b"")
        head, body = await raw.response()
        assert head.startswith(b"HTTP/1.1 500 ") and b"secret" not in head + body
        assert [str(error) for error in errors] == ["the secret inside"]
        assert server.statistics().handler_errors_total == 1


@pytest.mark.parametrize(
    "response",
    [
        Response(200, [("x", "a\r\nset-cookie: b")], b""),
        Response(200, [("x", "\u2603")], b""),
        Response(42, [], b""),
    ],
    ids=["line break", "not latin-1", "status"],
)
async def test_a_response_that_cannot_be_sent_is_a_500(response: Response) -> None:
    async def handler(request: Request) -> Answer:
        return response

    async with serving(handler, on_error=lambda *_: None) as (_, connect):
        raw = await connect()
        raw.send(GET % b"")
        head, _body = await raw.response()
        assert head.startswith(b"HTTP/1.1 500 ") and b"cookie" not in head


async def test_a_stream_that_fails_late_is_cut_short() -> None:
    errors: list[BaseException] = []

    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            await writer.write(b"part")
            await asyncio.sleep(0.01)
            raise ValueError("broken")

        return StreamResponse(200, [], run)

    async with serving(handler, on_error=lambda _, error: errors.append(error)) as (_, connect):
        raw = await connect()
        raw.send(GET % b"")
        with suppress(OSError):
            assert not (await raw.rest()).endswith(b"0\r\n\r\n")
        assert len(errors) == 1


async def test_a_stream_that_fails_at_once_is_a_500() -> None:
    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            raise ValueError("broken")

        return StreamResponse(200, [], run)

    async with serving(handler, on_error=lambda *_: None) as (_, connect):
        raw = await connect()
        raw.send(GET % b"")
        assert (await raw.response())[0].startswith(b"HTTP/1.1 500 ")


async def test_garbage_after_good_requests_is_answered_last() -> None:
    async with serving(echo, limits=Limits(linger_timeout_s=0.05)) as (server, connect):
        raw = await connect()
        raw.send(GET % b"one" + GET % b"two" + b"\x00garbage\r\n\r\n")
        assert (await raw.response())[1] == b"GET /one  "
        assert (await raw.response())[1] == b"GET /two  "
        answer = await raw.rest()
        assert answer.startswith(b"HTTP/1.1 ") and b"connection: close" in answer
        assert server.statistics().malformed_total == 1


async def test_broken_chunks_fail_the_body_once() -> None:
    async with serving(echo, limits=Limits(linger_timeout_s=0.05)) as (_, connect):
        raw = await connect()
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
        answer = await raw.rest()
        assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1") == 1


async def test_a_half_closed_connection_is_still_answered() -> None:
    async def handler(request: Request) -> Answer:
        await asyncio.sleep(0.01)
        return await echo(request)

    async with serving(handler) as (_, connect):
        raw = await connect()
        raw.send(GET % b"one" + GET % b"two")
        raw.writer.write_eof()
        answer = await raw.rest()
        assert b"GET /one" in answer and b"GET /two" in answer


async def test_a_body_cut_short_is_a_gone_peer() -> None:
    seen: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()

    async def handler(request: Request) -> Answer:
        try:
            return await echo(request)
        except http.HttpError as error:
            seen.set_result(error)
            raise

    async with serving(handler) as (_, connect):
        raw = await connect()
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
        raw.writer.write_eof()
        assert isinstance(await seen, http.ConnectionClosed)
        assert (await raw.rest()).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("how", ["close", "abort", "half"])
async def test_a_watch_notices_a_gone_peer(how: str) -> None:
    gone = asyncio.Event()

    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            await request.wait_disconnect()
            gone.set()

        return StreamResponse(200, [], run)

    async with serving(handler) as (server, connect):
        raw = await connect()
        raw.send(GET % b"")
        await raw.until(b"\r\n\r\n")
        match how:
            case "close":
                raw.writer.close()
            case "abort":
                raw.writer.transport.abort()
            case _:
                raw.writer.write_eof()
        async with asyncio.timeout(240):
            await gone.wait()
            await eventually(lambda: not server.statistics().requests_running)


async def test_writing_to_a_gone_peer_raises() -> None:
    failure: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()

    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            try:
                while True:
                    await writer.write(b"x" * 10000)
                    await asyncio.sleep(0)
            except http.ConnectionClosed as error:
                failure.set_result(error)
                raise

        return StreamResponse(200, [], run)

    async with serving(handler) as (server, connect):
        raw = await connect()
        raw.send(GET % b"")
        await raw.until(b"\r\n\r\n")
        raw.writer.transport.abort()
        async with asyncio.timeout(240):
            await failure
        assert server.statistics().handler_errors_total == 0


async def test_a_stream_that_ignores_its_gone_peer_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        return StreamResponse(200, [], run)

    async with serving(handler, limits=Limits(linger_timeout_s=0.05)) as (_, connect):
        raw = await connect()
        raw.send(GET % b"")
        await raw.until(b"\r\n\r\n")
        raw.writer.transport.abort()
        async with asyncio.timeout(240):
            await cancelled.wait()


async def test_a_line_may_be_as_long_as_it_likes() -> None:
    line = b"x" * (8 << 20)

    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            await writer.write(line + b"\n")

        return StreamResponse(200, [], run)

    async with http.Server(handler) as server, http.Client() as client:
        listener = await server.listen("127.0.0.1", 0)
        response = await client.request("GET", listener.url)
        assert [found async for found in response.lines()] == [line]


async def test_a_name_with_two_addresses_has_one_port() -> None:
    async with http.Server(echo) as server, http.Client() as client:
        listener = await server.listen("localhost", 0)
        response = await client.request("GET", f"{listener.url}/x")
        assert await response.read() == b"GET /x  "


async def test_a_taken_port_is_an_error() -> None:
    async with http.Server(echo) as server:
        listener = await server.listen("127.0.0.1", 0)
        with pytest.raises(OSError, match="in use"):
            await server.listen("127.0.0.1", listener.port)


async def test_garbage_is_refused_at_once() -> None:
    async with serving(echo, limits=Limits(linger_timeout_s=0.05)) as (server, connect):
        for garbage in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET /\r\n\r\n", b"\r\n" * 50_000):
            raw = await connect()
            raw.send(garbage)
            answer = await raw.rest()
            assert answer.startswith(b"HTTP/1.1 ") and answer.count(b"HTTP/1.1") == 1
        assert server.statistics().malformed_total == 3


async def test_broken_chunks_after_the_answer_end_the_connection() -> None:
    async def handler(request: Request) -> Answer:
        return Response(403, [], b"no")

    async with serving(handler, limits=Limits(linger_timeout_s=0.05)) as (_, connect):
        raw = await connect()
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert (await raw.response())[1] == b"no"
        raw.send(b"zz\r\n")
        assert await raw.rest() == b""


async def test_a_stream_has_no_body_for_head() -> None:
    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            raise AssertionError("nobody asked for the body")

        return StreamResponse(200, [], run)

    async with serving(handler) as (_, connect):
        raw = await connect()
        for _ in range(2):
            raw.send(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b"transfer-encoding: chunked" in await raw.until(b"\r\n\r\n")


async def test_a_streamed_body_beyond_the_servers_limit_is_a_413() -> None:
    async def handler(request: Request) -> Answer:
        return Response(200, [], b"%d" % len([part async for part in request.stream()]))

    async with serving(handler, limits=Limits(body_bytes=1000)) as (_, connect):
        raw = await connect()
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        raw.send(b"3e9\r\n" + bytes(1001) + b"\r\n0\r\n\r\n")
        assert (await raw.response())[0].startswith(b"HTTP/1.1 413 ")


async def test_a_half_closed_peer_still_gets_a_long_stream() -> None:
    loop, written = asyncio.get_running_loop(), 0

    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            nonlocal written
            end = loop.time() + 0.12
            while loop.time() < end:
                await writer.write(b"x")
                written += 1
                await asyncio.sleep(0)  # one write in each turn of the loop, however slow it is

        return StreamResponse(200, [], run)

    async with serving(handler, limits=Limits(linger_timeout_s=0.03)) as (_, connect):
        raw = await connect()
        raw.send(GET % b"")
        raw.writer.write_eof()
        answer = await raw.rest()
        assert answer.count(b"1\r\nx\r\n") == written and answer.endswith(b"0\r\n\r\n")


async def test_waiting_for_a_peer_that_is_already_gone_returns() -> None:
    gone = asyncio.Event()

    async def handler(request: Request) -> Answer:
        await asyncio.sleep(0.02)
        await request.wait_disconnect()
        gone.set()
        return Response(200, [])

    async with serving(handler) as (_, connect):
        raw = await connect()
        raw.send(GET % b"")
        raw.writer.write_eof()
        async with asyncio.timeout(240):
            await gone.wait()
