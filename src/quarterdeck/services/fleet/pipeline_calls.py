"""The RPCs about pipelines: reads from memory, writes that are answered once they are on disk."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from quarterdeck.services.fleet.errors import invalid, not_found
from quarterdeck.services.fleet.persistence import Persistence, settle
from quarterdeck.services.fleet.pipelines import (
    Pipelines,
    check_contents_in_thread,
    check_upsert_in_thread,
)
from quarterdeck.services.fleet.records import Pipeline, Revision
from quarterdeck.services.fleet.requests import Call, Message, get_text, list_identities
from quarterdeck.storage import StorageError, Ticket
from quarterdeck.telemetry.matchers import match_all


class PipelineCalls:
    """Answers the RPCs about pipelines, one method per RPC."""

    def __init__(self, pipelines: Pipelines, disk: Persistence, now: Callable[[], str]) -> None:
        self._pipelines = pipelines
        self._disk = disk
        self._now = now
        self._unsaved: set[str] = set()
        """Ids of pipelines whose last change could not be written to disk."""

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
            await self._save(self._apply([planned]))
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
        """Upsert all by name, and delete what the same source no longer lists: all or nothing."""
        source = dict(request.get("source") or {})
        if not source.get("type") or not source.get("namespace"):
            raise invalid("source.type and source.namespace must be set")
        wanted = [
            await check_upsert_in_thread({**each, "source": source})
            for each in request.get("pipelines") or ()
        ]
        now = self._now()
        planned = [self._pipelines.plan_checked(each, now) for each in wanted]
        names = [each.name for each in planned]
        if len(set(names)) != len(names):
            raise invalid("pipelines: duplicate name")
        planned = _assign_ids(planned, {each.id for each in self._pipelines.list_all()})
        gone = [
            each.id
            for each in self._pipelines.list_all()
            if dict(each.source or {}) == source and each.name not in names
        ]
        await self._save(self._apply(planned, gone))
        return {}

    async def _remove_pipelines(self, doomed: list[str]) -> None:
        for identity in doomed:
            if identity not in self._unsaved:  # else its deletion may be tried again
                self._pipelines.get(identity)
        present = [each for each in doomed if self._pipelines.find(each) is not None]
        await self._save(self._apply([], present))

    def _apply(self, planned: list[Pipeline], doomed: Iterable[str] = ()) -> list[Revision]:
        """Store and delete pipelines in memory; returns the revisions that this makes."""
        now = self._now()
        stored = [self._pipelines.store(each, now) for each in planned]
        removed = [self._pipelines.remove(each, now) for each in doomed]
        return [each for each in (*stored, *removed) if each is not None]

    async def save_unsaved(self) -> None:
        """Write again what could not be written before.

        Raises:
            StorageError: if it cannot be written; the next call tries again.
        """
        if self._unsaved:
            await self._save([])

    async def _save(self, revisions: Sequence[Revision]) -> None:
        """Write changes to disk, all or none, with those that could not be written before.

        A caller that repeats a failed call must not be told that there is nothing to do.
        """
        failed, self._unsaved = self._unsaved, set()
        try:
            with self._disk.transaction():
                tickets = [each for identity in failed for each in self._put_again(identity)]
                tickets += [each for revision in revisions for each in self._put(revision)]
                dropped = self._pipelines.drop_deleted()
                tickets += [self._disk.delete_revision(each.revision_id) for each in dropped]
            await settle(tickets)
        except StorageError:
            self._unsaved |= failed | {each.snapshot.id for each in revisions}
            raise

    def _put(self, revision: Revision) -> list[Ticket | None]:
        pipeline = revision.snapshot
        is_deletion = revision.operation == "DELETE"
        stale = self._pipelines.list_stale_revisions(pipeline.id)
        return [
            self._disk.delete_pipeline(pipeline.id)
            if is_deletion
            else self._disk.put_pipeline(pipeline),
            self._disk.put_revision(revision),
            *(self._disk.delete_revision(each.revision_id) for each in stale),
        ]

    def _put_again(self, identity: str) -> list[Ticket | None]:
        """Write the current state of a pipeline, with all its revisions."""
        pipeline = self._pipelines.find(identity)
        return [
            self._disk.delete_pipeline(identity)
            if pipeline is None
            else self._disk.put_pipeline(pipeline),
            *map(self._disk.put_revision, self._pipelines.list_revisions(identity)),
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
