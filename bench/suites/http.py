"""Our HTTP core against aiohttp, httpx and the standard library.

Servers are processes on a core of their own and are asked for the processor time they used, so
that neither the load generator nor other programs count. Clients all talk to the same server.
"""

import asyncio
import importlib.util
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from bench import environment, machine
from bench.peers.http_servers import LINES
from bench.peers.process import Load, ServerProcess
from bench.suite import OURS, Case, Contenders, Measure, Missing, Scale, Suite, Value

GET = (
    b"GET /small HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n"
    b"User-Agent: bench\r\n\r\n"
)
POST = (
    b"POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1024\r\n\r\n" + b"x" * 1024
)
STREAM = b"GET /lines HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
CONNECTIONS = 16
TASKS = 16

SERVERS = ((OURS, "quarterdeck"), ("aiohttp", "aiohttp"), ("http.server", "stdlib"))
LOOPS = ("asyncio", "uvloop")


def cases(scale: Scale) -> Sequence[Case]:
    requests = scale.pick(500, 3_000, 10_000)
    asked = scale.pick(200, 1_000, 2_000)
    streams = scale.pick(1, 4, 20)
    return [
        *(_server_case("small GET", loop, GET, requests) for loop in LOOPS),
        *(_server_case("POST of 1 KiB", loop, POST, requests) for loop in LOOPS),
        Case(
            name="server, stream of 300-byte lines",
            unit="CPU µs a line",
            open=lambda _: _streams(streams),
        ),
        Case(name="client, small GET", unit="CPU µs a request", open=lambda _: _clients(asked)),
        Case(
            name="client, stream of 300-byte lines",
            unit="CPU µs a line",
            open=lambda _: _readers(streams),
        ),
        Case(name="import", unit="ms", open=lambda _: _imports()),
    ]


def _server_case(what: str, loop: str, request: bytes, total: int) -> Case:
    return Case(
        name=f"server on {loop}, {what}",
        unit="CPU µs a request",
        open=lambda _: _servers(request, total, loop=loop),
    )


def _is_missing(kind: str, loop: str) -> str | None:
    for module in (kind, loop):
        if module not in ("stdlib", "asyncio") and importlib.util.find_spec(module) is None:
            return f"{module} is not installed"
    return None


@contextmanager
def _started(
    kinds: Sequence[tuple[str, str]], *, loop: str = "asyncio"
) -> Iterator[dict[str, ServerProcess | Missing]]:
    """All servers at once: they are idle while another one is measured."""
    with ExitStack() as stack:
        started: dict[str, ServerProcess | Missing] = {}
        for name, kind in kinds:
            reason = _is_missing(kind, loop)
            started[name] = (
                stack.enter_context(ServerProcess(kind, loop=loop))
                if reason is None
                else Missing(reason)
            )
        cores = machine.affinity()
        machine.pin(0)
        try:
            yield started
        finally:
            machine.restore(cores)


