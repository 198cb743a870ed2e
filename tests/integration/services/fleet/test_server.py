"""The fleet server as agents and operators call it, over real sockets."""

import asyncio
import base64
import gzip
import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.redaction import Secret, redact
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.services.fleet.auth import Scope, Tokens
from quarterdeck.services.fleet.collector_calls import CollectorCalls
from quarterdeck.services.fleet.errors import FleetError
from quarterdeck.services.fleet.persistence import Persistence
from quarterdeck.services.fleet.pipeline_calls import PipelineCalls
from quarterdeck.services.fleet.pipelines import Pipelines
from quarterdeck.services.fleet.records import Collector
from quarterdeck.services.fleet.reports import FLUSH_BATCH
from quarterdeck.services.fleet.requests import Call
from quarterdeck.services.fleet.service import FLUSH_S, MAX_TARGET, FleetServer
from quarterdeck.storage import StorageError, Store, StoreKey, open_memory, open_sqlite
from quarterdeck.storage.errors import CommitFailed
from quarterdeck.storage.history import History
from quarterdeck.storage.log import Done
from quarterdeck.storage.memory import MemoryLog
from quarterdeck.storage.state import State
from quarterdeck.storage.types import StoreEvent
from quarterdeck.telemetry.fleet import protobuf

TOKEN = "s3cr3t"
SCRAPE = 'prometheus.scrape "x" {\n  targets = []\n}\n'
EMPTY_HASH = "0f6fe44fdee05c4b57b567f67f61d13559c45a245cdeaedb442aa43247936717"


class Fleet:
    """A running server and a client that calls its RPCs."""

    def __init__(self, server: FleetServer, client: http.Client, url: str) -> None:
        self.server = server
        self.client = client
        self.url = url

    async def send(
        self, method: str, path: str, body: bytes | None = None, *headers: tuple[str, str]
    ) -> tuple[int, http.Headers, bytes]:
        fields = [*headers]
        if not any(name.lower() == "authorization" for name, _ in headers):
            fields.append(("Authorization", f"Bearer {TOKEN}"))
        response = await self.client.request(method, self.url + path, headers=fields, body=body)
        async with response:
            return response.status, response.headers, await response.read()

    async def call(self, name: str, message: dict[str, Any], *, ok: bool = True) -> dict[str, Any]:
        service = (
            "collector.v1.Collector" if "Coll" in name or "Conf" in name else "pipeline.v1.Pipeline"
        )
        status, _, body = await self.send(
            "POST",
            f"/{service}Service/{name}",
            json.dumps(message).encode(),
            ("Content-Type", "application/json"),
        )
        assert (status == 200) is ok, body
        found: dict[str, Any] = json.loads(body)
        return found

    async def create(self, name: str, *matchers: str, **more: Any) -> dict[str, Any]:
        pipeline = {"name": name, "contents": SCRAPE, "matchers": matchers, **more}
        return await self.call("CreatePipeline", {"pipeline": pipeline})

    async def config(self, identity: str, hash_: str = "", **attributes: str) -> dict[str, Any]:
        message = {"id": identity, "hash": hash_, "localAttributes": attributes}
        return await self.call("GetConfig", message)


@asynccontextmanager
async def fleet(tokens: Tokens | None = None, *, path: Path | None = None) -> AsyncIterator[Fleet]:
    store = open_memory() if path is None else open_sqlite(path)
    server = FleetServer(store, tokens or Tokens.single(Secret(TOKEN)), clock=VirtualClock())
    web = http.Server(server.handle, limits=http.Limits(target_bytes=MAX_TARGET))
    listener = await web.listen("127.0.0.1", 0)
    try:
        async with http.Client() as client:
            yield Fleet(server, client, f"http://127.0.0.1:{listener.port}")
    finally:
        await web.close()
        await server.flush()
        await store.close()


async def test_an_agent_gets_what_matches_and_then_nothing_new() -> None:
    async with fleet() as it:
        await it.create("web", "env=prod", 'team=~"a|b"')
        await it.create("db", "env=dev")
        first = await it.config("edge-1", env="prod", team="a")
        assert 'declare "pipe_web"' in first["content"]
        assert "pipe_db" not in first["content"]
        again = await it.config("edge-1", first["hash"], env="prod", team="a")
        assert again == {"hash": first["hash"], "notModified": True}
        found = await it.call("GetCollector", {"id": "edge-1"})
        assert found["localAttributes"] == {"env": "prod", "team": "a"}
        assert found["collectorType"] == "COLLECTOR_TYPE_ALLOY"


