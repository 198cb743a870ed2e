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

import msgspec

from bench.openloop import drive, percentile
from bench.suite import Value
from quarterdeck.client import load_config
from quarterdeck.client.tls import client_context
from quarterdeck.kit import http

GROUP, VERSION, PLURAL = "bench.example.com", "v1", "widgets"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_JSON = "application/json"
_READY_S = 30.0


def definition() -> dict[str, Any]:
    """The custom resource every suite uses: a schema with bounds, defaults and a rule."""
    spec = {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 0},
            "text": {"type": "string", "maxLength": 4096},
            "mode": {"type": "string", "enum": ["fast", "safe"], "default": "safe"},
            "ports": {
                "type": "array",
                "maxItems": 16,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": {"type": "string", "maxLength": 63},
                        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
                    },
                },
            },
        },
        "x-kubernetes-validations": [
            {"rule": "!has(self.ports) || self.ports.size() <= 8", "message": "too many ports"}
        ],
    }
    status = {
        "type": "object",
        "properties": {
            "seen": {"type": "integer"},
            "observedGeneration": {"type": "integer"},
            "conditions": {
                "type": "array",
                "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": PLURAL, "singular": "widget", "kind": "Widget"},
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": spec, "status": status},
                        }
                    },
                }
            ],
        },
    }


