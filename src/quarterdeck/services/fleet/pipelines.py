"""The pipelines of the fleet: their rules, their names, their revisions. No I/O."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from quarterdeck.services.fleet import candidates
from quarterdeck.services.fleet.candidates import (
    MAX_CONTENTS,
    SUFFIX,
    Candidate,
    check_candidate,
    read_candidate,
)
from quarterdeck.services.fleet.errors import FleetError, invalid, not_found
from quarterdeck.services.fleet.records import ALLOY, OTEL, Pipeline, Revision
from quarterdeck.telemetry import contents
from quarterdeck.telemetry.contents import ConfigType
from quarterdeck.telemetry.findings import select_errors
from quarterdeck.telemetry.fleet.codes import Code
from quarterdeck.telemetry.matchers import MAX_MATCHERS, MatcherError, parse_all
from quarterdeck.telemetry.matching import MatchIndex

MAX_NAME = 253
KEPT_REVISIONS = 20
"""How many revisions of one pipeline are kept."""
KEPT_DELETED = 50
"""How many deleted pipelines have revisions: the last ones to be deleted."""

_LANGUAGES = {ALLOY: ConfigType.ALLOY, OTEL: ConfigType.OPEN_TELEMETRY}


class Pipelines:
    """Every pipeline by id and by name; each change makes a revision and a new generation."""

    def __init__(self, pipelines: Iterable[Pipeline], revisions: Iterable[Revision]) -> None:
        self._by_id = {each.id: each for each in pipelines}
        self._by_name = {each.name: each.id for each in self._by_id.values()}
        self._revisions: dict[str, list[Revision]] = {}
        for revision in sorted(revisions, key=lambda each: int(each.revision_id)):
            self._revisions.setdefault(revision.snapshot.id, []).append(revision)
        gone = (each for each in self._revisions.items() if each[0] not in self._by_id)
        self._deleted = [key for key, _ in sorted(gone, key=lambda each: _get_age(each[1]))]
        """Ids of deleted pipelines that have revisions, in the order of their deletion."""
        self._next_id = 1 + max((int(key) for key in self._list_known_ids()), default=0)
        self._next_revision = 1 + max(
            (int(each.revision_id) for each in self.list_revisions()), default=0
        )
        self.index: MatchIndex[Pipeline] = MatchIndex()
        self.candidates: dict[str, Candidate] = {}
        """The candidates of pipelines that are being rolled out, by the pipeline's id."""
        for pipeline in self._by_id.values():
            self._index(pipeline)
        self._waiting = asyncio.Event()
        self.generation = 1
        """Increases with every change; what was computed for an older generation is stale."""

    async def wait_changed(self, generation: int) -> int:
        """Wait until the generation is another one; returns it."""
        while self.generation == generation:
            await self._waiting.wait()
        return self.generation

    def _list_known_ids(self) -> set[str]:
        return set(self._by_id) | set(self._revisions)

    def find(self, identity: str) -> Pipeline | None:
        """One pipeline, or None."""
        return self._by_id.get(identity)

    def get(self, identity: str) -> Pipeline:
        """One pipeline. Raises `not_found`."""
        if identity not in self._by_id:
            raise not_found("pipeline", identity)
        return self._by_id[identity]

    def find_by_name(self, name: str) -> Pipeline | None:
        """The pipeline of a name."""
        identity = self._by_name.get(name)
        return self._by_id[identity] if identity is not None else None

    def list_all(self) -> list[Pipeline]:
        """Every pipeline, by name."""
        return sorted(self._by_id.values(), key=lambda each: each.name)

    def list_revisions(self, identity: str | None = None) -> list[Revision]:
        """The revisions of one pipeline, or of all, oldest first."""
        if identity is not None:
            return list(self._revisions.get(identity, ()))
        found = [each for listed in self._revisions.values() for each in listed]
        return sorted(found, key=lambda each: int(each.revision_id))

    def plan_create(self, message: Mapping[str, Any], now: str) -> Pipeline:
        """The pipeline a create would store. Raises `already_exists` for a taken name."""
        wanted = _validate(message)
        if self.find_by_name(wanted.name) is not None:
            raise FleetError(Code.ALREADY_EXISTS, f"pipeline {wanted.name!r} already exists")
        return self._build_new(wanted, now)

    def _build_new(self, wanted: Pipeline, now: str) -> Pipeline:
        return msgspec.structs.replace(
            wanted, id=str(self._next_id), created_at=now, updated_at=now
        )

    def plan_update(self, message: Mapping[str, Any], now: str) -> Pipeline:
        """The pipeline an update would store: everything the message leaves out is cleared."""
        current = self.get(str(message.get("id") or ""))
        wanted = _validate(message)
        taken = self.find_by_name(wanted.name)
        if taken is not None and taken.id != current.id:
            raise FleetError(Code.ALREADY_EXISTS, f"pipeline {wanted.name!r} already exists")
        return _build_update(current, wanted, now)

    def plan_upsert(self, message: Mapping[str, Any], now: str) -> Pipeline:
        """The pipeline an upsert would store: keyed by name."""
        return self.plan_checked(_validate_upsert(message), now)

    def plan_checked(self, wanted: Pipeline, now: str) -> Pipeline:
        """The pipeline an upsert of one from `check_upsert_in_thread` would store."""
        current = self.find_by_name(wanted.name)
        if current is None:
            return self._build_new(wanted, now)
        return _build_update(current, wanted, now)

    def store(self, pipeline: Pipeline, now: str) -> Revision | None:
        """Make a planned pipeline the current one; None if nothing changes."""
        before = self._by_id.get(pipeline.id)
        if before == pipeline:
            return None
        if before is not None and before.name != pipeline.name:
            del self._by_name[before.name]
        self._by_id[pipeline.id] = pipeline
        self._by_name[pipeline.name] = pipeline.id
        self._next_id = max(self._next_id, int(pipeline.id) + 1)
        self._index(pipeline)
        return self._record(pipeline, "INSERT" if before is None else "UPDATE", now)

    def remove(self, identity: str, now: str) -> Revision:
        """Delete a pipeline; its last revision records the deletion. Raises `not_found`."""
        pipeline = self.get(identity)
        del self._by_id[identity]
        del self._by_name[pipeline.name]
        self._unindex(identity)
        self._deleted.append(identity)
        return self._record(pipeline, "DELETE", now)

    def _index(self, pipeline: Pipeline) -> None:
        """Add a pipeline to the index, and its candidate as a second pipeline."""
        self._unindex(pipeline.id)
        self.index.put(pipeline)
        candidate = read_candidate(pipeline)
        if candidate is not None:
            self.candidates[pipeline.id] = candidate
            self.index.put(candidate.pipeline)

    def _unindex(self, identity: str) -> None:
        self.index.remove(identity)
        self.index.remove(f"{identity}{SUFFIX}")
        self.candidates.pop(identity, None)

    def list_stale_revisions(self, identity: str) -> list[Revision]:
        """Drop revisions over the limit; returns them, so that the caller deletes them on disk."""
        listed = self._revisions.get(identity, [])
        stale, self._revisions[identity] = listed[:-KEPT_REVISIONS], listed[-KEPT_REVISIONS:]
        return stale

    def drop_deleted(self) -> list[Revision]:
        """Drop the revisions of pipelines deleted long ago; the caller deletes them on disk.

        Those of the highest id stay, so that it is not given again after a restart.
        """
        last = str(self._next_id - 1)
        old = [each for each in self._deleted[:-KEPT_DELETED] if each != last]
        if not old:
            return []
        dropped = [revision for each in old for revision in self._revisions.pop(each)]
        self._deleted = [each for each in self._deleted if each in self._revisions]
        return dropped

    def _record(self, pipeline: Pipeline, operation: str, now: str) -> Revision:
        revision = Revision(
            revision_id=str(self._next_revision),
            operation=operation,
            created_at=now,
            snapshot=pipeline,
        )
        self._next_revision += 1
        self.generation += 1
        waiting, self._waiting = self._waiting, asyncio.Event()
        waiting.set()
        self._revisions.setdefault(pipeline.id, []).append(revision)
        return revision


