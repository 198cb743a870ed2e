"""A server whose threads for large requests are occupied.

What needs a thread waits, and everybody else is served. So tests see where work is done, and not
how long it takes.
"""

import asyncio
import functools
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.server.options import ServerOptions

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
INLINE = ServerOptions().inline_bytes
NUMBERS = 400


class Api:
    """The server as two clients see it: one that asks for much, and one that reads."""

    def __init__(self, cluster: Cluster, client: http.Client) -> None:
        self.cluster = cluster
        self._client = client

    async def send(
        self, method: str, path: str, body: bytes = b"", media: str = JSON, accept: str = JSON
    ) -> int:
        headers = [("content-type", media), ("accept", accept)]
        response = await self._client.request(
            method, self.cluster.url + path, headers=headers, body=body or None
        )
        await response.read()
        return response.status

    async def read(self, path: str, accept: str = JSON) -> bytes:
        headers = [("accept", accept)]
        response = await self._client.request("GET", self.cluster.url + path, headers=headers)
        return await response.read()

    async def check_served(self) -> None:
        """Small requests of somebody else are answered."""
        for number in range(5):
            assert await self.send("GET", f"{MAPS}/tiny") == 200
            small = kit_json.encode({"metadata": {"generateName": f"small-{number}-"}})
            assert await self.send("POST", MAPS, small) == 201

    @asynccontextmanager
    async def occupied(self) -> AsyncIterator[None]:
        """Occupy every thread for large requests until the block ends."""
        ended, worker = threading.Event(), self.cluster.api.core.worker
        began = [threading.Event(), threading.Event()]

        def wait(number: int) -> None:
            began[number].set()
            ended.wait()

        waiting = [
            asyncio.ensure_future(worker.run_in_thread(functools.partial(wait, number)))
            for number in range(2)
        ]
        await asyncio.to_thread(lambda: [each.wait() for each in began])
        try:
            yield
        finally:
            ended.set()
            await asyncio.gather(*waiting)


@asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[Api]:
    """A server with a definition and a tiny object."""
    async with Cluster(options=ServerOptions(**options)) as cluster, http.Client() as client:
        api = Api(cluster, client)
        assert await api.send("POST", DEFINITIONS, kit_json.encode(build_definition())) == 201
        while await api.send("GET", WIDGETS) == 404:
            pass
        body = kit_json.encode({"metadata": {"name": "tiny"}, "data": {"a": "b"}})
        assert await api.send("POST", MAPS, body) == 201
        yield api


def build_definition(singular: str = "widget") -> dict[str, Any]:
    rule = {"rule": "self.all(a, self.all(b, a + b >= 0 || a * b >= 0))"}
    numbers = {
        "type": "array",
        "maxItems": 2 * NUMBERS,
        "items": {"type": "integer"},
        "x-kubernetes-validations": [rule],
    }
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    size = {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= 0"}]}
    spec = {"type": "object", "properties": {"free": free, "numbers": numbers, "size": size}}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "metadata": {"name": f"{singular}s.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": f"{singular}s", "kind": singular.capitalize()},
            "versions": [version],
        },
    }


def build_widget(name: str, **spec: object) -> bytes:
    metadata = {"name": name}
    return kit_json.encode(
        {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec}
    )


def build_pod(count: int) -> dict[str, Any]:
    env = [{"name": f"N{number}", "value": "v"} for number in range(count)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "large"},
        "spec": {"containers": [{"name": "c", "image": "nginx", "env": env}]},
    }


VERY_LARGE = {f"name-{number}": {"a": number} for number in range(INLINE // 2)}