def widget(name: str, size: int, *, text: int = 400) -> dict[str, Any]:
    """One object of that kind, about a kilobyte as it is stored."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Widget",
        "metadata": {"name": name, "labels": {"app": "bench", "shard": str(size % 7)}},
        "spec": {
            "size": size,
            "text": "x" * text,
            "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}],
        },
    }


class Load:
    """Requests to one server."""

    def __init__(self, kubeconfig: Path, url: str = "") -> None:
        config = load_config(kubeconfig)
        self._url = url or config.server
        tls = client_context(config) if self._url.startswith("https") else None
        self._http = http.Client(tls=tls, pool=512, read_timeout_s=120.0)
        self._common = [("Accept", _JSON), ("User-Agent", "bench")]
        if config.token is not None:
            self._common.append(("Authorization", f"Bearer {config.token.reveal()}"))
        self._observer: Observer | None = None
        self._observing: asyncio.Task[None] | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._observing is not None:
            self._observing.cancel()
        await self._http.aclose()

    async def send(
        self, method: str, path: str, body: bytes | None = None, *, media: str = _JSON
    ) -> bytes:
        """The body of a successful answer."""
        headers = self._common if body is None else [*self._common, ("Content-Type", media)]
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
        """Define the kind, and wait until it is served."""
        await self.send("POST", _CRDS, json.dumps(definition()).encode())
        limit = time.monotonic() + _READY_S
        while True:
            try:
                await self.send("GET", _path(namespace))
                await self.send("POST", _path(namespace), _encode(widget("probe", 1)))
                await self.send("DELETE", f"{_path(namespace)}/probe")
                return {}
            except RuntimeError:
                if time.monotonic() > limit:
                    raise
                await asyncio.sleep(0.05)

    async def namespace(self, name: str) -> dict[str, Any]:
        """Make a namespace."""
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await self.send("POST", "/api/v1/namespaces", json.dumps(manifest).encode())
        return {}

    async def create(
        self, count: int, clients: int, namespace: str = "default", prefix: str = "w"
    ) -> dict[str, Any]:
        """Create objects, `clients` at a time."""
        path = _path(namespace)

        async def one(number: int) -> None:
            await self.send("POST", path, _encode(widget(f"{prefix}{number}", number + 1)))

        return await _closed_loop(one, count, clients)

    async def get(
        self, count: int, clients: int, of: int, namespace: str = "default", prefix: str = "w"
    ) -> dict[str, Any]:
        """Read objects one by one."""
        path = _path(namespace)

        async def one(number: int) -> None:
            await self.send("GET", f"{path}/{prefix}{number * 7919 % of}")

        return await _closed_loop(one, count, clients)

    async def apply(
        self, count: int, clients: int, of: int, namespace: str = "default"
    ) -> dict[str, Any]:
        """Server-side apply with a changed field to existing objects."""
        path = _path(namespace)
        stamp = time.monotonic_ns() % 1_000_000

        async def one(number: int) -> None:
            name = f"w{number % of}"
            body = _encode(widget(name, stamp + number))
            target = f"{path}/{name}?fieldManager=bench&force=true"
            await self.send("PATCH", target, body, media=_APPLY)

        return await _closed_loop(one, count, clients)

    async def status(
        self, count: int, clients: int, of: int, namespace: str = "default"
    ) -> dict[str, Any]:
        """Merge patches of the status."""
        path = _path(namespace)
        stamp = time.monotonic_ns() % 1_000_000

        async def one(number: int) -> None:
            body = _encode({"status": {"seen": stamp + number}})
            await self.send("PATCH", f"{path}/w{number % of}/status", body, media=_MERGE)

        return await _closed_loop(one, count, clients)

    async def list(self, namespace: str = "default", expect: int = 0) -> dict[str, Any]:
        """Read a whole collection in one answer."""
        start = time.perf_counter()
        data = await self.send("GET", _path(namespace))
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

        version = json.loads(await self.send("GET", _path(namespace)))["metadata"]
        path = f"{_path(namespace)}?watch=1&resourceVersion={version['resourceVersion']}"
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
            body = _encode({"spec": {"size": first + number}})
            await self.send("PATCH", f"{_path(namespace)}/w{number}", body, media=_MERGE)

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

    async def observe(self, namespace: str = "default") -> dict[str, Any]:
        """Follow every object from now on, as operators bring them to their status."""
        answer = json.loads(await self.send("GET", _path(namespace)))
        self._observer = Observer(answer["items"])
        version = answer["metadata"]["resourceVersion"]
        path = f"{_path(namespace)}?watch=1&resourceVersion={version}"
        self._observing = asyncio.create_task(self.lines(path, self._observer.line))
        return {}

    async def settled(self, limit_s: float = 120.0) -> dict[str, Any]:
        """Wait until the status of every object agrees with its spec."""
        assert self._observer is not None
        start = time.perf_counter()
        async with asyncio.timeout(limit_s):
            await self._observer.settled.wait()
        return {"seconds": time.perf_counter() - start, "writes": self._observer.writes}

    async def touch(
        self, rate_hz: float, count: int, of: int, namespace: str = "default"
    ) -> dict[str, Any]:
        """Change objects in an open loop; how long until each change is in the status?

        Both moments are those at which the server told a watcher, so they are the server's.
        """
        assert self._observer is not None
        self._observer.delays.clear()
        first = time.monotonic_ns() % 1_000_000_000 + 1_000_000

        async def write(number: int) -> None:
            body = _encode({"spec": {"size": first + number}})
            await self.send("PATCH", f"{_path(namespace)}/w{number % of}", body, media=_MERGE)

        _, late = await drive(write, rate_hz=rate_hz, count=count)
        await self.settled()
        delays = self._observer.delays
        return {
            "p50_ms": percentile(delays, 0.5) * 1e3,
            "p99_ms": percentile(delays, 0.99) * 1e3,
            "seen": len(delays),
            "late_ms": late * 1e3,
        }


class _Metadata(msgspec.Struct):
    name: str = ""


class _Spec(msgspec.Struct):
    size: int = 0


class _Status(msgspec.Struct):
    seen: int = 0


class _Widget(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _Event(msgspec.Struct):
    type: str
    object: _Widget


class Observer:
    """What a watcher sees: which objects wait for their status, and for how long."""

    def __init__(self, items: list[Any]) -> None:
        self.writes = 0
        self.delays: list[float] = []
        self.settled = asyncio.Event()
        self._decoder = msgspec.json.Decoder(_Event)
        self._waiting: dict[str, float] = {}
        for item in msgspec.convert(items, list[_Widget]):
            self._note(item)

    def line(self, line: bytes) -> None:
        """Take an event in."""
        event = self._decoder.decode(line)
        if event.type == "MODIFIED":
            self.writes += 1
        self._note(event.object)

    def _note(self, widget: _Widget) -> None:
        name = widget.metadata.name
        if widget.status.seen == widget.spec.size:
            since = self._waiting.pop(name, None)
            if since is not None:
                self.delays.append(time.perf_counter() - since)
        else:
            self._waiting.setdefault(name, time.perf_counter())
        if self._waiting:
            self.settled.clear()
        else:
            self.settled.set()


def _path(namespace: str) -> str:
    return f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{PLURAL}"


def _encode(value: object) -> bytes:
    return json.dumps(value).encode()


async def _closed_loop(
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


async def serve(kubeconfig: Path, url: str) -> None:
    """Obey the commands on standard input until it ends."""
    loop = asyncio.get_running_loop()
    load = Load(kubeconfig, url)
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


if __name__ == "__main__":
    run(serve(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))
