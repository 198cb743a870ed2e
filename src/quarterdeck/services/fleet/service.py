"""The fleet server: each RPC is one method, and every answer follows the disk.

`handle` answers HTTP requests; `run` flushes what agents report (last seen, status) in batches, so
that ten thousand polls cost one write each half minute, not ten thousand.
"""

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from quarterdeck.kit import http, rfc3339
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.services.fleet import collectors as rules
from quarterdeck.services.fleet import connect
from quarterdeck.services.fleet.auth import Scope, Tokens
from quarterdeck.services.fleet.collectors import Collectors
from quarterdeck.services.fleet.configs import Configs
from quarterdeck.services.fleet.errors import FleetError, invalid, not_found
from quarterdeck.services.fleet.persistence import Persistence, settle
from quarterdeck.services.fleet.pipelines import Pipelines
from quarterdeck.services.fleet.records import Collector, Pipeline, Revision
from quarterdeck.storage import StorageError, Store
from quarterdeck.telemetry.fleet.codes import Code
from quarterdeck.telemetry.matchers import match_all

Message = dict[str, Any]

FLUSH_S = 30.0
FLUSH_BATCH = 250
"""Collectors written at once: some milliseconds in which no poll is answered."""

MAX_TARGET = 1024 * 1024
"""Alloy sends GetConfig in the URL; with its effective configuration that can be long."""


