"""Large answers, long watches and large objects of the life cycle do not hold up the others."""

import asyncio
from pathlib import Path

import pytest
from occupied_server import (
    INLINE,
    JSON,
    MAPS,
    PARTIAL,
    PODS,
    PROTOBUF,
    TABLE,
    VERY_LARGE,
    WIDGETS,
    YAML,
    Api,
    build_pod,
    build_widget,
    serving,
)

from quarterdeck.kit import json as kit_json

ANSWERS = {
    "read in protobuf": ("GET", f"{PODS}/large", PROTOBUF),
    "list in protobuf": ("GET", PODS, PROTOBUF),
    "read as a Table": ("GET", f"{WIDGETS}/large", TABLE),
    "list as a Table": ("GET", WIDGETS, TABLE),
    "list of metadata": ("GET", WIDGETS, PARTIAL),
    "read in YAML": ("GET", f"{MAPS}/medium", YAML),
    "list in YAML": ("GET", MAPS, YAML),
    "delete": ("DELETE", f"{WIDGETS}/large", JSON),
    "delete in protobuf": ("DELETE", f"{PODS}/large", PROTOBUF),
    "status": ("PUT", f"{WIDGETS}/large/status", JSON),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_large_answer_does_not_hold_up_small_ones(name: str) -> None:
    method, path, accept = ANSWERS[name]
    medium = {"metadata": {"name": "medium"}, "data": {f"k{n}": "v" for n in range(INLINE // 64)}}
    async with serving() as api:
        assert await api.send("POST", WIDGETS, build_widget("large", free=VERY_LARGE)) == 201
        assert await api.send("POST", PODS, kit_json.encode(build_pod(INLINE // 8))) == 201
        assert await api.send("POST", MAPS, kit_json.encode(medium)) == 201
        body = await api.read(path) if method == "PUT" else b""
        async with api.occupied():
            large = asyncio.ensure_future(api.send(method, path, body, accept=accept))
            await api.check_served()
            assert not large.done()
        assert await large == 200


@pytest.mark.parametrize("accept", [PROTOBUF, TABLE])
@pytest.mark.parametrize("query", ["", "&resourceVersion=1"], ids=["initial", "history"])
async def test_large_event_does_not_hold_up_others(accept: str, query: str) -> None:
    async with serving() as api:
        assert await api.send("POST", PODS, kit_json.encode(build_pod(INLINE // 8))) == 201
        path = f"{PODS}?watch=true&timeoutSeconds=1{query}"
        async with api.occupied():
            watching = asyncio.ensure_future(api.read(path, accept))
            before = api.cluster.api.core.worker.computations
            while api.cluster.api.core.worker.computations == before:
                await api.check_served()
        assert b"N4095" in await watching if accept == PROTOBUF else await watching


async def test_long_history_is_encoded_in_slices() -> None:
    async with serving() as api:
        for number in range(200):
            body = kit_json.encode({"metadata": {"name": f"m-{number}"}})
            assert await api.send("POST", MAPS, body) == 201
        path = f"{MAPS}?watch=true&timeoutSeconds=1&resourceVersion=1"
        found = (await api.read(path)).splitlines()
        names = [kit_json.decode(line)["object"]["metadata"]["name"] for line in found]
        assert [name for name in names if name.startswith("m-")] == [f"m-{n}" for n in range(200)]


@pytest.mark.parametrize("query", ["status.phase!=a", "metadata.name=large,status.phase!=a"])
async def test_fields_of_large_objects_are_read_in_a_thread(query: str) -> None:
    async with serving() as api:
        assert await api.send("POST", PODS, kit_json.encode(build_pod(INLINE // 8))) == 201
        async with api.occupied():
            listing = asyncio.ensure_future(api.read(f"{PODS}?fieldSelector={query}"))
            await api.check_served()
            assert not listing.done()
        assert len(kit_json.decode(await listing)["items"]) == 1


async def test_large_objects_are_audited_in_a_thread(tmp_path: Path) -> None:
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(AUDIT_POLICY)
    body = build_widget("large", free=VERY_LARGE)
    async with serving(audit_policy=policy, audit_log=log) as api:
        assert await api.send("POST", WIDGETS, body) == 201
        # the answer is copied, and what is written about it is not
        async with api.occupied():
            reading = asyncio.ensure_future(api.send("GET", f"{WIDGETS}/large"))
            await api.check_served()
            assert not reading.done()
        assert await reading == 200
    events = [kit_json.decode(line) for line in log.read_bytes().splitlines()]
    created, read = (each for each in events if each["objectRef"].get("name") == "large")
    assert created["requestObject"]["spec"] == {"free": VERY_LARGE}
    assert read["responseObject"]["spec"] == {"free": VERY_LARGE}


AUDIT_POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: RequestResponse, resources: [{group: example.com, resources: [widgets]}]}
- {level: None}
"""
DEPENDENTS = 3
"""Together larger than what one plan lets go of."""


@pytest.mark.parametrize("policy", ["Orphan", "Background"])
async def test_large_dependents_do_not_hold_up_others(policy: str) -> None:
    async with serving() as api:
        assert await api.send("POST", MAPS, kit_json.encode({"metadata": {"name": "owner"}})) == 201
        uid = kit_json.decode(await api.read(f"{MAPS}/owner"))["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
        for number in range(DEPENDENTS):
            value = kit_json.decode(build_widget(f"owned-{number}", free=VERY_LARGE))
            value["metadata"]["ownerReferences"] = [owner]
            assert await api.send("POST", WIDGETS, kit_json.encode(value)) == 201
        worker = api.cluster.api.core.worker
        async with api.occupied():
            before = worker.computations
            path = f"{MAPS}/owner?propagationPolicy={policy}"
            assert await api.send("DELETE", path) == 200
            while worker.computations == before:
                await api.check_served()
            await api.check_served()
        await check_dependents(api, policy)


async def check_dependents(api: Api, policy: str) -> None:
    """Wait until the garbage collector is done: orphans lost their owner, others are gone."""
    if policy == "Orphan":
        while await api.send("GET", f"{MAPS}/owner") != 404:
            pass
        items = kit_json.decode(await api.read(WIDGETS))["items"]
        assert [each["metadata"].get("ownerReferences") for each in items] == [None] * DEPENDENTS
        return
    for number in range(DEPENDENTS):
        while await api.send("GET", f"{WIDGETS}/owned-{number}") != 404:
            pass


async def test_namespace_of_large_objects_ends_in_threads() -> None:
    async with serving() as api:
        namespace = kit_json.encode({"metadata": {"name": "heavy"}})
        assert await api.send("POST", "/api/v1/namespaces", namespace) == 201
        path = WIDGETS.replace("/default/", "/heavy/")
        for number in range(3):
            body = build_widget(f"large-{number}", free=VERY_LARGE)
            assert await api.send("POST", path, body) == 201
        worker = api.cluster.api.core.worker
        async with api.occupied():
            before = worker.computations
            assert await api.send("DELETE", "/api/v1/namespaces/heavy") == 200
            while worker.computations == before:
                await api.check_served()
            assert await api.send("GET", "/api/v1/namespaces/heavy") == 200
        while await api.send("GET", "/api/v1/namespaces/heavy") != 404:
            pass


async def test_namespace_of_many_objects_ends_in_slices() -> None:
    """Requests are served between the deletions, however many there are."""
    count = 600  # more than one plan deletes
    async with serving(slice_s=0.0) as api:
        namespace = kit_json.encode({"metadata": {"name": "crowded"}})
        assert await api.send("POST", "/api/v1/namespaces", namespace) == 201
        path = MAPS.replace("/default/", "/crowded/")
        for number in range(count):
            body = kit_json.encode({"metadata": {"name": f"m-{number}"}})
            assert await api.send("POST", path, body) == 201
        assert await api.send("DELETE", "/api/v1/namespaces/crowded") == 200
        reads = 0
        while await api.send("GET", "/api/v1/namespaces/crowded") != 404:
            reads += 1
        assert reads > 10  # with plans that are not interrupted it is one or two
