"""The load generator for API servers: a process of its own that is told what to do line by line.

`python -m bench.peers.api_load KUBECONFIG [URL]` reads one JSON command a line and answers each
with one line of JSON: how long it took, and how much of its own core it needed, so that nobody
mistakes the generator's limit for the server's.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.openloop import drive, percentile
from bench.peers.kind import GROUP, PLURAL, VERSION
from bench.peers.widgets import definition, widget
from bench.suite import Value
from quarterdeck.client import load_config
from quarterdeck.client.tls import build_client_context
from quarterdeck.kit import http

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
_JSON = "application/json"
_READY_S = 30.0


class Load:
    """Requests to one server."""

    def __init__(self, kubeconfig: Path, url: str = "") -> None:
        config = load_config(kubeconfig)
        self._url = url or config.server
        tls = build_client_context(config) if self._url.startswith("https") else None
        self._http = http.Client(tls=tls, pool=512, read_timeout_s=120.0)
        self._common = [("Accept", _JSON), ("User-Agent", "bench")]
        if config.token is not None:
            self._common.append(("Authorization", f"Bearer {config.token.reveal()}"))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        media: str = _JSON,
        accept: str = "",
    ) -> bytes:
        """The body of a successful answer."""
        headers = self._common if body is None else [*self._common, ("Content-Type", media)]
        if accept:
            headers = [("Accept", accept), *(each for each in headers if each[0] != "Accept")]
        response = await self._http.request(method, self._url + path, headers=headers, body=body)
        async with response:
            data = await response.read(1 << 30)
            if response.status >= 300:
                raise RuntimeError(f"{method} {path}: {response.status} {data[:300]!r}")
            return data

    async def lines(
        self, path: str, each: Callable[[bytes], None], *, opened: Callable[[], None] | None = None
    ) -> None:
        """Read a stream until it is cancelled; says when it has begun."""
        response = await self._http.request(
            "GET", self._url + path, headers=self._common, read_timeout_s=None
        )
        async with response:
            if opened is not None:
                opened()
            async for line in response.lines():
                each(line)

    async def setup(self, namespace: str = "default") -> dict[str, Any]:
        """Define the kind, and wait until it is served, and discovered with its status.

        kube-apiserver serves a kind before its discovery names all of it; an operator that asks in
        between takes the status for a part of the object, and writes in vain.
        """
        await self.send("POST", _CRDS, json.dumps(definition()).encode())
        limit = time.monotonic() + _READY_S
        while True:
            try:
                await self.send("GET", path_of(namespace))
                await self.send("POST", path_of(namespace), encode(widget("probe", 1)))
                await self.send("DELETE", f"{path_of(namespace)}/probe")
                await self._discover()
                return {}
            except RuntimeError:
                if time.monotonic() > limit:
                    raise
                await asyncio.sleep(0.05)

    async def _discover(self) -> None:
        groups = json.loads(await self.send("GET", "/apis"))["groups"]
        if not any(group["name"] == GROUP for group in groups):
            raise RuntimeError(f"discovery does not list {GROUP} yet")
        found = json.loads(await self.send("GET", f"/apis/{GROUP}/{VERSION}"))["resources"]
        if not any(each["name"] == f"{PLURAL}/status" for each in found):
            raise RuntimeError(f"discovery does not list the status of {PLURAL} yet")

    async def namespace(self, name: str) -> dict[str, Any]:
        """Make a namespace."""
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await self.send("POST", "/api/v1/namespaces", json.dumps(manifest).encode())
        return {}

    async def create(
        self, count: int, clients: int, namespace: str = "default", prefix: str = "w"
    ) -> dict[str, Any]:
        """Create objects, `clients` at a time."""
        path = path_of(namespace)

        async def one(number: int) -> None:
            await self.send("POST", path, encode(widget(f"{prefix}{number}", number + 1)))

        return await closed_loop(one, count, clients)

    async def get(
        self, count: int, clients: int, of: int, namespace: str = "default", prefix: str = "w"
    ) -> dict[str, Any]:
        """Read objects one by one."""
        path = path_of(namespace)

        async def one(number: int) -> None:
            await self.send("GET", f"{path}/{prefix}{number * 7919 % of}")

        return await closed_loop(one, count, clients)

    async def apply(
        self, count: int, clients: int, of: int, namespace: str = "default"
    ) -> dict[str, Any]:
        """Server-side apply with a changed field to existing objects."""
        path = path_of(namespace)
        stamp = time.monotonic_ns() % 1_000_000

        async def one(number: int) -> None:
            name = f"w{number % of}"
            body = encode(widget(name, stamp + number))
            target = f"{path}/{name}?fieldManager=bench&force=true"
            await self.send("PATCH", target, body, media=_APPLY)

        return await closed_loop(one, count, clients)

    async def status(
        self, count: int, clients: int, of: int, namespace: str = "default"
    ) -> dict[str, Any]:
        """Merge patches of the status."""
        path = path_of(namespace)
        stamp = time.monotonic_ns() % 1_000_000

        async def one(number: int) -> None:
            body = encode({"status": {"seen": stamp + number}})
            await self.send("PATCH", f"{path}/w{number % of}/status", body, media=MERGE)

        return await closed_loop(one, count, clients)

    async def list(self, namespace: str = "default", expect: int = 0) -> dict[str, Any]:
        """Read a whole collection in one answer."""
        start = time.perf_counter()
        data = await self.send("GET", path_of(namespace))
        seconds = time.perf_counter() - start
        found = len(json.loads(data)["items"])
        if expect and found < expect:
            raise RuntimeError(f"the list has {found} objects instead of {expect}")
        return {"seconds": seconds, "bytes": len(data), "items": found}

    async def watch(
        self, watchers: int, rate_hz: float, count: int, namespace: str = "default"
    ) -> dict[str, Any]:
        """How long after a write left each of many watchers has the event."""
        clock = time.perf_counter
        sent: dict[int, float] = {}
        delays: list[float] = []
        complete = asyncio.Event()
        loop = asyncio.get_running_loop()

        def arrived(line: bytes) -> None:
            at = line.find(b'"size":')
            number = int(line[at + 7 : line.index(b",", at)]) if at >= 0 else -1
            if number in sent:
                delays.append(clock() - sent[number])
                if len(delays) >= watchers * count:
                    complete.set()

        version = json.loads(await self.send("GET", path_of(namespace)))["metadata"]
        path = f"{path_of(namespace)}?watch=1&resourceVersion={version['resourceVersion']}"
        open_streams = asyncio.Semaphore(0)
        streams = [
            loop.create_task(self.lines(path, arrived, opened=open_streams.release))
            for _ in range(watchers)
        ]
        for _ in range(watchers):  # handshakes are no part of the latency
            await open_streams.acquire()
        first = time.monotonic_ns() % 1_000_000_000

        async def write(number: int) -> None:
            sent[first + number] = clock()
            body = encode({"spec": {"size": first + number}})
            await self.send("PATCH", f"{path_of(namespace)}/w{number}", body, media=MERGE)

        _, worst = await drive(write, rate_hz=rate_hz, count=count)
        async with asyncio.timeout(30):
            await complete.wait()
        for stream in streams:
            stream.cancel()
        await asyncio.gather(*streams, return_exceptions=True)
        return {
            "p50_ms": percentile(delays, 0.5) * 1e3,
            "p99_ms": percentile(delays, 0.99) * 1e3,
            "late_ms": worst * 1e3,
        }


def path_of(namespace: str) -> str:
    """Where the objects of a namespace are."""
    return f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{PLURAL}"


def encode(value: object) -> bytes:
    """As JSON."""
    return json.dumps(value).encode()


async def closed_loop(
    one: Callable[[int], Awaitable[None]], count: int, clients: int
) -> dict[str, Any]:
    """Each client sends its next request when the last one is answered."""
    numbers = iter(range(count))

    async def client() -> None:
        for number in numbers:
            await one(number)

    cpu, start = time.process_time(), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(client())
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "generator_cpu_s": time.process_time() - cpu}


async def serve(load: Load) -> None:
    """Obey the commands on standard input until it ends."""
    loop = asyncio.get_running_loop()
    print(json.dumps({"ready": True}), flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        try:
            answer = await getattr(load, command.pop("do"))(**command)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
    await load.aclose()


def run(main: Awaitable[Value]) -> Value:
    """Run on uvloop where it is installed."""
    factory = None
    try:
        import uvloop
    except ImportError:
        pass
    else:
        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(_awaited(main))


async def _awaited(main: Awaitable[Value]) -> Value:
    return await main


async def _main(kubeconfig: Path, url: str = "") -> None:
    await serve(Load(kubeconfig, url))


if __name__ == "__main__":
    run(_main(Path(sys.argv[1]), *sys.argv[2:3]))
