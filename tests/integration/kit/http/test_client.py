"""The client over real sockets, against our server and against scripted ones."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.http import ClientLimits, Request, Response, StreamResponse
from quarterdeck.testing.poll import eventually

Answer = Response | StreamResponse
Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def echo(request: Request) -> Answer:
    body = await request.read(10 << 20)
    return Response(200, [("x-method", request.method)], request.target.encode() + b" " + body)


@asynccontextmanager
async def scripted(script: Script) -> AsyncIterator[str]:
    """A server that does what the script says, for each connection."""

    running: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running.add(writer)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await script(reader, writer)
        finally:
            writer.close()
            running.discard(writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.close()
        await server.wait_closed()
        await eventually(lambda: not running)


@asynccontextmanager
async def pair(
    handler: http.Handler = echo, *, client: http.Client | None = None
) -> AsyncIterator[tuple[http.Client, str, http.Server]]:
    async with http.Server(handler) as server, client or http.Client() as chosen:
        listener = await server.listen("127.0.0.1", 0)
        yield chosen, listener.url, server


async def body_of(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
        await asyncio.sleep(0)


async def test_requests_reuse_one_connection() -> None:
    async with pair() as (client, url, server):
        for number in range(5):
            response = await client.request("GET", f"{url}/{number}?q")
            assert response.status == 200 and response.headers.get("X-Method") == "GET"
            assert await response.read() == b"/%d?q " % number
        assert server.statistics().connections_total == 1
        assert client.statistics().idle == 1


async def test_bodies_go_out_whole_and_in_streams() -> None:
    async with pair() as (client, url, _):
        whole = await client.request("POST", f"{url}/", body=b"x" * 100_000)
        assert await whole.read() == b"/ " + b"x" * 100_000
        streamed = await client.request("PUT", f"{url}/", body=body_of(b"a", b"", b"b" * 300_000))
        assert await streamed.read() == b"/ a" + b"b" * 300_000
        assert client.statistics().connections_total == 1


async def test_a_response_may_begin_before_the_request_body_ends() -> None:
    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            async for data in request.stream():
                await writer.write(data.upper())

        return StreamResponse(200, [], run)

    heard = asyncio.Event()

    async def talk() -> AsyncIterator[bytes]:
        yield b"one\n"
        await heard.wait()
        yield b"two\n"

    async with pair(handler) as (client, url, _):
        response = await client.request("POST", url, body=talk())
        lines = response.lines()
        assert await anext(lines) == b"ONE"
        heard.set()
        assert [line async for line in lines] == [b"TWO"]
        assert client.statistics().idle == 1


async def test_head_has_no_body_and_the_connection_goes_on() -> None:
    async with pair() as (client, url, server):
        for _ in range(2):
            response = await client.request("HEAD", f"{url}/abc")
            assert response.headers.get("content-length") == "5" and await response.read() == b""
        assert await (await client.request("GET", f"{url}/x")).read() == b"/x "
        assert server.statistics().connections_total == 1


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        pytest.param(OK, b"ok", id="length"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"until the end", id="until EOF"),
        pytest.param(b"HTTP/1.0 200 OK\r\n\r\nold", b"old", id="HTTP/1.0"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nT: 1\r\n\r\n",
            b"a",
            id="chunked with trailer",
        ),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hint\r\nA: b\r\n\r\n" + OK, b"ok",
                     id="interim answers"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", b"", id="no content"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 1000], ids=["by byte", "at once"])
async def test_every_framing_is_understood(answer: bytes, body: bytes, size: int) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for at in range(0, len(answer), size):
            writer.write(answer[at : at + size])
            await asyncio.sleep(0)

    async with scripted(script) as url, http.Client() as client:
        response = await client.request("GET", url)
        assert await response.read() == body


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(b"", http.ConnectionClosed, id="nothing"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", http.ConnectionClosed, id="half a head"),
        pytest.param(b"nonsense\r\n\r\n", http.ProtocolError, id="no HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 300 + b"\r\n", http.ProtocolError,
                     id="many fields"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70000, http.ProtocolError, id="long field"),
        pytest.param(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
            http.ProtocolError, id="switches protocols",
        ),
    ],
)  # fmt: skip
async def test_a_bad_head_fails_the_request(answer: bytes, error: type[Exception]) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    async with scripted(script) as url, http.Client() as client:
        with pytest.raises(error):
            await client.request("GET", url)
        await eventually(lambda: client.statistics().connections == 0)


async def test_a_body_cut_short_is_a_gone_peer() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nline\r\n")
        await writer.drain()

    async with scripted(script) as url, http.Client() as client:
        response = await client.request("GET", url)
        received = []
        with pytest.raises(http.ConnectionClosed):
            async for data in response.chunks():
                received += [data]
        assert received == [b"line"]


async def test_a_stale_connection_is_replaced_for_idempotent_requests_only() -> None:
    served = 0

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        await reader.readuntil(b"\r\n\r\n")
        served += 1
        writer.write(OK)
        await reader.readuntil(b"\r\n\r\n")  # read the second request and hang up on it

    async with scripted(script) as url, http.Client() as client:
        for _ in range(3):
            assert await (await client.request("GET", url)).read() == b"ok"
        assert served == 3 and client.statistics().retries_total == 2
        with pytest.raises(http.ConnectionClosed):
            await client.request("POST", url, body=b"x")
        with pytest.raises(http.ConnectionClosed):
            for _ in range(2):
                await (await client.request("PUT", url, body=body_of(b"x"))).read()


async def test_an_answer_nobody_asked_for_ends_the_connection() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await answered.wait()
        writer.write(OK.replace(b"ok", b"no"))
        await reader.read()

    answered = asyncio.Event()
    async with scripted(script) as url, http.Client() as client:
        assert await (await client.request("GET", url)).read() == b"ok"
        answered.set()
        await eventually(lambda: client.statistics().connections == 0)
        answered.clear()
        assert await (await client.request("GET", url)).read() == b"ok"
        answered.set()


async def test_silence_and_slowness_are_timeouts() -> None:
    release, clock = asyncio.Event(), VirtualClock()

    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            await writer.write(b"tick\n")
            await writer.closing.wait()

        if request.path == "/nothing":
            await release.wait()
        return StreamResponse(200, [], run)

    client = http.Client(read_timeout_s=10, clock=clock)
    async with pair(handler, client=client) as (_, url, server):
        nothing = asyncio.ensure_future(client.request("GET", f"{url}/nothing"))
        await eventually(lambda: server.statistics().requests_running)
        await clock.advance(9)
        assert not nothing.done()
        await clock.advance(1)
        with pytest.raises(http.ReadTimeout, match="no data from the server for 10 s"):
            await nothing
        quiet = await _after_a_tick(await client.request("GET", f"{url}/quiet"))
        await clock.advance(10)
        with pytest.raises(http.ReadTimeout, match="no data from the server for 10 s"):
            await quiet
        slow = await client.request("GET", f"{url}/slow", timeout_s=20, read_timeout_s=30)
        late = await _after_a_tick(slow)
        await clock.advance(20)
        with pytest.raises(http.ReadTimeout, match="total timeout"):
            await late
        patient = await client.request("GET", f"{url}/quiet", read_timeout_s=None)
        stream = await _after_a_tick(patient)
        await clock.advance(3600)
        assert not stream.done()
        stream.cancel()
        with suppress(asyncio.CancelledError):
            await stream
        await eventually(lambda: client.statistics().connections == 0)
        release.set()


async def _after_a_tick(response: http.ClientResponse) -> "asyncio.Future[bytes]":
    """What reads on, once the first line has arrived."""
    lines = response.lines()
    assert await anext(lines) == b"tick"

    async def read() -> bytes:
        return await anext(lines)

    return asyncio.ensure_future(read())


async def test_cancellation_closes_the_connection() -> None:
    async def handler(request: Request) -> Answer:
        await asyncio.sleep(60)
        return Response(200, [])

    async with pair(handler) as (client, url, server):
        request = asyncio.ensure_future(client.request("GET", url))
        await eventually(lambda: server.statistics().requests_running)
        request.cancel()
        with suppress(asyncio.CancelledError):
            await request
        await eventually(lambda: client.statistics().connections == 0)


async def test_leaving_a_body_closes_its_connection() -> None:
    async def handler(request: Request) -> Answer:
        async def run(writer: http.BodyWriter) -> None:
            while not writer.closing.is_set():
                await writer.write(b"line\n")
                await asyncio.sleep(0)

        return StreamResponse(200, [], run)

    async with pair(handler) as (client, url, server):
        async with await client.request("GET", url) as response:
            async for line in response.lines():
                assert line == b"line"
                break
        await eventually(lambda: client.statistics().connections == 0)
        await eventually(lambda: not server.statistics().requests_running)


async def test_a_consumer_that_does_not_read_holds_the_server_back() -> None:
    async def handler(request: Request) -> Answer:
        return Response(200, [], bytes(16 << 20))

    limits = ClientLimits(buffer_bytes=1000)
    clock = VirtualClock()
    client = http.Client(limits=limits, read_timeout_s=10, clock=clock)
    async with pair(handler, client=client) as (_, url, _server):
        response = await client.request("GET", url)
        await eventually(lambda: response._body_buffer.is_full)
        await clock.advance(100)  # a full buffer is our slowness, not the server's
        assert not response.is_complete
        assert len(await response.read()) == 16 << 20


async def test_a_complete_body_that_nobody_reads_does_not_block_the_next_response() -> None:
    small = http.Client(limits=ClientLimits(buffer_bytes=10), read_timeout_s=5.0)

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" + b"x" * 20)

    async with scripted(script) as url, small as client:
        for _ in range(2):
            async with await client.request("GET", url) as response:
                await eventually(lambda: response.is_complete)  # noqa: B023
            response = await client.request("GET", url)
            with pytest.raises(http.BodyTooLarge):
                await response.read(5)
        assert await (await client.request("GET", url)).read() == b"x" * 20
        assert client.statistics().connections_total == 1


async def test_a_body_beyond_the_limit_is_refused() -> None:
    async with pair() as (client, url, _):
        response = await client.request("POST", url, body=bytes(1000))
        with pytest.raises(http.BodyTooLarge):
            await response.read(100)


async def test_a_full_pool_makes_callers_wait_in_order() -> None:
    release = asyncio.Event()
    seen: list[str] = []

    async def handler(request: Request) -> Answer:
        seen.append(request.path)
        await release.wait()
        return Response(200, [], b"x")

    async with pair(handler, client=http.Client(pool=2)) as (client, url, server):

        async def get(number: int) -> bytes:
            return await (await client.request("GET", f"{url}/{number}")).read()

        tasks = [asyncio.ensure_future(get(number)) for number in range(6)]
        await eventually(lambda: client.statistics().waiting >= 4)
        tasks[3].cancel()
        release.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert results.count(b"x") == 5
        assert server.statistics().connections_total == 2
        assert seen == ["/0", "/1", "/2", "/4", "/5"]


async def test_a_pool_that_stays_busy_is_a_timeout() -> None:
    async def handler(request: Request) -> Answer:
        await asyncio.Event().wait()
        return Response(200, [])

    clock = VirtualClock()
    client = http.Client(pool=1, connect_timeout_s=10, read_timeout_s=None, clock=clock)
    async with pair(handler, client=client) as (_, url, server):
        first = asyncio.ensure_future(client.request("GET", url))
        await eventually(lambda: server.statistics().requests_running)
        for timeout_s, error in ((None, http.PoolTimeout), (5, http.ConnectTimeout)):
            second = asyncio.ensure_future(client.request("GET", url, timeout_s=timeout_s))
            await eventually(lambda: client.statistics().waiting)
            await clock.advance(timeout_s or 10)
            with pytest.raises(error):
                await second
        first.cancel()
        with suppress(asyncio.CancelledError):
            await first


async def test_nobody_there_is_a_connect_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        async with http.Client() as client:
            with pytest.raises(http.ConnectError, match=f"127.0.0.1:{port}"):
                await client.request("GET", f"http://127.0.0.1:{port}")
            assert client.statistics().connections == 0


@pytest.mark.parametrize("host", ["a..b", ".example", "x" * 64 + ".example"])
async def test_a_host_that_cannot_be_a_name_is_a_connect_error_that_says_so(host: str) -> None:
    async with http.Client() as client:
        with pytest.raises(http.ConnectError, match="not a host name: label empty or too long"):
            await client.request("GET", f"http://{host}:1")
    async with http.Client(proxy=f"http://{host}:1") as client:
        with pytest.raises(http.ProxyError, match=r"the proxy .*: not a host name"):
            await client.request("GET", "http://127.0.0.1:1")


async def test_a_connection_that_does_not_come_about_times_out() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        clock = VirtualClock()
        async with http.Client(connect_timeout_s=10, clock=clock) as client:
            url = f"http://127.0.0.1:{address[1]}"
            request = asyncio.ensure_future(client.request("GET", url))
            await eventually(lambda: clock.next_deadline is not None)
            await clock.advance(10)
            with pytest.raises(http.ConnectTimeout, match="within 10 s"):
                await request
        for filler in fillers:
            filler.close()


async def test_idle_connections_are_closed_after_a_while() -> None:
    clock = VirtualClock()
    client = http.Client(limits=ClientLimits(idle_timeout_s=10), clock=clock)
    async with pair(client=client) as (_, url, server):
        await (await client.request("GET", url)).read()
        await clock.advance(9)
        assert client.statistics().idle == 1
        await clock.advance(1)
        await eventually(lambda: not server.statistics().connections)
        await eventually(lambda: not client.statistics().connections)


async def test_closing_the_client_ends_what_is_under_way() -> None:
    async def handler(request: Request) -> Answer:
        await asyncio.sleep(60)
        return Response(200, [])

    async with pair(handler) as (client, url, server):
        request = asyncio.ensure_future(client.request("GET", url))
        await eventually(lambda: server.statistics().requests_running)
        await client.aclose()
        with pytest.raises(http.ConnectionClosed):
            await request
        with pytest.raises(RuntimeError, match="closed"):
            await client.request("GET", url)


async def test_closing_the_client_sends_nothing_again() -> None:
    received: list[str] = []

    async def hold_second(request: Request) -> Answer:
        received.append(request.path)
        if len(received) > 1:
            await asyncio.Event().wait()
        return Response(200, [])

    async with pair(hold_second) as (client, url, server):
        await (await client.request("GET", f"{url}/first")).read()
        task = asyncio.ensure_future(client.request("GET", f"{url}/second", read_timeout_s=None))
        await eventually(lambda: len(received) == 2)
        await client.aclose()
        with pytest.raises(http.ConnectionClosed):
            await task
        assert received == ["/first", "/second"]
        assert server.statistics().connections_total == 1


async def test_a_failing_request_body_fails_the_request() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"x"
        raise ValueError("no more")

    async with pair() as (client, url, server):
        with pytest.raises(ValueError, match="no more"):
            await client.request("POST", url, body=broken())
        await eventually(lambda: not server.statistics().connections)


async def test_a_refusal_ends_a_streamed_body_early() -> None:
    async def handler(request: Request) -> Answer:
        return Response(403, [], b"no")

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(10_000)
            await asyncio.sleep(0)

    async with pair(handler) as (client, url, _):
        for _ in range(3):
            response = await client.request("POST", url, body=endless())
            assert response.status == 403 and await response.read() == b"no"
        await asyncio.sleep(0)
        assert client.statistics().idle == 0


async def test_unix_sockets_work_and_belong_to_their_owner(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    async with http.Server(echo) as server, http.Client() as client:
        await server.listen_unix(str(path))
        assert path.stat().st_mode & 0o777 == 0o600
        response = await client.request("GET", f"http+unix://{quote(str(path), safe='')}/x")
        assert await response.read() == b"/x "
    async with http.Server(echo) as server:
        await server.listen_unix(str(path))  # a socket left behind is replaced


@pytest.mark.parametrize("headers", [[("a", "b\r\nc: d")], [("a\r\nb", "c")]])
async def test_a_header_that_breaks_out_is_refused(headers: list[tuple[str, str]]) -> None:
    async with pair() as (client, url, server):
        with pytest.raises(ValueError, match="line break"):
            await client.request("GET", url, headers=headers)
        with pytest.raises(ValueError, match="method"):
            await client.request("GET /x HTTP/1.1\r\n", url)
        assert server.statistics().connections_total == 0


async def test_the_last_line_needs_no_end() -> None:
    async def handler(request: Request) -> Answer:
        return Response(200, [], b"a\nb\nc")

    async with pair(handler) as (client, url, _):
        response = await client.request("GET", url)
        assert [line async for line in response.lines()] == [b"a", b"b", b"c"]
        assert repr(response) == "<ClientResponse 200>"


async def test_closing_the_client_wakes_those_who_wait_for_a_connection() -> None:
    async def handler(request: Request) -> Answer:
        await asyncio.sleep(60)
        return Response(200, [])

    async with pair(handler, client=http.Client(pool=1)) as (client, url, _):
        asked = [asyncio.ensure_future(client.request("GET", url)) for _ in range(3)]
        await eventually(lambda: client.statistics().waiting == 2)
        await client.aclose()
        results = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(result) for result in results] == [http.ConnectionClosed] * 3


async def test_callers_that_give_up_hand_their_connection_on() -> None:
    release = asyncio.Event()

    async def handler(request: Request) -> Answer:
        await release.wait()
        return Response(200, [], b"x")

    async with pair(handler, client=http.Client(pool=1)) as (client, url, server):

        async def get() -> bytes:
            return await (await client.request("GET", url)).read()

        tasks = [asyncio.ensure_future(get()) for _ in range(40)]
        await eventually(lambda: client.statistics().waiting == 39)
        release.set()
        for number, task in enumerate(tasks):
            if number % 3 == 1:
                await asyncio.sleep(0.0005)
                task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, bytes | asyncio.CancelledError) for each in results)
        assert await get() == b"x"
        assert client.statistics().waiting == 0 and server.statistics().connections <= 2


async def _rests(read: Callable[[], int]) -> int:
    """The figure, once it stays the same for a while."""
    for _ in range(5):
        before = read()
        await asyncio.sleep(0.1)
        if read() == before:
            break
    return before


async def test_a_large_streamed_body_waits_for_a_slow_server() -> None:
    started = asyncio.Event()
    release = asyncio.Event()
    sent = 0

    async def handler(request: Request) -> Answer:
        started.set()
        await release.wait()
        return Response(200, [], b"%d" % sum([len(part) async for part in request.stream()]))

    async def large() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(400):
            sent += 1
            yield bytes(100_000)

    async with pair(handler) as (client, url, _):
        asked = asyncio.ensure_future(client.request("POST", url, body=large()))
        await started.wait()
        assert await _rests(lambda: sent) < 400
        release.set()
        assert await (await asked).read() == b"40000000"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", id="unknown coding"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", id="two lengths"
        ),
    ],
)
async def test_a_framing_that_cannot_be_trusted_is_refused(answer: bytes) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await reader.read()

    async with scripted(script) as url, http.Client() as client:
        with pytest.raises(http.ProtocolError):
            await client.request("GET", url)


async def test_a_body_in_answer_to_head_ends_the_connection() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await reader.read()

    async with scripted(script) as url, http.Client() as client:
        response = await client.request("HEAD", url)
        assert await response.read() == b""
        await eventually(lambda: client.statistics().connections == 0)
