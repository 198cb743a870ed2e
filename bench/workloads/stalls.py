"""Legal requests that ask for much work, and a reader who measures what they cost everybody else.

The reader gets one tiny object again and again on a connection of its own, from a thread of its
own, while a request is served; the longest answer is what that request cost the others.
"""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

MAPS = "/api/v1/namespaces/default/configmaps"
TINY = f"{MAPS}/tiny"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/stall.example.com/v1/namespaces/default/widgets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PIPELINES = "/apis/fleetmanagement.grafana.com/v1alpha1/namespaces/default/pipelines"
JSON = "application/json"
TIMEOUT_S = 120.0
PAUSE_S = 0.002
_IDLE_S = 1.0
_AT_ONCE = 16


class Api:
    """One blocking connection to a server's plain port."""

    def __init__(self, url: str) -> None:
        self.url = url
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(
            parts.hostname or "", parts.port, timeout=TIMEOUT_S
        )

    def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        media: str = JSON,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> int:
        """Send a request and read its answer to the end; the status."""
        self.begin(method, path, {"Content-Type": media, **(headers or {})}, body)
        return self.end()[0]

    def read(self, path: str) -> bytes:
        """The body of an answer."""
        self.begin("GET", path, {})
        return self.end()[1]

    def begin(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> None:
        """Send a request; `end` reads its answer."""
        self._connection.request(method, path, body or None, headers)

    def end(self) -> tuple[int, bytes]:
        """Read the answer of the last request to the end: status and body."""
        response = self._connection.getresponse()
        return response.status, response.read()

    def create(self, path: str, value: object) -> None:
        """Create an object.

        Raises:
            RuntimeError: if it is refused.
        """
        status = self.send("POST", path, json.dumps(value, separators=(",", ":")).encode())
        if status not in (200, 201):
            raise RuntimeError(f"POST {path} was answered with {status}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@contextmanager
def connected(url: str) -> Iterator[Api]:
    """A connection that is closed at the end."""
    api = Api(url)
    try:
        yield api
    finally:
        api.close()


@dataclass(frozen=True)
class Attack:
    """A request that asks for much work."""

    name: str
    run: Callable[[Api], int]
    """Sends it; the status of the answer."""
    prepare: Callable[[Api], None] = lambda _api: None
    expected: tuple[int, ...] = (200, 201)
    """The statuses that say the work was done, or refused by its size."""


@dataclass
class Reader:
    """Reads a tiny object again and again, and notes how long the longest answer took."""

    url: str
    longest_s: float = 0.0
    count: int = 0
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read in a thread of its own until the block ends."""
        thread = threading.Thread(target=self._read, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _read(self) -> None:
        with connected(self.url) as api:
            while not self._ended.wait(PAUSE_S):
                began = time.perf_counter()
                api.send("GET", TINY)
                self.longest_s = max(self.longest_s, time.perf_counter() - began)
                self.count += 1


def measure_stall(url: str, attack: Attack) -> float:
    """The longest that a tiny GET took while a request was served, in milliseconds.

    Raises:
        RuntimeError: if the server answered something else than the request is meant to cause.
    """
    with connected(url) as api:
        attack.prepare(api)
        reader = Reader(url)
        with reader.reading():
            status = attack.run(api)
    if status not in attack.expected:
        raise RuntimeError(f"{attack.name}: the server answered {status}")
    return reader.longest_s * 1e3


def prepare_server(url: str) -> None:
    """Create what the attacks work on, once the plain port listens."""
    _wait_for_port(url)
    with connected(url) as api:
        api.create(MAPS, {"metadata": {"name": "tiny"}, "data": {"a": "b"}})
        api.create(DEFINITIONS, build_definition("stall.example.com", WIDGET))
        while api.send("GET", WIDGETS) == 404:
            time.sleep(PAUSE_S)


def _wait_for_port(url: str) -> None:
    parts = urlsplit(url)
    until = time.monotonic() + TIMEOUT_S
    while True:
        try:
            socket.create_connection((parts.hostname or "", parts.port or 0)).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(PAUSE_S)


_ITEMS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
_NUMBERS = {"type": "array", "maxItems": 700, "items": {"type": "integer"}}
_RULE = {"rule": "self.all(a, self.all(b, a + b >= 0 || a * b >= 0))"}
WIDGET = {
    "items": _ITEMS,
    "numbers": {**_NUMBERS, "x-kubernetes-validations": [_RULE]},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "count": {"x-kubernetes-int-or-string": True},
}
_STATUS = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def build_definition(group: str, spec: dict[str, Any], plural: str = "widgets") -> dict[str, Any]:
    """Build a definition with a `spec` of given members and a status."""
    kind = plural.removesuffix("s").capitalize()
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": spec}, "status": _STATUS},
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": plural, "singular": plural.removesuffix("s"), "kind": kind}
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _build_widget(spec: object, name: str) -> bytes:
    value = {
        "apiVersion": "stall.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": spec,
    }
    return json.dumps(value, separators=(",", ":")).encode()


def list_attacks(share: float) -> list[Attack]:
    """List every case; `share` is how much of the full size each has."""
    return [
        _strategic_deletes(int(10_000 * share)),
        _yaml(int(280_000 * share)),
        _json(int(110_000 * share)),
        _protobuf(int(60_000 * share)),
        _list_map(int(100_000 * share)),
        _integer(int(2_000_000 * share)),
        _expression(),
        _swagger(int(500 * share)),
        _namespace(int(20_000 * share)),
    ]


def _strategic_deletes(count: int) -> Attack:
    env = [{"name": f"N{number}", "value": "v"} for number in range(count)]
    labels = {"app": "stall"}
    pod = {"containers": [{"name": "c", "image": "nginx", "env": env}]}
    deployment = {
        "metadata": {"name": "many-names"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    gone = [{"name": each["name"], "$patch": "delete"} for each in env]
    containers = [{"name": "c", "env": gone}]
    patch = json.dumps({"spec": {"template": {"spec": {"containers": containers}}}}).encode()
    media = "application/strategic-merge-patch+json"
    return Attack(
        f"strategic merge of {count:,} deletions",
        lambda api: api.send("PATCH", f"{DEPLOYMENTS}/many-names", patch, media),
        prepare=lambda api: api.create(DEPLOYMENTS, deployment),
    )


def _yaml(count: int) -> Attack:
    head = (
        "apiVersion: stall.example.com/v1\nkind: Widget\nmetadata: {name: yaml}\nspec:\n  free:\n"
    )
    body = (head + "    a:\n" + "    - 1234\n" * count).encode()
    return Attack(
        f"YAML of {len(body):,} bytes",
        lambda api: api.send("POST", WIDGETS, body, "application/yaml"),
        expected=(201, 413),
    )


def _json(count: int) -> Attack:
    body = _build_widget({"free": {f"name-{n}": {"a": n} for n in range(count)}}, "json")
    return Attack(
        f"JSON of {len(body):,} bytes",
        lambda api: api.send("POST", WIDGETS, body),
        expected=(201, 413),
    )


def _protobuf(count: int) -> Attack:
    from quarterdeck.meta.builtins import protobuf_writer

    env = [{"name": f"N{number}", "value": "v" * 20} for number in range(count)]
    value = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "protobuf"},
        "spec": {"containers": [{"name": "c", "image": "nginx", "env": env}]},
    }
    body = protobuf_writer.encode(value)
    media = "application/vnd.kubernetes.protobuf"
    path = "/api/v1/namespaces/default/pods"
    return Attack(
        f"protobuf of {len(body):,} bytes",
        lambda api: api.send("POST", path, body, media),
        expected=(201, 413),
    )


def _list_map(count: int) -> Attack:
    body = _build_widget({"items": [{"name": f"n{n}"} for n in range(count)]}, "list-map")
    return Attack(
        f"list-map of {count:,} entries",
        lambda api: api.send("POST", WIDGETS, body),
        expected=(201, 413),
    )


def _integer(digits: int) -> Attack:
    body = _build_widget({"count": 0}, "integer").replace(b":0", b":" + b"9" * digits)
    return Attack(
        f"integer of {digits:,} digits",
        lambda api: api.send("POST", WIDGETS, body),
        expected=(201, 400, 413, 422),
    )


def _expression() -> Attack:
    body = _build_widget({"numbers": list(range(700))}, "expression")
    return Attack(
        "expressions that exceed their budget",
        lambda api: api.send("POST", WIDGETS, body),
        expected=(201, 422),
    )


def _swagger(count: int) -> Attack:
    def prepare(api: Api) -> None:
        for number in range(count):
            group = f"g{number}.stall.example.com"
            api.create(DEFINITIONS, build_definition(group, WIDGET, f"things{number}s"))

    return Attack(
        f"/openapi/v2 with {count:,} definitions",
        lambda api: api.send("GET", "/openapi/v2"),
        prepare=prepare,
    )


def _namespace(count: int) -> Attack:
    path = "/api/v1/namespaces/crowded"

    def prepare(api: Api) -> None:
        api.create("/api/v1/namespaces", {"metadata": {"name": "crowded"}})
        create_at_once(api.url, f"{path}/configmaps", count)

    def run(api: Api) -> int:
        status = api.send("DELETE", path)
        while api.send("GET", path) != 404:
            time.sleep(PAUSE_S)
        return status

    return Attack(f"deletion of a namespace of {count:,}", run, prepare=prepare)


def create_at_once(url: str, path: str, count: int) -> None:
    """Create many objects from several connections: the commits of one take minutes."""

    def create(first: int) -> None:
        with connected(url) as api:
            for number in range(first, count, _AT_ONCE):
                api.create(path, {"metadata": {"name": f"m{number}"}})

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        list(threads.map(create, range(_AT_ONCE)))


def build_pipeline_attack(count: int) -> Attack:
    """A pipeline of many blocks; needs a server with the pipelines operator."""
    contents = "".join(f'logging_{n} "b" {{\n  a = {n}\n}}\n' for n in range(count))
    value = {
        "apiVersion": "fleetmanagement.grafana.com/v1alpha1",
        "kind": "Pipeline",
        "metadata": {"name": "many-blocks"},
        "spec": {"contents": contents, "matchers": ["a=b"]},
    }

    def run(api: Api) -> int:
        status = api.send("POST", PIPELINES, json.dumps(value).encode())
        until = time.monotonic() + TIMEOUT_S
        while b'"conditions"' not in api.read(f"{PIPELINES}/many-blocks"):
            if time.monotonic() > until:
                raise RuntimeError("the pipelines operator did not write a status")
            time.sleep(PAUSE_S)
        return status

    return Attack(f"pipeline of {count:,} blocks", run)


def build_idle_attack() -> Attack:
    """No attack: what the reader measures on an idle server."""

    def run(_api: Api) -> int:
        time.sleep(_IDLE_S)
        return 200

    return Attack("nothing", run)