async def test_alloys_own_bytes_are_answered_in_kind() -> None:
    query = "base64=1&connect=v1&encoding=proto&message=CgZlZGdlLTEiCwoDZW52EgRwcm9k"
    async with fleet() as it:
        path = f"/collector.v1.CollectorService/GetConfig?{query}"
        status, headers, body = await it.send("GET", path)
        assert (status, headers.get("content-type")) == (200, "application/proto")
        assert body.hex().startswith("0a162f2f20666c656574")
        answer = protobuf.decode("GetConfigResponse", body)
        assert answer == {"content": "// fleet: 0 pipelines\n", "hash": EMPTY_HASH}
        request = {"id": "edge-1", "hash": EMPTY_HASH}
        text = base64.urlsafe_b64encode(protobuf.encode("GetConfigRequest", request)).decode()
        status, _, body = await it.send(
            "GET",
            f"/collector.v1.CollectorService/GetConfig?message={text}&encoding=proto&base64=1",
        )
        assert protobuf.decode("GetConfigResponse", body) == {
            "hash": EMPTY_HASH,
            "notModified": True,
        }


async def test_register_answers_with_an_empty_message() -> None:
    async with fleet() as it:
        body = protobuf.encode("RegisterCollectorRequest", {"id": "a", "name": "A"})
        status, headers, answer = await it.send(
            "POST",
            "/collector.v1.CollectorService/RegisterCollector",
            body,
            ("Content-Type", "application/proto"),
        )
        assert (status, headers.get("content-type"), answer) == (200, "application/proto", b"")
        await it.call("UnregisterCollector", {"id": "a"})
        assert (await it.call("GetCollector", {"id": "a"}))["markedInactiveAt"]
        await it.config("a")
        assert "markedInactiveAt" not in await it.call("GetCollector", {"id": "a"})


async def test_a_long_url_and_compressed_bodies_are_accepted() -> None:
    async with fleet() as it:
        effective = {"configMap": {"configMap": {"": {"body": b"x" * 60_000}}}}
        message = protobuf.encode("GetConfigRequest", {"id": "a", "effectiveConfig": effective})
        text = base64.urlsafe_b64encode(message).decode().rstrip("=")
        path = f"/collector.v1.CollectorService/GetConfig?encoding=proto&base64=1&message={text}"
        status, _, _ = await it.send("GET", path)
        assert status == 200
        await it.create("big", "env=prod", contents=SCRAPE + "// " + "x" * 5000)
        status, headers, body = await it.send(
            "POST",
            "/collector.v1.CollectorService/GetConfig",
            gzip.compress(json.dumps({"id": "b", "local_attributes": {"env": "prod"}}).encode()),
            ("Content-Type", "application/json"),
            ("Content-Encoding", "gzip"),
            ("Accept-Encoding", "gzip"),
        )
        assert status == 200
        assert headers.get("content-encoding") == "gzip"
        assert "pipe_big" in json.loads(gzip.decompress(body))["content"]


async def test_pipelines_go_through_all_their_verbs() -> None:
    async with fleet() as it:
        made = await it.create("a", "env=prod")
        assert made["configType"] == "CONFIG_TYPE_ALLOY"
        assert (await it.call("GetPipelineID", {"name": "a"}))["id"] == made["id"]
        changed = {**made, "enabled": False}
        await it.call("UpdatePipeline", {"pipeline": changed})
        assert (await it.call("GetPipeline", {"id": made["id"]}))["enabled"] is False
        upsert = {"name": "a", "contents": SCRAPE, "matchers": ["env=dev"]}
        assert (await it.call("UpsertPipeline", {"pipeline": upsert}))["id"] == made["id"]
        dry = {"pipeline": {"name": "z", "contents": SCRAPE}, "validateOnly": True}
        await it.call("CreatePipeline", dry)
        listed = await it.call("ListPipelines", {})
        assert [each["name"] for each in listed["pipelines"]] == ["a"]
        revisions = await it.call("ListPipelineRevisions", {"id": made["id"]})
        assert [each["operation"] for each in revisions["pipelineRevisions"]] == [
            "INSERT",
            "UPDATE",
            "UPDATE",
        ]
        await it.call("DeletePipeline", {"id": made["id"]})
        error = await it.call("DeletePipeline", {"id": made["id"]}, ok=False)
        assert error["code"] == "not_found"


async def test_a_write_that_changes_nothing_makes_no_revision() -> None:
    async with fleet() as it:
        made = await it.create("a", "env=prod")
        generation = it.server.pipelines.generation
        await it.call("UpdatePipeline", {"pipeline": made})
        assert it.server.pipelines.generation == generation