class FleetServer:
    """Pipelines and collectors behind Connect."""

    def __init__(self, store: Store, tokens: Tokens, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._tokens = tokens
        self._disk = Persistence(store)
        self.pipelines = Pipelines(self._disk.pipelines(), self._disk.revisions())
        self.collectors = Collectors(self._disk.collectors())
        self.configs = Configs(self.pipelines)
        self._dirty: set[str] = set()
        self._calls: dict[str, Callable[[Message], Awaitable[Message]]] = {
            "GetPipeline": self._get_pipeline,
            "GetPipelineID": self._get_pipeline_id,
            "ListPipelines": self._list_pipelines,
            "ListPipelinesRevisions": self._list_all_revisions,
            "ListPipelineRevisions": self._list_revisions,
            "GetPipelineRevision": self._get_revision,
            "CreatePipeline": self._create_pipeline,
            "UpdatePipeline": self._update_pipeline,
            "UpsertPipeline": self._upsert_pipeline,
            "DeletePipeline": self._delete_pipeline,
            "BulkDeletePipelines": self._bulk_delete_pipelines,
            "SyncPipelines": self._sync_pipelines,
            "GetCollector": self._get_collector,
            "ListCollectors": self._list_collectors,
            "ListCollectorAttributes": self._list_attributes,
            "CreateCollector": self._create_collector,
            "UpdateCollector": self._update_collector,
            "BulkUpdateCollectors": self._bulk_update_collectors,
            "DeleteCollector": self._delete_collector,
            "BulkDeleteCollectors": self._bulk_delete_collectors,
            "GetConfig": self._get_config,
            "RegisterCollector": self._register_collector,
            "UnregisterCollector": self._unregister_collector,
        }

    async def handle(self, request: http.Request) -> http.Response:
        """Answer one request."""
        try:
            if request.path in ("/healthz", "/readyz") and request.method == "GET":
                return http.Response(200, [("Content-Type", "text/plain")], b"ok")
            return await self._answer(request)
        except connect.Refusal as refusal:
            return refusal.response
        except FleetError as error:
            return connect.failure(error)
        except http.BodyTooLarge as error:
            return connect.failure(FleetError(Code.RESOURCE_EXHAUSTED, str(error)))
        except StorageError as error:
            return connect.failure(FleetError(Code.UNAVAILABLE, f"cannot write: {error}"))

    async def run(self) -> None:
        """Flush reports of agents, until cancelled; a last time at the end.

        A disk that fails does not end it: reports are kept for the next time, and writes that must
        not be lost say so to their callers.
        """
        try:
            while True:
                await self._clock.sleep(FLUSH_S)
                with contextlib.suppress(StorageError):
                    await self.flush()
        finally:
            with contextlib.suppress(StorageError):
                await self.flush()

    async def flush(self) -> None:
        """Write what agents have reported since the last time; between batches others are served.

        Raises:
            StorageError: if it cannot be written; the next flush tries again.
        """
        waiting, self._dirty = list(self._dirty), set()
        while waiting:
            batch, waiting = waiting[:FLUSH_BATCH], waiting[FLUSH_BATCH:]
            known = (self.collectors.find(identity) for identity in batch)
            try:
                await settle([self._disk.put_collector(each) for each in known if each is not None])
            except StorageError:
                self._dirty.update(batch, waiting)
                raise

    async def _answer(self, request: http.Request) -> http.Response:
        name, method = connect.find(request.path)
        self._tokens.check(request.headers.get("authorization") or "", Scope(method.scope))
        if request.method == "GET":
            call = connect.read_get(name, method, request.query)
        elif request.method == "POST":
            body = await request.read(connect.MAX_BODY)
            call = connect.read_post(name, method, request.headers, body)
        else:
            raise connect.Refusal(405, [("Allow", "GET, POST")], "use GET or POST")
        message = await self._calls[name](call.message)
        return connect.respond(call, message, request.headers)

    # pipelines: reads

    async def _get_pipeline(self, request: Message) -> Message:
        return self.pipelines.get(_text(request, "id")).message()

    async def _get_pipeline_id(self, request: Message) -> Message:
        name = _text(request, "name")
        found = self.pipelines.named(name)
        if found is None:
            raise not_found("pipeline", name)
        return {"id": found.id}

    async def _list_pipelines(self, request: Message) -> Message:
        found = [each for each in self.pipelines.all() if _is_listed(each, request)]
        return {"pipelines": [each.message() for each in found]}

    async def _list_all_revisions(self, request: Message) -> Message:
        return _revisions(self.pipelines.revisions(), with_contents=False)

    async def _list_revisions(self, request: Message) -> Message:
        identity = _text(request, "id")
        found = self.pipelines.revisions(identity)
        if not found:
            raise not_found("pipeline", identity)
        return _revisions(found, with_contents=True)

    async def _get_revision(self, request: Message) -> Message:
        identity = _text(request, "revisionId")
        for revision in self.pipelines.revisions():
            if revision.revision_id == identity:
                return revision.message(with_contents=True)
        raise not_found("revision", identity)

    # pipelines: writes

    async def _create_pipeline(self, request: Message) -> Message:
        planned = self.pipelines.plan_create(_pipeline(request), self._now())
        return await self._write(planned, request)

    async def _update_pipeline(self, request: Message) -> Message:
        planned = self.pipelines.plan_update(_pipeline(request), self._now())
        return await self._write(planned, request)

    async def _upsert_pipeline(self, request: Message) -> Message:
        planned = self.pipelines.plan_upsert(_pipeline(request), self._now())
        return await self._write(planned, request)

    async def _write(self, planned: Pipeline, request: Message) -> Message:
        if not request.get("validateOnly"):
            await self._store_pipelines([planned])
        return planned.message()

    async def _delete_pipeline(self, request: Message) -> Message:
        await self._remove_pipelines([_text(request, "id")])
        return {}

    async def _bulk_delete_pipelines(self, request: Message) -> Message:
        identities = list(dict.fromkeys(request.get("ids") or ()))
        if not identities:
            raise invalid("ids must not be empty")
        await self._remove_pipelines(identities)
        return {}

    async def _sync_pipelines(self, request: Message) -> Message:
        """Upsert all by name, then delete what the same source no longer lists."""
        source = dict(request.get("source") or {})
        if not source.get("type") or not source.get("namespace"):
            raise invalid("source.type and source.namespace must be set")
        now = self._now()
        planned = [
            self.pipelines.plan_upsert({**each, "source": source}, now)
            for each in request.get("pipelines") or ()
        ]
        names = [each.name for each in planned]
        if len(set(names)) != len(names):
            raise invalid("pipelines: a name stands twice")
        planned = _numbered(planned, {each.id for each in self.pipelines.all()})
        gone = [
            each.id
            for each in self.pipelines.all()
            if dict(each.source or {}) == source and each.name not in names
        ]
        await self._store_pipelines(planned)
        if gone:
            await self._remove_pipelines(gone)
        return {}

    async def _store_pipelines(self, planned: list[Pipeline]) -> None:
        now = self._now()
        tickets = []
        for pipeline in planned:
            revision = self.pipelines.store(pipeline, now)
            if revision is not None:
                tickets.append(self._disk.put_pipeline(pipeline))
                tickets.extend(self._put_revision(revision))
        await settle(tickets)

    async def _remove_pipelines(self, identities: list[str]) -> None:
        for identity in identities:
            self.pipelines.get(identity)
        now = self._now()
        tickets = []
        for identity in identities:
            revision = self.pipelines.remove(identity, now)
            tickets.append(self._disk.delete_pipeline(identity))
            tickets.extend(self._put_revision(revision))
        await settle(tickets)

    def _put_revision(self, revision: Revision) -> list[Any]:
        stale = self.pipelines.stale_revisions(revision.snapshot.id)
        return [
            self._disk.put_revision(revision),
            *(self._disk.delete_revision(each.revision_id) for each in stale),
        ]

    # collectors: management

    async def _get_collector(self, request: Message) -> Message:
        return self.collectors.get(_text(request, "id")).message()

    async def _list_collectors(self, request: Message) -> Message:
        found = self.collectors.list(request.get("matchers") or ())
        return {"collectors": [each.message() for each in found]}

    async def _list_attributes(self, request: Message) -> Message:
        return {
            "localAttributes": self.collectors.attributes("local_attributes"),
            "remoteAttributes": self.collectors.attributes("remote_attributes"),
        }

    async def _create_collector(self, request: Message) -> Message:
        message = request.get("collector") or {}
        identity = str(message.get("id") or "")
        if self.collectors.find(identity) is not None:
            raise FleetError(Code.ALREADY_EXISTS, f"collector {identity!r} already exists")
        return await self._put_collector(rules.changed(None, message, self._now()))

    async def _update_collector(self, request: Message) -> Message:
        message = request.get("collector") or {}
        current = self.collectors.get(str(message.get("id") or ""))
        return await self._put_collector(rules.changed(current, message, self._now()))

    async def _bulk_update_collectors(self, request: Message) -> Message:
        """All or none: the operations are tried on every collector before one is stored."""
        now = self._now()
        operations = request.get("ops") or ()
        planned = [
            rules.operated(self.collectors.get(identity), operations, now)
            for identity in dict.fromkeys(request.get("ids") or ())
        ]
        for collector in planned:
            self.collectors.put(collector)
        await settle([self._disk.put_collector(each) for each in planned])
        return {}

    async def _delete_collector(self, request: Message) -> Message:
        await self._remove_collectors([_text(request, "id")])
        return {}

    async def _bulk_delete_collectors(self, request: Message) -> Message:
        await self._remove_collectors(list(dict.fromkeys(request.get("ids") or ())))
        return {}

    async def _remove_collectors(self, identities: list[str]) -> None:
        for identity in identities:
            self.collectors.get(identity)
        for identity in identities:
            self.collectors.remove(identity)
            self.configs.forget(identity)
        await settle([self._disk.delete_collector(identity) for identity in identities])

    async def _put_collector(self, collector: Collector) -> Message:
        self.collectors.put(collector)
        await settle([self._disk.put_collector(collector)])
        return collector.message()

    # collectors: what agents call

    async def _register_collector(self, request: Message) -> Message:
        current = self.collectors.find(_text(request, "id"))
        collector = rules.registered(current, {"name": "", **request}, self._now())
        await self._put_collector(collector)
        return {}

    async def _unregister_collector(self, request: Message) -> Message:
        """A collector that leaves is marked, never deleted: it may be restarting."""
        current = self.collectors.find(_text(request, "id"))
        if current is not None:
            marked = msgspec.structs.replace(current, marked_inactive_at=self._now())
            await self._put_collector(marked)
        return {}

    async def _get_config(self, request: Message) -> Message:
        collector = await self._seen(request)
        merged = self.configs.of(collector)
        if collector.served_hash != merged.hash:
            self._report(msgspec.structs.replace(collector, served_hash=merged.hash))
        if request.get("hash") == merged.hash:
            return {"hash": merged.hash, "notModified": True}
        return {"content": merged.content, "hash": merged.hash}

    async def _seen(self, request: Message) -> Collector:
        """The collector that polls; one we do not know registers itself by it."""
        identity = _text(request, "id")
        current = self.collectors.find(identity)
        if current is None:
            collector = rules.registered(None, request, self._now())
            await self._put_collector(collector)
            return collector
        local = request.get("localAttributes") or request.get("attributes")
        changes: dict[str, Any] = {"last_seen": self._now()}
        if local and local != current.local_attributes:
            changes["local_attributes"] = local
        if current.marked_inactive_at:
            changes["marked_inactive_at"] = ""
        if status := request.get("remoteConfigStatus"):
            changes["status"] = str(status.get("status") or "").removeprefix(
                "RemoteConfigStatuses_"
            )
            changes["error_message"] = str(status.get("errorMessage") or "")[:1024]
        collector = msgspec.structs.replace(current, **changes)
        self._report(collector)
        return collector

    def _report(self, collector: Collector) -> None:
        """Keep what an agent said in memory; the next flush writes it."""
        self.collectors.put(collector)
        self._dirty.add(collector.id)

    def _now(self) -> str:
        return rfc3339.format_time(self._clock.now())


def _text(request: Mapping[str, Any], name: str) -> str:
    value = str(request.get(name) or "")
    if not value:
        raise invalid(f"{name} must not be empty")
    return value


def _pipeline(request: Message) -> Message:
    message = request.get("pipeline")
    if not isinstance(message, dict):
        raise invalid("pipeline must be set")
    return message


def _is_listed(pipeline: Pipeline, request: Message) -> bool:
    wanted = request.get("configType")
    if wanted and wanted != "CONFIG_TYPE_UNSPECIFIED" and wanted != pipeline.config_type:
        return False
    if "enabled" in request and request["enabled"] != pipeline.enabled:
        return False
    attributes = {**request.get("localAttributes", {}), **request.get("remoteAttributes", {})}
    return not attributes or match_all(pipeline.parsed(), attributes)


def _numbered(planned: list[Pipeline], taken: set[str]) -> list[Pipeline]:
    """Give each new pipeline of one batch an id of its own."""
    new = [each for each in planned if each.id not in taken]
    ids = {each.name: str(int(each.id) + offset) for offset, each in enumerate(new)}
    return [
        msgspec.structs.replace(each, id=ids[each.name]) if each.name in ids else each
        for each in planned
    ]


def _revisions(revisions: list[Revision], *, with_contents: bool) -> Message:
    return {"pipelineRevisions": [each.message(with_contents=with_contents) for each in revisions]}
