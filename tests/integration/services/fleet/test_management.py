"""What people and tools ask of the fleet server about collectors and revisions."""

import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.services.fleet.auth import Tokens
from quarterdeck.services.fleet.persistence import Persistence
from quarterdeck.services.fleet.pipelines import KEPT_DELETED, KEPT_REVISIONS
from quarterdeck.services.fleet.service import FleetServer
from quarterdeck.storage import open_memory
from quarterdeck.telemetry import contents
from quarterdeck.telemetry.fleet.messages import SERVICES

SCRAPE = 'prometheus.scrape "x" {\n  targets = []\n}\n'
SERVICE = {name: service for service, methods in SERVICES.items() for name in methods}


class Caller:
    """Calls RPCs over an in-memory network; an error is its Connect code."""

    def __init__(self, client: http.Client) -> None:
        self._client = client

    async def send(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        headers = [("Authorization", "Bearer t"), ("Content-Type", "application/json")]
        response = await self._client.request(
            method, f"http://fleet{path}", headers=headers, body=body
        )
        async with response:
            return response.status, await response.read()

    async def call(self, name: str, /, **message: Any) -> Any:
        body = json.dumps(message).encode()
        status, answer = await self.send("POST", f"/{SERVICE[name]}/{name}", body)
        document = json.loads(answer)
        return document if status == 200 else document["code"]


@asynccontextmanager
async def fleet() -> AsyncIterator[Caller]:
    store = open_memory()
    server = FleetServer(store, Tokens.single(Secret("t")), clock=VirtualClock())
    network = http.MemoryNetwork()
    async with http.Server(server.handle) as web:
        network.serve(web, "fleet")
        async with network.client() as client:
            yield Caller(client)
    await store.close()


async def test_collectors_go_through_all_their_verbs() -> None:
    async with fleet() as it:
        made = await it.call("CreateCollector", collector={"id": "e", "name": "Edge"})
        assert (made["id"], made["enabled"]) == ("e", True)
        assert await it.call("CreateCollector", collector={"id": "e"}) == "already_exists"
        changed = {"id": "e", "name": "New", "remoteAttributes": {"env": "prod"}, "enabled": False}
        await it.call("UpdateCollector", collector=changed)
        found = await it.call("GetCollector", id="e")
        assert (found["name"], found["remoteAttributes"]) == ("New", {"env": "prod"})
        assert found["enabled"] is False
        assert await it.call("UpdateCollector", collector={"id": "z"}) == "not_found"
        listed = await it.call("ListCollectors", matchers=["env=prod"])
        assert [each["id"] for each in listed["collectors"]] == ["e"]
        assert await it.call("ListCollectors", matchers=["env"]) == "invalid_argument"
        attributes = await it.call("ListCollectorAttributes")
        assert attributes["remoteAttributes"] == {"env": {"values": [{"value": "prod"}]}}
        await it.call("DeleteCollector", id="e")
        assert await it.call("GetCollector", id="e") == "not_found"


async def test_bulk_operations_on_collectors_are_all_or_nothing() -> None:
    async with fleet() as it:
        for name in ("a", "b"):
            await it.call("RegisterCollector", id=name, localAttributes={"os": "linux"})
        operation = {"op": "ADD", "path": "/remote_attributes/env", "value": "prod"}
        assert await it.call("BulkUpdateCollectors", ids=["a", "z"], ops=[operation]) == "not_found"
        assert not (await it.call("ListCollectors", matchers=["env=prod"]))
        await it.call("BulkUpdateCollectors", ids=["a", "b", "a"], ops=[operation])
        found = await it.call("ListCollectors", matchers=["env=prod"])
        assert [each["id"] for each in found["collectors"]] == ["a", "b"]
        assert await it.call("BulkDeleteCollectors", ids=["a", "z"]) == "not_found"
        await it.call("BulkDeleteCollectors", ids=["a", "b"])
        assert await it.call("ListCollectors") == {}


async def test_who_leaves_is_marked_and_back_with_the_next_poll() -> None:
    async with fleet() as it:
        await it.call("RegisterCollector", id="e")
        await it.call("UnregisterCollector", id="e")
        assert "markedInactiveAt" in await it.call("GetCollector", id="e")
        await it.call("GetConfig", id="e")
        assert "markedInactiveAt" not in await it.call("GetCollector", id="e")
        assert await it.call("UnregisterCollector", id="stranger") == {}


async def test_revisions_are_kept_up_to_a_limit_and_found_by_id() -> None:
    async with fleet() as it:
        pipeline = {"name": "p", "contents": SCRAPE, "matchers": ["a=b"]}
        made = await it.call("CreatePipeline", pipeline=pipeline)
        for number in range(KEPT_REVISIONS + 5):
            changed = {**pipeline, "id": made["id"], "matchers": [f"a={number}"]}
            await it.call("UpdatePipeline", pipeline=changed)
        revisions = (await it.call("ListPipelineRevisions", id=made["id"]))["pipelineRevisions"]
        assert len(revisions) == KEPT_REVISIONS
        last = revisions[-1]
        assert last["snapshot"]["matchers"] == [f"a={KEPT_REVISIONS + 4}"]
        found = await it.call("GetPipelineRevision", revisionId=last["revisionId"])
        assert found["snapshot"] == last["snapshot"]
        assert await it.call("GetPipelineRevision", revisionId="1") == "not_found"
        everything = (await it.call("ListPipelinesRevisions"))["pipelineRevisions"]
        assert len(everything) == KEPT_REVISIONS
        assert all("contents" not in each["snapshot"] for each in everything)


@pytest.mark.parametrize(
    ("name", "message", "code"),
    [
        ("GetPipeline", {}, "invalid_argument"),
        ("GetPipelineID", {"name": "z"}, "not_found"),
        ("ListPipelineRevisions", {"id": "9"}, "not_found"),
        ("CreatePipeline", {}, "invalid_argument"),
        ("UpdatePipeline", {"pipeline": {"id": "9", "name": "z"}}, "not_found"),
        ("UpsertPipeline", {"pipeline": {"id": "9", "name": "z"}}, "invalid_argument"),
        ("BulkDeletePipelines", {}, "invalid_argument"),
        ("SyncPipelines", {"source": {"type": "SOURCE_TYPE_GIT"}}, "invalid_argument"),
        (
            "SyncPipelines",
            {
                "source": {"type": "SOURCE_TYPE_GIT", "namespace": "n"},
                "pipelines": [{"name": "z"}, {"name": "z"}],
            },
            "invalid_argument",
        ),
        ("GetConfig", {}, "invalid_argument"),
    ],
)
async def test_an_invalid_call_is_refused_with_a_code(
    name: str, message: dict[str, Any], code: str
) -> None:
    async with fleet() as it:
        assert await it.call(name, **message) == code


async def test_health_needs_no_token_and_other_methods_are_refused() -> None:
    async with fleet() as it:
        assert await it.send("GET", "/healthz") == (200, b"ok")
        assert await it.send("GET", "/readyz") == (200, b"ok")
        path = f"/{SERVICE['GetConfig']}/GetConfig"
        assert await it.send("PUT", path, b"{}") == (405, b"use GET or POST")


async def test_revisions_of_deleted_pipelines_are_dropped_and_ids_not_reused() -> None:
    store = open_memory()
    server = FleetServer(store, Tokens.single(Secret("t")), clock=VirtualClock())
    ids = []
    for number in range(KEPT_DELETED + 10):
        pipeline = {"name": f"p{number}", "contents": SCRAPE}
        ids.append(int((await server._calls["CreatePipeline"]({"pipeline": pipeline}))["id"]))
    await server._calls["DeletePipeline"]({"id": str(ids[-1])})  # the first to be old
    await server._calls["BulkDeletePipelines"]({"ids": list(map(str, ids[:-1]))})
    kept = server.pipelines.list_revisions()
    assert {each.snapshot.id for each in kept} == set(map(str, ids[-KEPT_DELETED - 1 :]))
    stored = Persistence(store).load_revisions()
    assert sorted(stored, key=lambda each: int(each.revision_id)) == kept
    again = FleetServer(store, Tokens.single(Secret("t")), clock=VirtualClock())
    assert again.pipelines.list_revisions() == kept
    pipeline = {"name": "next", "contents": SCRAPE}
    assert int((await again._calls["CreatePipeline"]({"pipeline": pipeline}))["id"]) > max(ids)
    await store.close()


async def test_names_of_pipelines_are_taken_and_given_back() -> None:
    async with fleet() as it:
        first = await it.call("CreatePipeline", pipeline={"name": "a", "contents": SCRAPE})
        second = await it.call("CreatePipeline", pipeline={"name": "b", "contents": SCRAPE})
        taken = {"id": second["id"], "name": "a", "contents": SCRAPE}
        assert await it.call("UpdatePipeline", pipeline=taken) == "already_exists"
        renamed = {"id": first["id"], "name": "c", "contents": SCRAPE}
        assert (await it.call("UpdatePipeline", pipeline=renamed))["name"] == "c"
        assert (await it.call("UpdatePipeline", pipeline=taken))["name"] == "a"


async def test_contents_have_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quarterdeck.services.fleet.pipelines.MAX_CONTENTS", 10)
    async with fleet() as it:
        made = await it.call("CreatePipeline", pipeline={"name": "a", "contents": SCRAPE})
        assert made == "invalid_argument"


async def test_a_candidate_has_the_same_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quarterdeck.services.fleet.candidates.MAX_CONTENTS", len(SCRAPE))
    async with fleet() as it:
        for text, code in ((SCRAPE, None), (f"{SCRAPE}\n", "invalid_argument")):
            metadata = {"quarterdeck-rollout": {"contents": text}}
            pipeline = {"name": f"a{code}", "contents": SCRAPE, "metadata": metadata}
            made = await it.call("CreatePipeline", pipeline=pipeline)
            assert made == code if code else made["name"]


async def test_large_contents_and_candidates_are_checked_in_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = []
    check = contents._check

    def note(text: str, config_type: contents.ConfigType) -> Any:
        threads.append(threading.get_ident())
        return check(text, config_type)

    monkeypatch.setattr(contents, "_check", note)
    stable, candidate = (f"{SCRAPE}// {letter * 40_000}\n" for letter in "ab")
    metadata = {"quarterdeck-rollout": {"contents": candidate}}
    async with fleet() as it:
        pipeline = {"name": "a", "contents": stable, "metadata": metadata}
        assert (await it.call("CreatePipeline", pipeline=pipeline))["name"] == "a"
    assert len(threads) == 2 and threading.get_ident() not in threads


async def test_large_contents_of_a_sync_are_checked_once_and_in_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = []
    check = contents._check

    def note(text: str, config_type: contents.ConfigType) -> Any:
        threads.append(threading.get_ident())
        return check(text, config_type)

    monkeypatch.setattr(contents, "_check", note)
    count = contents._LARGE_KEPT + 4
    pipelines = [
        {"name": f"p-{number}", "contents": f"{SCRAPE}// {number} {'x' * 40_000}\n"}
        for number in range(count)
    ]
    async with fleet() as it:
        source = {"type": "SOURCE_TYPE_GIT", "namespace": "repo"}
        assert await it.call("SyncPipelines", source=source, pipelines=pipelines) == {}
    assert len(threads) == count and threading.get_ident() not in threads


async def test_a_sync_names_each_pipeline_once() -> None:
    async with fleet() as it:
        twice = [{"name": "a", "contents": SCRAPE}, {"name": "a", "contents": SCRAPE}]
        assert await it.call("SyncPipelines", source="git", pipelines=twice) == "invalid_argument"


async def test_pipelines_are_listed_by_their_type() -> None:
    async with fleet() as it:
        await it.call("CreatePipeline", pipeline={"name": "a", "contents": SCRAPE})
        for wanted, found in (("CONFIG_TYPE_ALLOY", 1), ("CONFIG_TYPE_OTEL", 0)):
            listed = await it.call("ListPipelines", configType=wanted)
            assert len(listed.get("pipelines") or []) == found


@pytest.mark.parametrize(
    ("method", "path"), [("DELETE", "/v1/opamp"), ("POST", "/otel/config"), ("GET", "/v1/opamp")]
)
async def test_other_methods_of_agents_are_refused(method: str, path: str) -> None:
    async with fleet() as it:
        assert (await it.send(method, path))[0] == 405
