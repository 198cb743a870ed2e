"""Legal requests that ask for much work do not hold up the others."""

import asyncio

import pytest
from occupied_server import (
    APPLY,
    DEFINITIONS,
    INLINE,
    JSON,
    MAPS,
    MERGE,
    NUMBERS,
    PODS,
    PROTOBUF,
    WIDGETS,
    YAML,
    build_definition,
    build_pod,
    build_widget,
    serving,
)

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.builtins import protobuf_writer
from quarterdeck.meta.identity import GVR
from quarterdeck.server.custom import prepared_schema
from quarterdeck.telemetry import contents

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
    "delete options": (
        "DELETE",
        f"{MAPS}/tiny",
        b"kind: DeleteOptions\napiVersion: v1\na:\n" + b"- 1\n" * (INLINE // 4),
        YAML,
        200,
    ),
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
            await api.check_served()
            assert not large.done()
        assert await large == expected


async def test_large_schema_is_compiled_in_a_thread_once() -> None:
    members = {f"member{number}": {"type": "string"} for number in range(4_000)}
    definition = build_definition("wide")
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"] |= members
    prepared_schema._prepare_large.cache_clear()
    async with serving() as api:
        async with api.occupied():
            creating = asyncio.ensure_future(
                api.send("POST", DEFINITIONS, kit_json.encode(definition))
            )
            await api.check_served()
            assert not creating.done()
        assert await creating == 201
        while await api.send("GET", WIDGETS.replace("widgets", "wides")) == 404:
            pass
        assert prepared_schema._prepare_large.cache_info().misses == 1


async def test_many_rules_are_compiled_in_a_thread() -> None:
    rule = [{"rule": "self >= 0"}]
    members = {
        f"member{number}": {"type": "integer", "x-kubernetes-validations": rule}
        for number in range(100)
    }
    definition = build_definition("rule")
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"] |= members
    body = build_widget("a", member1=-1).replace(b"Widget", b"Rule")
    path = WIDGETS.replace("widgets", "rules")
    async with serving() as api:
        assert await api.send("POST", DEFINITIONS, kit_json.encode(definition)) == 201
        while await api.send("GET", path) == 404:
            pass
        async with api.occupied():
            creating = asyncio.ensure_future(api.send("POST", path, body))
            await api.check_served()
            assert not creating.done()
        assert await creating == 422
        before = api.cluster.api.core.worker.computations
        assert await api.send("POST", path, body) == 422
        assert api.cluster.api.core.worker.computations == before


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
    checking = asyncio.ensure_future(contents.check_in_thread(text, contents.ConfigType.ALLOY))
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
        # the patch is small: it is read at once. It is merged, prepared, validated and answered
        assert worker.computations == before + 4


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