async def test_lists_filter_by_what_a_collector_would_get() -> None:
    async with fleet() as it:
        await it.create("a", "env=prod")
        await it.create("b", "env=dev")
        await it.create("c", "env=prod", enabled=False)
        found = await it.call("ListPipelines", {"localAttributes": {"env": "prod"}})
        assert [each["name"] for each in found["pipelines"]] == ["a", "c"]
        found = await it.call(
            "ListPipelines", {"localAttributes": {"env": "prod"}, "enabled": True}
        )
        assert [each["name"] for each in found["pipelines"]] == ["a"]


async def test_a_sync_replaces_exactly_what_its_source_owns() -> None:
    git = {"type": "SOURCE_TYPE_GIT", "namespace": "repo"}
    async with fleet() as it:
        await it.create("mine", "env=prod")
        wanted = [{"name": name, "contents": SCRAPE, "matchers": ["a=b"]} for name in "xyz"]
        await it.call("SyncPipelines", {"source": git, "pipelines": wanted})
        await it.call("SyncPipelines", {"source": git, "pipelines": wanted[:1]})
        listed = (await it.call("ListPipelines", {}))["pipelines"]
        assert [each["name"] for each in listed] == ["mine", "x"]
        assert len({each["id"] for each in listed}) == 2


async def test_bulk_deletes_are_all_or_nothing() -> None:
    async with fleet() as it:
        made = await it.create("a")
        error = await it.call("BulkDeletePipelines", {"ids": [made["id"], "99"]}, ok=False)
        assert error["code"] == "not_found"
        assert (await it.call("ListPipelines", {}))["pipelines"]
        assert (await it.call("BulkDeletePipelines", {"ids": []}, ok=False))["code"] == (
            "invalid_argument"
        )


async def test_remote_attributes_win_but_never_the_reserved_ones() -> None:
    async with fleet() as it:
        await it.create("p", "env=canary", "collector.os=linux")
        await it.call(
            "RegisterCollector",
            {"id": "e", "local_attributes": {"env": "prod", "collector.os": "linux"}},
        )
        operations = [{"op": "ADD", "path": "/remote_attributes/env", "value": "canary"}]
        await it.call("BulkUpdateCollectors", {"ids": ["e"], "ops": operations})
        assert "pipe_p" in (await it.config("e"))["content"]
        dotted = [{"op": "REMOVE", "path": "remoteAttributes.env", "value": "other"}]
        await it.call("BulkUpdateCollectors", {"ids": ["e"], "ops": dotted})
        assert "pipe_p" in (await it.config("e"))["content"]
        reserved = [{"op": "ADD", "path": "/remote_attributes/collector.os", "value": "x"}]
        error = await it.call("BulkUpdateCollectors", {"ids": ["e"], "ops": reserved}, ok=False)
        assert "reserved" in error["message"]
        listed = await it.call("ListCollectorAttributes", {})
        assert listed["remoteAttributes"]["env"]["values"] == [{"value": "canary"}]


async def test_a_collector_that_is_switched_off_gets_a_comment() -> None:
    async with fleet() as it:
        await it.create("p", "env=prod")
        await it.config("e", env="prod")
        await it.call("UpdateCollector", {"collector": {"id": "e", "enabled": False}})
        assert (await it.config("e"))["content"] == "// fleet: 0 pipelines\n"


async def test_the_status_an_agent_reports_is_kept() -> None:
    async with fleet() as it:
        failed = {"status": "RemoteConfigStatuses_FAILED", "errorMessage": "no such component"}
        await it.call("GetConfig", {"id": "e", "remoteConfigStatus": failed})
        await it.call("GetConfig", {"id": "e", "remoteConfigStatus": failed})
        found = it.server.collectors.get("e")
        assert (found.status, found.error_message) == ("FAILED", "no such component")


@pytest.mark.parametrize(
    ("pipeline", "problem"),
    [
        ({"name": "", "contents": SCRAPE}, "name must have"),
        ({"name": "a", "contents": "a {"}, "contents: line 1, column 4: expected }"),
        ({"name": "a", "contents": SCRAPE, "matchers": ["env=="]}, "matchers: matcher 'env=='"),
        ({"name": "a", "contents": SCRAPE, "matchers": ["a=b"] * 101}, "at most 100, not 101"),
        ({"name": "a", "contents": 3}, "contents must be a string"),
        (
            {"name": "a", "contents": SCRAPE, "configType": "CONFIG_TYPE_OTEL"},
            "contents:",
        ),
    ],
)
async def test_bad_pipelines_are_refused_by_field(pipeline: dict[str, Any], problem: str) -> None:
    async with fleet() as it:
        error = await it.call("CreatePipeline", {"pipeline": pipeline}, ok=False)
        assert error["code"] == "invalid_argument"
        assert problem in error["message"]


