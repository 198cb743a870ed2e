"""The RPCs about pipelines: reads from memory, writes that are answered once they are on disk."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from quarterdeck.services.fleet.errors import invalid, not_found
from quarterdeck.services.fleet.persistence import Persistence, settle
from quarterdeck.services.fleet.pipelines import Pipelines, check_contents_in_thread
from quarterdeck.services.fleet.records import Pipeline, Revision
from quarterdeck.services.fleet.requests import Call, Message, get_text, list_identities
from quarterdeck.telemetry.matchers import match_all


class PipelineCalls:
    """Answers the RPCs about pipelines, one method per RPC."""

    def __init__(self, pipelines: Pipelines, disk: Persistence, now: Callable[[], str]) -> None:
        self._pipelines = pipelines
        self._disk = disk
        self._now = now

    def list_calls(self) -> Mapping[str, Call]:
        """The methods by the names of their RPCs."""
        return {
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
        }

    # reads

    async def _get_pipeline(self, request: Message) -> Message:
        return self._pipelines.get(get_text(request, "id")).to_message()

    async def _get_pipeline_id(self, request: Message) -> Message:
        name = get_text(request, "name")
        found = self._pipelines.find_by_name(name)
        if found is None:
            raise not_found("pipeline", name)
        return {"id": found.id}

    async def _list_pipelines(self, request: Message) -> Message:
        found = [each for each in self._pipelines.list_all() if _is_listed(each, request)]
        return {"pipelines": [each.to_message() for each in found]}

    async def _list_all_revisions(self, request: Message) -> Message:
        return _build_revisions(self._pipelines.list_revisions(), with_contents=False)

    async def _list_revisions(self, request: Message) -> Message:
        identity = get_text(request, "id")
        found = self._pipelines.list_revisions(identity)
        if not found:
            raise not_found("pipeline", identity)
        return _build_revisions(found, with_contents=True)

    async def _get_revision(self, request: Message) -> Message:
        identity = get_text(request, "revisionId")
        for revision in self._pipelines.list_revisions():
            if revision.revision_id == identity:
                return revision.to_message(with_contents=True)
        raise not_found("revision", identity)

    # writes

    async def _create_pipeline(self, request: Message) -> Message:
        await check_contents_in_thread(_read_pipeline(request))
        planned = self._pipelines.plan_create(_read_pipeline(request), self._now())
        return await self._write(planned, request)

    async def _update_pipeline(self, request: Message) -> Message:
        await check_contents_in_thread(_read_pipeline(request))
        planned = self._pipelines.plan_update(_read_pipeline(request), self._now())
        return await self._write(planned, request)

    async def _upsert_pipeline(self, request: Message) -> Message:
        await check_contents_in_thread(_read_pipeline(request))
        planned = self._pipelines.plan_upsert(_read_pipeline(request), self._now())
        return await self._write(planned, request)

    async def _write(self, planned: Pipeline, request: Message) -> Message:
        if not request.get("validateOnly"):
            await self._store_pipelines([planned])
        return planned.to_message()

    async def _delete_pipeline(self, request: Message) -> Message:
        await self._remove_pipelines([get_text(request, "id")])
        return {}

    async def _bulk_delete_pipelines(self, request: Message) -> Message:
        doomed = list_identities(request)
        if not doomed:
            raise invalid("ids must not be empty")
        await self._remove_pipelines(doomed)
        return {}

    async def _sync_pipelines(self, request: Message) -> Message:
        """Upsert all by name, then delete what the same source no longer lists."""
        source = dict(request.get("source") or {})
        if not source.get("type") or not source.get("namespace"):
            raise invalid("source.type and source.namespace must be set")
        for each in request.get("pipelines") or ():
            await check_contents_in_thread(each)
        now = self._now()
        planned = [
            self._pipelines.plan_upsert({**each, "source": source}, now)
            for each in request.get("pipelines") or ()
        ]
        names = [each.name for each in planned]
        if len(set(names)) != len(names):
            raise invalid("pipelines: duplicate name")
        planned = _assign_ids(planned, {each.id for each in self._pipelines.list_all()})
        gone = [
            each.id
            for each in self._pipelines.list_all()
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
            revision = self._pipelines.store(pipeline, now)
            if revision is not None:
                tickets.append(self._disk.put_pipeline(pipeline))
                tickets.extend(self._put_revision(revision))
        await settle(tickets)

    async def _remove_pipelines(self, doomed: list[str]) -> None:
        for identity in doomed:
            self._pipelines.get(identity)
        now = self._now()
        tickets = []
        for identity in doomed:
            revision = self._pipelines.remove(identity, now)
            tickets.append(self._disk.delete_pipeline(identity))
            tickets.extend(self._put_revision(revision))
        await settle(tickets)

    def _put_revision(self, revision: Revision) -> list[Any]:
        stale = self._pipelines.list_stale_revisions(revision.snapshot.id)
        return [
            self._disk.put_revision(revision),
            *(self._disk.delete_revision(each.revision_id) for each in stale),
        ]


def _read_pipeline(request: Message) -> Message:
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
    return not attributes or match_all(pipeline.parse_matchers(), attributes)


def _assign_ids(planned: list[Pipeline], taken: set[str]) -> list[Pipeline]:
    """Give each new pipeline of one batch an id of its own."""
    new = [each for each in planned if each.id not in taken]
    ids = {each.name: str(int(each.id) + offset) for offset, each in enumerate(new)}
    return [
        msgspec.structs.replace(each, id=ids[each.name]) if each.name in ids else each
        for each in planned
    ]


def _build_revisions(revisions: list[Revision], *, with_contents: bool) -> Message:
    return {
        "pipelineRevisions": [each.to_message(with_contents=with_contents) for each in revisions]
    }
