"""An in-process server and a small client, as `async with serving() as api`."""

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.server.options import ServerOptions

MERGE = "application/merge-patch+json"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/stable.example.com/v1/namespaces/default/widgets"


class Answer(NamedTuple):
    status: int
    headers: http.Headers
    body: Any

    @property
    def message(self) -> str:
        return str(self.body["message"])

    @property
    def version(self) -> str:
        return str(self.body["metadata"]["resourceVersion"])


class Stream:
    """A watch, event by event."""

    def __init__(self, response: http.ClientResponse) -> None:
        self.response = response
        self._lines = response.lines()

    async def next(self) -> tuple[str, dict[str, Any]]:
        event = json.loads(await anext(self._lines))
        return event["type"], event["object"]

    async def names(self, count: int) -> list[tuple[str, str]]:
        events = [await self.next() for _ in range(count)]
        return [(kind, each["metadata"].get("name", "")) for kind, each in events]

    async def rest(self) -> list[str]:
        return [json.loads(line)["type"] async for line in self._lines]


class Api:
    def __init__(self, cluster: Cluster, client: http.Client) -> None:
        self.cluster = cluster
        self.client = client

    async def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        media: str = "application/json",
        **headers: str,
    ) -> Answer:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = [("Content-Type", media)] if body is not None else []
        sent += [(name.replace("_", "-"), value) for name, value in headers.items()]
        response = await self.client.request(
            method, self.cluster.url + path, headers=sent, body=data
        )
        content = await response.read()
        try:
            parsed = json.loads(content)
        except ValueError:
            parsed = content
        return Answer(response.status, response.headers, parsed)

    async def make(self, name: str, path: str = CONFIG_MAPS, **more: Any) -> Answer:
        metadata = {"name": name, **more.pop("metadata", {})}
        answer = await self("POST", path, {"metadata": metadata, **more})
        assert answer.status == 201, answer
        return answer

    @contextlib.asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator[Stream]:
        response = await self.client.request("GET", self.cluster.url + path)
        assert response.status == 200, await response.read()
        try:
            yield Stream(response)
        finally:
            await response.aclose()

    async def define_widgets(self, **schema: Any) -> Answer:
        answer = await self(
            "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(**schema)
        )
        assert answer.status == 201, answer
        return answer


def definition(**schema: Any) -> dict[str, Any]:
    """A definition whose objects may hold anything, unless the schema says otherwise."""
    spec = schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.stable.example.com"},
        "spec": {
            "group": "stable.example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": spec,
                                "status": {
                                    "type": "object",
                                    "x-kubernetes-preserve-unknown-fields": True,
                                },
                            },
                        }
                    },
                }
            ],
        },
    }


Serving = Callable[..., AbstractAsyncContextManager[Api]]


@pytest.fixture
def serving() -> Serving:
    """Starts a server in which nothing happens by itself unless `lifecycle` is set; other
    arguments are those of `Cluster`."""

    @contextlib.asynccontextmanager
    async def start(*, lifecycle: bool = False, **arguments: Any) -> AsyncIterator[Api]:
        options = arguments.get("options") or ServerOptions()
        arguments["options"] = msgspec.structs.replace(options, lifecycle=lifecycle)
        async with (
            Cluster(**arguments) as cluster,
            http.Client(pool=2048, read_timeout_s=None) as client,
        ):
            yield Api(cluster, client)

    return start


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"