async def test_a_taken_name_is_refused() -> None:
    async with fleet() as it:
        await it.create("a")
        error = await it.call(
            "CreatePipeline", {"pipeline": {"name": "a", "contents": SCRAPE}}, ok=False
        )
        assert error["code"] == "already_exists"


@pytest.mark.parametrize(
    ("method", "path", "headers", "expected"),
    [
        ("POST", "/pipeline.v1.PipelineService/Nope", [], 501),
        ("GET", "/pipeline.v1.PipelineService/ListPipelines", [], 405),
        ("PUT", "/collector.v1.CollectorService/GetConfig", [], 405),
        ("GET", "/collector.v1.CollectorService/GetConfig?encoding=xml", [], 415),
        (
            "POST",
            "/pipeline.v1.PipelineService/ListPipelines",
            [("Content-Type", "text/html")],
            415,
        ),
        (
            "POST",
            "/pipeline.v1.PipelineService/ListPipelines",
            [("Content-Type", "application/json")],
            400,
        ),
    ],
)
async def test_what_is_not_connect_gets_a_bounded_answer(
    method: str, path: str, headers: list[tuple[str, str]], expected: int
) -> None:
    async with fleet() as it:
        body = b"{" if method == "POST" else None
        status, _, _ = await it.send(method, path, body, *headers)
        assert status == expected


@pytest.mark.parametrize("scheme", ["Bearer {}", "Bearer 12:{}", "Basic", "Basic 12"])
async def test_a_token_may_contain_colons(scheme: str) -> None:
    token = "a:b:c"
    authorization = scheme.format(token)
    if scheme.startswith("Basic"):
        user = scheme.removeprefix("Basic").strip()
        authorization = f"Basic {base64.b64encode(f'{user}:{token}'.encode()).decode()}"
    tokens = Tokens.single(Secret(token))
    tokens.check(authorization, Scope.READ)
    with pytest.raises(FleetError):
        tokens.check("Bearer c", Scope.READ)


async def test_tokens_have_scopes() -> None:
    tokens = Tokens(
        {
            "reader": frozenset({Scope.READ}),
            "writer": frozenset({Scope.WRITE}),
            "agent": frozenset({Scope.AGENT}),
        }
    )
    basic = base64.b64encode(b"12345:agent").decode()
    listing, config = (
        "pipeline.v1.PipelineService/ListPipelines",
        "collector.v1.CollectorService/GetConfig",
    )
    deleting = "pipeline.v1.PipelineService/DeletePipeline"
    expected = [
        ("Bearer reader", listing, 200),
        ("Bearer writer", listing, 200),
        ("Bearer agent", listing, 403),
        ("Bearer reader", deleting, 403),
        (f"Basic {basic}", config, 200),
        ("Bearer 12345:agent", config, 200),
        ("Bearer wrong", listing, 401),
        ("Basic !!", listing, 401),
        ("", listing, 401),
    ]
    async with fleet(tokens) as it:
        for authorization, path, status in expected:
            found, _, body = await it.send(
                "POST",
                f"/{path}",
                b'{"id":"a"}',
                ("Authorization", authorization),
                ("Content-Type", "application/json"),
            )
            assert found == status, (authorization, path)
            assert b"wrong" not in body
            assert redact(body.decode()) == body.decode(), "clients show the whole sentence"


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    async with fleet(path=tmp_path / "fleet.db") as it:
        kept = await it.create("kept", "env=prod")
        gone = await it.create("gone")
        await it.call("DeletePipeline", {"id": gone["id"]})
        first = await it.config("e", env="prod")
    async with fleet(path=tmp_path / "fleet.db") as it:
        assert (await it.call("ListPipelines", {}))["pipelines"] == [kept]
        again = await it.config("e", first["hash"], env="prod")
        assert again["notModified"]
        made = await it.create("new")
        assert int(made["id"]) > int(gone["id"])


class FullDisk(MemoryLog):
    """A log that cannot store anything while it is full."""

    is_full = False

    def commit(self, events: Sequence[StoreEvent], done: Done) -> None:
        error = CommitFailed("the disk is full") if self.is_full else None
        asyncio.get_running_loop().call_soon(done, error)


@asynccontextmanager
async def pipeline_calls() -> AsyncIterator[tuple[Mapping[str, Call], FullDisk, Store]]:
    """The calls about pipelines of a server, on a disk that may be full."""
    log = FullDisk()
    history = History(floor=1, max_events=1000, max_bytes=1 << 20)
    store = Store(log, state=State(), history=history, revision=1, compacted=1, derive=None)
    pipelines = Pipelines((), ())
    calls = PipelineCalls(pipelines, Persistence(store), lambda: "2026-01-01T00:00:00Z")
    yield calls.list_calls(), log, store
    await store.close()