def _get_age(revisions: list[Revision]) -> int:
    return int(revisions[-1].revision_id)


def _build_update(current: Pipeline, wanted: Pipeline, now: str) -> Pipeline:
    """The next state of a pipeline; the same object if nothing would change."""
    kept = msgspec.structs.replace(
        wanted,
        id=current.id,
        created_at=current.created_at,
        updated_at=current.updated_at,
        revision=current.revision,
    )
    if kept == current:
        return current
    return msgspec.structs.replace(kept, updated_at=now, revision=current.revision + 1)


async def check_contents_in_thread(message: Mapping[str, Any]) -> None:
    """Check large contents in a thread, also of a candidate; the following plan uses the cache."""
    language = _LANGUAGES[_read_config_type(message)]
    for text in (str(message.get("contents") or ""), candidates.get_text(message)):
        if len(text) <= MAX_CONTENTS:
            await contents.check_in_thread(text, language)


async def check_upsert_in_thread(message: Mapping[str, Any]) -> Pipeline:
    """The pipeline that an upsert wants, for a plan of many: the cache does not hold all of them.

    Raises:
        FleetError: `invalid_argument` naming the field.
    """
    await check_contents_in_thread(message)
    return _validate_upsert(message)


def _validate_upsert(message: Mapping[str, Any]) -> Pipeline:
    if message.get("id"):
        raise invalid("an upsert is keyed by name; leave out id")
    return _validate(message)


def _read_config_type(message: Mapping[str, Any]) -> str:
    config_type = str(message.get("configType") or ALLOY)
    return config_type if config_type in _LANGUAGES else ALLOY


def _validate(message: Mapping[str, Any]) -> Pipeline:
    """A pipeline from a message. Raises `invalid_argument` naming the field."""
    name = str(message.get("name") or "")
    if not name or len(name) > MAX_NAME:
        raise invalid(f"name must have 1 to {MAX_NAME} characters")
    text = str(message.get("contents") or "")
    if len(text) > MAX_CONTENTS:
        raise invalid(f"contents must have at most {MAX_CONTENTS} characters")
    config_type = _read_config_type(message)
    problems = select_errors(contents.check(text, _LANGUAGES[config_type]))
    if problems:
        raise invalid(f"contents: {problems[0]}")
    pipeline = Pipeline(
        id="0",
        name=name,
        contents=text,
        matchers=_check_matchers(message.get("matchers") or ()),
        enabled=bool(message.get("enabled", True)),
        config_type=config_type,
        source=message.get("source"),
        metadata=message.get("metadata"),
    )
    check_candidate(pipeline)
    return pipeline


def _check_matchers(texts: Iterable[str]) -> tuple[str, ...]:
    listed = tuple(texts)
    if len(listed) > MAX_MATCHERS:
        raise invalid(f"matchers: at most {MAX_MATCHERS}, not {len(listed)}")
    try:
        parse_all(listed)
    except MatcherError as error:
        raise invalid(f"matchers: {error}") from error
    return listed