@contextmanager
def _servers(request: bytes, total: int, *, loop: str) -> Iterator[Contenders]:
    kinds = SERVERS if loop == "asyncio" else SERVERS[:2]  # the standard library has no loop
    with _started(kinds, loop=loop) as servers:
        loads: list[Load] = []

        def measure(server: ServerProcess) -> Measure:
            load = Load(server.port, request, connections=CONNECTIONS)
            loads.append(load)

            def run() -> float:
                before = server.cpu_s()
                done = load.run(max(1, total // CONNECTIONS))
                return (server.cpu_s() - before) / done * 1e6

            return run

        yield {
            name: each if isinstance(each, Missing) else measure(each)
            for name, each in servers.items()
        }
        for load in loads:
            load.close()


@contextmanager
def _streams(times: int) -> Iterator[Contenders]:
    with _started(SERVERS[:2]) as servers:

        def measure(server: ServerProcess) -> Measure:
            def run() -> float:
                before = server.cpu_s()
                for _ in range(times):
                    _read_stream(server.port)
                return (server.cpu_s() - before) / (times * LINES) * 1e6

            return run

        yield {
            name: each if isinstance(each, Missing) else measure(each)
            for name, each in servers.items()
        }


def _read_stream(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(STREAM)
        tail = b""
        while not tail.endswith(b"0\r\n\r\n"):
            data = connection.recv(1 << 18)
            if not data:
                raise ConnectionError("the server cut the stream")
            tail = (tail + data)[-5:]


Session = Callable[[int], Coroutine[None, None, None]]


@contextmanager
def _looped(
    opened: dict[str, Callable[[str], Awaitable[tuple[Session, Callable[[], Awaitable[None]]]]]],
    *,
    count: int,
    operations: int,
) -> Iterator[Contenders]:
    """Clients, each on an event loop of its own that stays between the rounds."""
    with _started([("server", "quarterdeck")]) as servers, ExitStack() as stack:
        server = servers["server"]
        if isinstance(server, Missing):
            raise RuntimeError(server.reason)
        url = f"http://127.0.0.1:{server.port}"

        def measure(name: str) -> Measure | Missing:
            if (reason := _is_missing(name.split()[0], "asyncio")) is not None:
                return Missing(reason)
            runner = stack.enter_context(asyncio.Runner())
            session, close = runner.run(_awaited(opened[name](url)))
            stack.callback(lambda: runner.run(_awaited(close())))

            def run() -> float:
                before = time.process_time()
                runner.run(_awaited(session(count)))
                return (time.process_time() - before) / operations * 1e6

            return run

        yield {name: measure(name) for name in opened}


async def _awaited(work: Awaitable[Value]) -> Value:
    return await work


def _clients(total: int) -> AbstractContextManager[Contenders]:
    return _looped(
        {OURS: _ours, "aiohttp": _aiohttp, "httpx": _httpx}, count=total // TASKS, operations=total
    )


async def _ours(url: str) -> tuple[Session, Callable[[], Awaitable[None]]]:
    from quarterdeck.kit import http

    client = http.Client()

    async def task(count: int) -> None:
        for _ in range(count):
            await (await client.request("GET", f"{url}/small")).read()

    return _in_tasks(task), client.aclose


async def _aiohttp(url: str) -> tuple[Session, Callable[[], Awaitable[None]]]:
    import aiohttp

    client = aiohttp.ClientSession()

    async def task(count: int) -> None:
        for _ in range(count):
            async with client.get(f"{url}/small") as response:
                await response.read()

    return _in_tasks(task), client.close


async def _httpx(url: str) -> tuple[Session, Callable[[], Awaitable[None]]]:
    import httpx

    client = httpx.AsyncClient(trust_env=False)

    async def task(count: int) -> None:
        for _ in range(count):
            await client.get(f"{url}/small")

    return _in_tasks(task), client.aclose


def _in_tasks(task: Session) -> Session:
    async def run(count: int) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(TASKS):
                group.create_task(task(count))

    return run


def _readers(times: int) -> AbstractContextManager[Contenders]:
    return _looped(
        {OURS: _our_lines, "aiohttp": _aiohttp_lines, "httpx": _httpx_lines},
        count=times,
        operations=times * LINES,
    )


async def _our_lines(url: str) -> tuple[Session, Callable[[], Awaitable[None]]]:
    from quarterdeck.kit import http

    client = http.Client()

    async def read(times: int) -> None:
        for _ in range(times):
            response = await client.request("GET", f"{url}/lines")
            _check(len([line async for line in response.lines()]))

    return read, client.aclose


async def _aiohttp_lines(url: str) -> tuple[Session, Callable[[], Awaitable[None]]]:
    import aiohttp

    client = aiohttp.ClientSession()

    async def read(times: int) -> None:
        for _ in range(times):
            async with client.get(f"{url}/lines") as response:
                _check(len([line async for line in response.content]))

    return read, client.close


async def _httpx_lines(url: str) -> tuple[Session, Callable[[], Awaitable[None]]]:
    import httpx

    client = httpx.AsyncClient(trust_env=False)

    async def read(times: int) -> None:
        for _ in range(times):
            async with client.stream("GET", f"{url}/lines") as response:
                _check(len([line async for line in response.aiter_lines()]))

    return read, client.aclose


def _check(count: int) -> None:
    if count != LINES:
        raise AssertionError(f"{count} lines arrived instead of {LINES}")


@contextmanager
def _imports() -> Iterator[Contenders]:
    modules = {OURS: "quarterdeck.kit.http.server", "aiohttp": "aiohttp.web", "httpx": "httpx"}

    def measure(module: str) -> Measure:
        code = f"import time; t = time.perf_counter(); import asyncio, {module}; "
        code += "print((time.perf_counter() - t) * 1e3)"
        command = [sys.executable, "-c", code]
        return lambda: float(subprocess.check_output(command, env=environment.clean()))

    yield {
        name: measure(module)
        if importlib.util.find_spec(module.split(".")[0])
        else Missing(f"{module} is not installed")
        for name, module in modules.items()
    }


SUITE = Suite(
    name="http",
    title="HTTP server and client",
    cases=cases,
    versions=("httptools", "uvloop", "aiohttp", "httpx"),
)