def stored_names(store: Store) -> list[str]:
    return sorted(each.name for each in Persistence(store).load_pipelines())


async def test_a_write_that_failed_is_not_answered_before_it_is_on_disk() -> None:
    async with pipeline_calls() as (calls, log, store):
        request = {"pipeline": {"name": "web", "contents": SCRAPE}}
        log.is_full = True
        for _ in range(2):
            with pytest.raises(StorageError):
                await calls["UpsertPipeline"](request)
        log.is_full = False
        identity = (await calls["UpsertPipeline"](request))["id"]
        assert stored_names(store) == ["web"]
        log.is_full = True
        for _ in range(2):
            with pytest.raises(StorageError):
                await calls["DeletePipeline"]({"id": identity})
        log.is_full = False
        await calls["DeletePipeline"]({"id": identity})
        assert stored_names(store) == []
        operations = [each.operation for each in Persistence(store).load_revisions()]
        assert sorted(operations) == ["DELETE", "INSERT"]
        with pytest.raises(FleetError, match="not found"):
            await calls["DeletePipeline"]({"id": identity})


async def test_a_sync_is_all_or_nothing_for_calls_and_disk() -> None:
    source = {"type": "SOURCE_TYPE_GIT", "namespace": "team"}

    def listing(*names: str) -> dict[str, Any]:
        return {
            "source": source,
            "pipelines": [{"name": name, "contents": SCRAPE} for name in names],
        }

    async with pipeline_calls() as (calls, log, store):
        await calls["SyncPipelines"](listing("a", "b"))
        sync = asyncio.ensure_future(calls["SyncPipelines"](listing("c")))
        await asyncio.sleep(0)  # it waits for the disk
        names = [each["name"] for each in (await calls["ListPipelines"]({}))["pipelines"]]
        assert names == ["c"]
        await sync
        assert stored_names(store) == ["c"]
        log.is_full = True
        with pytest.raises(StorageError):
            await calls["SyncPipelines"](listing("d"))
        assert stored_names(store) == ["c"]


async def test_attributes_that_are_set_during_the_first_poll_are_kept() -> None:
    store = open_memory()
    server = FleetServer(store, Tokens.single(Secret(TOKEN)), clock=VirtualClock())
    managed = CollectorCalls(
        server.collectors, server.configs, disk=Persistence(store), now=lambda: "now"
    )
    agent = uuid.UUID(int=7)
    hello = {"instanceUid": agent.bytes, "capabilities": 2, "agentDescription": {}}
    first = (
        server.agents.get_config({"id": "edge-1"}),
        server.opamp.answer(protobuf.encode("opamp.AgentToServer", hello)),
    )
    polls = [asyncio.ensure_future(each) for each in first]
    await asyncio.sleep(0)  # both wait for the disk
    operation = {"op": "ADD", "path": "/remote_attributes/env", "value": "prod"}
    ids = ["edge-1", str(agent)]
    await managed.list_calls()["BulkUpdateCollectors"]({"ids": ids, "ops": [operation]})
    await asyncio.gather(*polls)
    await server.flush()
    again = FleetServer(store, Tokens.single(Secret(TOKEN)), clock=VirtualClock())
    for identity in ids:
        assert again.collectors.get(identity).remote_attributes == {"env": "prod"}
    await store.close()


async def test_reports_of_many_agents_are_flushed_and_outlive_a_failing_disk() -> None:
    store, clock = open_memory(), VirtualClock()
    server = FleetServer(store, Tokens.single(Secret(TOKEN)), clock=clock)
    count = FLUSH_BATCH * 2 + 1
    for number in range(count):
        server.collectors.put(Collector(id=f"edge-{number}"))
        await server.agents.get_config({"id": f"edge-{number}"})
    assert store.snapshot().count("collectors", None) == 0
    async with Supervisor("test") as tasks:
        running = tasks.spawn(server.run(), name="flush")
        await clock.advance(FLUSH_S)
        await store.put(StoreKey("other", "", "o"), lambda revision: b"{}")
        assert store.snapshot().count("collectors", None) == count
        await server.agents.get_config({"id": "edge-0"})
        await store.close()
        await clock.advance(FLUSH_S * 2)
        assert not running.done()
        with pytest.raises(StorageError):
            await server.flush()
        with pytest.raises(StorageError):
            await server.flush()
        await tasks.cancel_all()
