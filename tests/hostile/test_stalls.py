"""Legal requests that ask for much work do not hold up the others.

The threads for large requests are occupied here: what needs one waits, and everybody else is
served. So the tests see where the work is done, and not how long it takes.
"""

import asyncio
import functools
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.meta.builtins import protobuf_writer
from quarterdeck.meta.identity import GVR
from quarterdeck.server.options import ServerOptions
from quarterdeck.telemetry import contents

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
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

    async def send(self, method: str, path: str, body: bytes = b"", media: str = JSON) -> int:
        response = await self._client.request(
            method, self.cluster.url + path, headers=[("content-type", media)], body=body or None
        )
        await response.read()
        return response.status

    @asynccontextmanager
    async def occupied(self) -> AsyncIterator[None]:
        """Occupy every thread for large requests until the block ends."""
        ended, worker = threading.Event(), self.cluster.api.core.worker
        began = [threading.Event(), threading.Event()]

        def wait(number: int) -> None:
            began[number].set()
            ended.wait()

        waiting = [
            asyncio.ensure_future(worker.run_apart(functools.partial(wait, number)))
            for number in range(2)
        ]
        await asyncio.to_thread(lambda: [each.wait() for each in began])
        try:
            yield
        finally:
            ended.set()
            await asyncio.gather(*waiting)


@asynccontextmanager
async def serving() -> AsyncIterator[Api]:
    async with Cluster() as cluster, http.Client() as client:
        api = Api(cluster, client)
        assert await api.send("POST", DEFINITIONS, kit_json.encode(build_definition())) == 201
        while await api.send("GET", WIDGETS) == 404:
            pass
        body = kit_json.encode({"metadata": {"name": "tiny"}, "data": {"a": "b"}})
        assert await api.send("POST", MAPS, body) == 201
        yield api


def build_definition() -> dict[str, Any]:
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
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
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


LARGE = {f"name-{number}": {"a": number} for number in range(INLINE // 10)}
INTEGER = build_widget("large", free={"a": 0}).replace(b":0", b":" + b"9" * INLINE)
REQUESTS = {
    "json": ("POST", WIDGETS, build_widget("large", free=LARGE), JSON, 201),
    "yaml": ("POST", WIDGETS, build_widget("large", free=LARGE), YAML, 201),
    "protobuf": ("POST", PODS, protobuf_writer.encode(build_pod(INLINE // 10)), PROTOBUF, 201),
    "apply": (
        "PATCH",
        f"{WIDGETS}/large?fieldManager=m",
        build_widget("large", free=LARGE),
        APPLY,
        201,
    ),
    "syntax": ("POST", WIDGETS, b"{" + b" " * INLINE, JSON, 400),
    "integer": ("POST", WIDGETS, INTEGER, JSON, 400),
    "rules": ("POST", WIDGETS, build_widget("large", numbers=list(range(NUMBERS))), JSON, 422),
    "merge": (
        "PATCH",
        f"{MAPS}/tiny",
        kit_json.encode({"data": {f"k-{number}": "v" for number in range(INLINE // 8)}}),
        MERGE,
        200,
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
async def test_large_request_does_not_hold_up_small_ones(name: str) -> None:
    method, path, body, media, expected = REQUESTS[name]
    async with serving() as api:
        async with api.occupied():
            large = asyncio.ensure_future(api.send(method, path, body, media))
            for number in range(5):
                assert await api.send("GET", f"{MAPS}/tiny") == 200
                small = kit_json.encode({"metadata": {"name": f"small-{number}"}})
                assert await api.send("POST", MAPS, small) == 201
            assert not large.done()
        assert await large == expected


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3", "/openapi/v3/apis/example.com/v1"])
async def test_openapi_is_built_in_a_thread(path: str) -> None:
    async with serving() as api:
        async with api.occupied():
            reading = asyncio.ensure_future(api.send("GET", path))
            for _ in range(5):
                assert await api.send("GET", f"{MAPS}/tiny") == 200
            assert not reading.done()
        assert await reading == 200


async def test_contents_of_many_blocks_are_parsed_in_a_thread_once() -> None:
    text = "".join(f'a_{number} "b" {{ c = {number} }}\n' for number in range(2_000))
    contents._check_large.cache_clear()
    checking = asyncio.ensure_future(contents.check_ahead(text, contents.ConfigType.ALLOY))
    await asyncio.sleep(0)
    assert not checking.done()
    await checking
    assert contents.check(text, contents.ConfigType.ALLOY) == []
    assert contents._check_large.cache_info()[:2] == (1, 1)


async def test_each_step_of_a_large_write_is_done_in_a_thread() -> None:
    async with serving() as api:
        worker = api.cluster.api.core.worker
        before = worker.computations
        assert await api.send("POST", WIDGETS, build_widget("large", free=LARGE)) == 201
        # the body is read, the object completed, validated, and written into the answer
        assert worker.computations == before + 4
        before = worker.computations
        patch = kit_json.encode({"spec": {"free": {"more": 1}}})
        assert await api.send("PATCH", f"{WIDGETS}/large", patch, MERGE) == 200
        # the patch is small: it is read at once, and the rest is not
        assert worker.computations == before + 3


async def test_small_requests_need_no_thread() -> None:
    async with serving() as api:
        worker = api.cluster.api.core.worker
        before = worker.computations
        assert await api.send("POST", WIDGETS, build_widget("small", size=3)) == 201
        assert await api.send("GET", f"{WIDGETS}/small") == 200
        patch = kit_json.encode({"spec": {"free": {"more": 1}}})
        assert await api.send("PATCH", f"{WIDGETS}/small", patch, MERGE) == 200
        assert worker.computations == before


async def test_large_write_is_decided_anew_when_the_object_changed_meanwhile() -> None:
    async with serving() as api:
        assert await api.send("POST", WIDGETS, build_widget("a", free=LARGE)) == 201
        async with api.occupied():
            before = api.cluster.api.core.worker.computations
            patch = kit_json.encode({"spec": {"free": {"patched": 1}}})
            patching = asyncio.ensure_future(api.send("PATCH", f"{WIDGETS}/a", patch, MERGE))
            while api.cluster.api.core.worker.computations == before:
                assert await api.send("GET", f"{MAPS}/tiny") == 200
            assert await api.send("DELETE", f"{WIDGETS}/a") == 200
            assert await api.send("POST", WIDGETS, build_widget("a", free={"new": 1})) == 201
            assert not patching.done()
        assert await patching == 200
        widgets = api.cluster.client.resource(GVR("example.com", "v1", "widgets"))
        stored = await widgets.get("a", namespace="default")
        assert stored["spec"]["free"] == {"new": 1, "patched": 1}
