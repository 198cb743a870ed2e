"""The load generator for the suites about API servers.

`python -m bench.peers.server_load KUBECONFIG [URL]`, told line by line like `api_load`.
"""

import asyncio
import itertools
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.openloop import drive, percentile
from bench.peers import deployments
from bench.peers.api_load import MERGE, Load, closed_loop, encode, path_of, run, serve
from bench.peers.prepared_load import build_request, send_for_a_time
from bench.peers.sleeper import Sleeper
from bench.peers.soaking import Soak
from bench.peers.widgets import widget
from quarterdeck.client import load_config
from quarterdeck.client.tls import build_client_context
from quarterdeck.kit import http

_LISTENING = 10
"""How many of many watchers are read at once."""
_AT_HAND = 8
_FEW = 32
"""Connections of a soak, watches included; requests that are due wait for one."""
_PREPARED_HZ = 8_000
"""Creations made beforehand for each second: more than a server answers."""
_DRAIN_S = 1.0
_ARRIVE_S = 30.0


class ServerLoad(Load):
    """Requests to one server, for a time instead of a count."""

    def __init__(self, kubeconfig: Path, url: str = "") -> None:
        super().__init__(kubeconfig, url)
        is_secure = self._url.startswith("https")
        self._tls = build_client_context(load_config(kubeconfig)) if is_secure else None
        self._soak: Soak | None = None
        self._soaking = AsyncExitStack()
        self._counts: list[int] = []

    async def creating(
        self, seconds: float, clients: int, prefix: str, namespace: str = "default"
    ) -> dict[str, Any]:
        """Create objects, as many as there is time for; most requests are made beforehand."""

        def build(number: int) -> bytes:
            body = encode(widget(f"{prefix}{number}", number + 1))
            return self._prepare("POST", path_of(namespace), body)

        count = int(seconds * _PREPARED_HZ)
        prepared = [build(number) for number in range(count)]
        requests = itertools.chain(prepared, map(build, itertools.count(count)))
        return await send_for_a_time(
            self._url, self._tls, requests, seconds=seconds, clients=clients
        )

    async def reading(
        self, seconds: float, clients: int, of: int, namespace: str = "default"
    ) -> dict[str, Any]:
        """Read objects one by one, as many as there is time for."""
        path = path_of(namespace)
        prepared = [self._prepare("GET", f"{path}/w{number * 7919 % of}") for number in range(of)]
        return await send_for_a_time(
            self._url, self._tls, itertools.cycle(prepared), seconds=seconds, clients=clients
        )

    def _prepare(self, method: str, path: str, body: bytes = b"") -> bytes:
        headers = [("Host", urlsplit(self._url).netloc), *self._common]
        if body:
            headers.append(("Content-Type", "application/json"))
        return build_request(method, path, headers, body)

    async def deploy(self, of: int) -> dict[str, Any]:
        """Have Deployments to read."""
        await deployments.seed(self.send, of)
        return {}

    async def deployed(
        self, count: int, clients: int, of: int, media: str, whole: bool = False
    ) -> dict[str, Any]:
        """Read Deployments one by one, or the list of them, in a media type."""

        async def one(number: int) -> None:
            path = deployments.PATH if whole else f"{deployments.PATH}/d{number * 7919 % of}"
            await self.send("GET", path, accept=media)

        return await closed_loop(one, count, clients)

    async def opening(self, count: int, namespace: str = "default") -> dict[str, Any]:
        """How long it takes to open a watch at the newest revision, the middle of a few."""
        path = await self._watch_path(namespace)
        taken = []
        for _ in range(count):
            start, began = time.perf_counter(), asyncio.Event()
            stream = asyncio.ensure_future(self.lines(path, lambda _: None, opened=began.set))
            await began.wait()
            taken.append(time.perf_counter() - start)
            await _cancelled([stream])
        return {"ms": statistics.median(taken) * 1e3}

    async def watching(
        self, watchers: int, rate_hz: float, count: int, of: int, namespace: str = "default"
    ) -> dict[str, Any]:
        """How long after a write was due a watcher has the event; open loop.

        A few of the watchers, spread among the others, are read at once; the rest sleep.
        """
        arrivals = _Arrivals(min(_LISTENING, watchers) * count)
        path = await self._watch_path(namespace)
        first = time.monotonic_ns() % 1_000_000_000

        async def write(number: int) -> None:
            body = encode({"spec": {"size": first + number}})
            await self.send("PATCH", f"{path_of(namespace)}/w{number % of}", body, media=MERGE)

        async with self._watched(path, arrivals.line, watchers):
            await self._connect(namespace)
            _, worst = await drive(
                write, rate_hz=rate_hz, count=count, due=lambda n, at: arrivals.due(first + n, at)
            )
            async with asyncio.timeout(_ARRIVE_S):
                await arrivals.complete.wait()
        return {
            "p50_ms": percentile(arrivals.delays, 0.5) * 1e3,
            "p99_ms": percentile(arrivals.delays, 0.99) * 1e3,
            "late_ms": worst * 1e3,
        }

    async def soak(self, objects: int, watchers: int, namespace: str = "default") -> dict[str, Any]:
        """Get ready to soak: `objects` are there, and watched from now on."""
        self._soak = Soak(self, path_of(namespace), encode, objects=objects)
        path = await self._watch_path(namespace)
        self._counts = [0] * watchers
        for number in range(watchers):
            stream = self.lines(path, partial(self._count, number))
            task = asyncio.ensure_future(stream)
            self._soaking.push_async_callback(_cancelled, [task])
        return {}

    def _count(self, number: int, _: bytes) -> None:
        self._counts[number] += 1

    async def soaking(self, seconds: float, rate_hz: float) -> dict[str, Any]:
        """Soak for some time."""
        assert self._soak is not None
        return await self._soak.part(seconds, rate_hz)

    async def hang_up(self) -> dict[str, Any]:
        """Close every connection, and have few from now on, so that stalls do not add to them."""
        await self._http.aclose()
        self._http = http.Client(tls=self._tls, pool=_FEW, read_timeout_s=120.0)
        await asyncio.sleep(_DRAIN_S)
        return {}

    async def soaked(self) -> dict[str, Any]:
        """End the watches; every watcher must have been told the same."""
        await asyncio.sleep(_DRAIN_S)
        await self._soaking.aclose()
        if not self._counts[0] or len(set(self._counts)) > 1:
            raise RuntimeError(f"watchers received {sorted(set(self._counts))} events")
        return {}

    @asynccontextmanager
    async def _watched(
        self, path: str, each: Callable[[bytes], None], watchers: int
    ) -> AsyncIterator[None]:
        """Open watches: some are read line by line, the others are drained now and then."""
        every = max(1, watchers // _LISTENING)
        streams: list[asyncio.Future[None]] = []
        sleepers: list[Sleeper] = []
        for number in range(watchers):
            if number % every:
                sleepers.append(await self._sleeper(path))
                continue
            began = asyncio.Event()
            streams.append(asyncio.ensure_future(self.lines(path, each, opened=began.set)))
            await began.wait()
        draining = asyncio.ensure_future(_drain(sleepers))
        try:
            yield
        finally:
            await _cancelled([*streams, draining])
            heard = [sleeper.drain() for sleeper in sleepers]
            for sleeper in sleepers:
                sleeper.close()
        if sleepers and not any(heard):
            raise RuntimeError("the sleeping watchers received no event")

    async def _sleeper(self, path: str) -> Sleeper:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, Sleeper, self._url + path, self._common, self._tls)

    async def _connect(self, namespace: str) -> None:
        """Have connections at hand: a handshake is no part of a latency."""
        path = f"{path_of(namespace)}?limit=1"
        await asyncio.gather(*(self.send("GET", path) for _ in range(_AT_HAND)))

    async def _watch_path(self, namespace: str) -> str:
        answer = json.loads(await self.send("GET", f"{path_of(namespace)}?limit=1"))
        version = answer["metadata"]["resourceVersion"]
        return f"{path_of(namespace)}?watch=1&resourceVersion={version}"


class _Arrivals:
    """When each write was due, and how long after that watchers had it."""

    def __init__(self, expected: int) -> None:
        self.delays: list[float] = []
        self.complete = asyncio.Event()
        self._expected = expected
        self._due: dict[int, float] = {}
        self._clock = asyncio.get_running_loop().time

    def due(self, number: int, at: float) -> None:
        self._due[number] = at

    def line(self, line: bytes) -> None:
        at = line.find(b'"size":')
        number = int(line[at + 7 : line.index(b",", at)]) if at >= 0 else -1
        if number in self._due:
            self.delays.append(self._clock() - self._due[number])
            if len(self.delays) >= self._expected:
                self.complete.set()


async def _drain(sleepers: list[Sleeper]) -> None:
    while True:
        await asyncio.sleep(_DRAIN_S)
        for sleeper in sleepers:
            sleeper.drain()


async def _cancelled(tasks: list[asyncio.Future[None]]) -> None:
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception):
            raise result


async def _main(kubeconfig: Path, url: str = "") -> None:
    await serve(ServerLoad(kubeconfig, url))


if __name__ == "__main__":
    run(_main(Path(sys.argv[1]), *sys.argv[2:3]))
