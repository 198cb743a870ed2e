"""The reconciler of PipelineSet: all pipelines of a source in one call, or none of them.

SyncPipelines takes over pipelines by name and deletes what a source no longer lists, without asking
anybody. So everything it would do is worked out first, and refused as a whole where the spec does
not allow it.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from quarterdeck.apis.fleetmanagement.pipeline_set import MemberStatus
from quarterdeck.apis.fleetmanagement.v1alpha1 import FORCE_DELETE, Pipeline, PipelineSet
from quarterdeck.kit import json, rfc3339
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.operators.pipelines import drift
from quarterdeck.operators.pipelines.conditions import READY, SYNCED, Reason
from quarterdeck.operators.pipelines.desired import (
    CONFIG_TYPES,
    SOURCE_TYPES,
    Contents,
    Desired,
    effective_name,
    find_isolation_problems,
    find_problems,
    prepare_contents,
)
from quarterdeck.operators.pipelines.failures import to_reconcile_error, to_unavailable
from quarterdeck.operators.pipelines.fleets import Fleet, Fleets
from quarterdeck.operators.pipelines.pipeline import annotation, is_member
from quarterdeck.operators.pipelines.ports import CallFailed, Paused, Remote
from quarterdeck.operators.pipelines.references import read_contents
from quarterdeck.operators.pipelines.removal import find_left_out
from quarterdeck.runtime import Context, RequeueAfter, Stalled, Waiting

MAX_SHOWN = 10


class Member(NamedTuple):
    """One pipeline of a set, and the object it comes from."""

    desired: Desired
    origin: str = ""
    uid: str = ""


class SyncPlan(NamedTuple):
    """What one call would do."""

    members: tuple[Desired, ...]
    kept: tuple[Remote, ...]
    """Pipelines of the source that are listed only so that they stay."""
    deletions: tuple[Remote, ...]
    differing: tuple[str, ...]

    @property
    def is_needed(self) -> bool:
        """Whether the server has something else than the set."""
        return bool(self.differing or self.deletions)


class PipelineSets:
    """Reconciles PipelineSets."""

    def __init__(self, fleets: Fleets) -> None:
        self._fleets = fleets

    async def reconcile(self, set_: PipelineSet, ctx: Context[PipelineSet]) -> RequeueAfter | None:
        """Sync the set to its server and report each member."""
        if set_.spec.paused:
            for type_ in (READY, SYNCED):
                ctx.status.set_condition(
                    type_, FALSE, Reason.SUSPENDED, "spec.paused is true: nothing is sent"
                )
            return None
        members = await collect_members(set_, ctx)
        fleet = await self._fleets.get_fleet(set_, ctx)
        try:
            await self._sync(set_, members, fleet, ctx)
        except (CallFailed, Paused) as error:
            raise to_reconcile_error(error) from error
        return RequeueAfter(fleet.address.interval_s)

    async def _sync(
        self,
        set_: PipelineSet,
        members: Sequence[Member],
        fleet: Fleet,
        ctx: Context[PipelineSet],
    ) -> None:
        listed = await fleet.api.list()
        planned = plan_sync(set_, members, listed)
        ctx.status.set(total=len(members), connection=fleet.name)
        _set_members(members, listed, ctx)
        if planned.is_needed:
            await _check_list(set_, listed, fleet)
            await _send(set_, planned, fleet)
            listed = await fleet.api.list()
            _set_members(members, listed, ctx)
            ctx.status.set(
                last_sync_time=rfc3339.format_time(ctx.now()),
                deletions=tuple(each.name for each in planned.deletions),
            )
            ctx.event(Reason.SYNCED, _describe(planned))
        ctx.status.set(applied_hash=hash_members(members))
        missing = [each for each in ctx.status.current.members if each.state != "Synced"]
        if missing:
            names = ", ".join(each.name for each in missing[:MAX_SHOWN])
            text = f"the server accepted the set and does not have it: {names}"
            raise Waiting(Reason.SYNC_FAILED, text, after_s=30.0)
        text = f"{len(members)} pipelines match the set"
        ctx.status.set_condition(READY, TRUE, Reason.SYNCED, text)
        ctx.status.set_condition(SYNCED, TRUE, Reason.SYNCED, text)

    async def delete(self, set_: PipelineSet, ctx: Context[PipelineSet]) -> None:
        """Delete the pipelines of the source, unless they are to stay."""
        is_forced = annotation(set_.metadata.annotations, FORCE_DELETE) == "true"
        if is_forced or set_.spec.deletion_policy == "Orphan" or not set_.status.applied_hash:
            return
        try:
            fleet = await self._fleets.get_fleet(set_, ctx)
        except Stalled as error:
            raise Waiting(Reason.NO_CONNECTION, error.message, after_s=300.0) from error
        try:
            await fleet.api.sync(source_of(set_), (), allow_empty=True)
        except (CallFailed, Paused) as error:
            raised = to_reconcile_error(error)
            if isinstance(raised, Stalled) and isinstance(error, CallFailed):
                raised = to_unavailable(error)
            raise raised from error


async def collect_members(set_: PipelineSet, ctx: Context[Any]) -> list[Member]:
    """The pipelines of a set, each of them valid and named once.

    Raises:
        Stalled: naming what is wrong; nothing of the set is sent then.
    """
    members = (
        _inline_members(set_) if set_.spec.selector is None else await _selected_members(set_, ctx)
    )
    problems, seen = [], set()
    for member, found in members:
        problems += [f"{member.desired.name}: {text}" for text in found]
        if member.desired.name in seen:
            problems.append(f"{member.desired.name}: the name is there twice")
        seen.add(member.desired.name)
    if problems:
        raise Stalled(Reason.VALIDATION_ERROR, "; ".join(problems[:MAX_SHOWN]))
    if not members and not set_.spec.allow_empty:
        raise Stalled(
            Reason.EMPTY_SET,
            "the set has no pipelines, which would delete every pipeline of the source: "
            "set spec.allowEmpty if that is meant",
        )
    return [member for member, _ in members]


def _inline_members(set_: PipelineSet) -> list[tuple[Member, list[str]]]:
    found: list[tuple[Member, list[str]]] = []
    for each in set_.spec.pipelines:
        desired = _build(
            set_,
            Desired(
                name=each.name,
                contents=prepare_contents(each, each.contents, name=each.name),
                matchers=each.matchers,
                enabled=each.enabled,
                config_type=CONFIG_TYPES[each.config_type],
                source_type="",
                source_namespace="",
                owner="",
                hash="",
            ),
        )
        found.append((Member(desired), find_isolation_problems(each, each.name)))
    return found


async def _selected_members(set_: PipelineSet, ctx: Context[Any]) -> list[tuple[Member, list[str]]]:
    found = []
    for pipeline in await ctx.list(Pipeline, namespace=set_.metadata.namespace):
        if not is_member(pipeline, set_):
            continue
        contents = await read_contents(pipeline, ctx)
        desired = _build(set_, _describe_pipeline(pipeline, contents))
        member = Member(desired, str(pipeline.key), pipeline.metadata.uid)
        found.append((member, find_problems(pipeline, contents)))
    return sorted(found, key=lambda each: each[0].desired.name)


def _describe_pipeline(pipeline: Pipeline, contents: Contents) -> Desired:
    spec = pipeline.spec
    return Desired(
        name=effective_name(pipeline),
        contents=prepare_contents(spec, contents.text, name=effective_name(pipeline)),
        matchers=spec.matchers,
        enabled=spec.enabled,
        config_type=CONFIG_TYPES[spec.config_type],
        source_type="",
        source_namespace="",
        owner="",
        hash="",
    )


def _build(set_: PipelineSet, desired: Desired) -> Desired:
    source = source_of(set_)
    return desired._replace(
        matchers=tuple(dict.fromkeys((*set_.spec.matchers, *desired.matchers))),
        source_type=source["type"],
        source_namespace=source["namespace"],
        owner=set_.metadata.uid,
    )


def source_of(set_: PipelineSet) -> dict[str, str]:
    """The source whose pipelines the set owns."""
    source = set_.spec.source
    return {"type": SOURCE_TYPES[source.type], "namespace": source.namespace}


def plan_sync(set_: PipelineSet, members: Sequence[Member], listed: Sequence[Remote]) -> SyncPlan:
    """What one sync would do to a server. Pure.

    Raises:
        Stalled: if it would take over pipelines of others, or delete more than allowed.
    """
    source = tuple(source_of(set_).values())
    by_name = {each.name: each for each in listed}
    owners = {set_.metadata.uid, *(member.uid for member in members if member.uid)}
    foreign, differing = [], []
    for member in members:
        remote = by_name.get(member.desired.name)
        if remote is None or drift.differences(member.desired, remote):
            differing.append(member.desired.name)
        if remote is None:
            continue
        is_of_source = (remote.source_type, remote.source_namespace) == source
        if not is_of_source and remote.owner not in owners:
            foreign.append(f"{remote.name} (id {remote.id})")
        elif not is_of_source:
            differing.append(member.desired.name)
    if foreign:
        raise Stalled(
            Reason.ADOPTION_REFUSED,
            "the server has pipelines of these names that are not of this source: "
            f"{', '.join(foreign[:MAX_SHOWN])}; rename them, or delete them on the server",
        )
    names = {member.desired.name for member in members}
    rest = tuple(
        each
        for each in listed
        if (each.source_type, each.source_namespace) == source and each.name not in names
    )
    desired = tuple(member.desired for member in members)
    if not set_.spec.prune:
        return SyncPlan(desired, rest, (), tuple(dict.fromkeys(differing)))
    if len(rest) > set_.spec.max_deletions:
        shown = ", ".join(each.name for each in rest[:MAX_SHOWN])
        raise Stalled(
            Reason.TOO_MANY_DELETIONS,
            f"the sync would delete {len(rest)} pipelines, spec.maxDeletions is "
            f"{set_.spec.max_deletions}: {shown}; raise it, or set spec.prune to false",
        )
    return SyncPlan(desired, (), rest, tuple(dict.fromkeys(differing)))


async def _check_list(set_: PipelineSet, listed: Sequence[Remote], fleet: Fleet) -> None:
    """Raises `Waiting` if the sync would delete pipelines that the list left out."""
    source = tuple(source_of(set_).values())
    if (name := await find_left_out(fleet.api, listed, source)) is not None:
        text = (
            f"the server's list leaves out pipeline {name!r} of this source, which it has: nothing "
            "is sent, for the sync would delete it"
        )
        raise Waiting(Reason.SYNC_FAILED, text, after_s=30.0)


async def _send(set_: PipelineSet, planned: SyncPlan, fleet: Fleet) -> None:
    messages = [each.message() for each in planned.members]
    messages += [_keep(each) for each in planned.kept]
    await fleet.api.sync(source_of(set_), messages, allow_empty=set_.spec.allow_empty)


def _keep(remote: Remote) -> dict[str, Any]:
    return {
        "name": remote.name,
        "contents": remote.contents,
        "matchers": list(remote.matchers),
        "enabled": remote.enabled,
        "configType": remote.config_type,
    }


def _set_members(
    members: Sequence[Member], listed: Sequence[Remote], ctx: Context[PipelineSet]
) -> None:
    by_name = {each.name: each for each in listed}
    found = []
    for member in sorted(members, key=lambda each: each.desired.name):
        remote = by_name.get(member.desired.name)
        state = "Missing"
        if remote is not None:
            state = "Differs" if drift.differences(member.desired, remote) else "Synced"
        found.append(
            MemberStatus(
                name=member.desired.name,
                id=remote.id if remote is not None else "",
                state=state,  # type: ignore[arg-type]
                pipeline=member.origin,
            )
        )
    synced = sum(1 for each in found if each.state == "Synced")
    ctx.status.set(members=tuple(found), synced=synced)


def _describe(planned: SyncPlan) -> str:
    text = f"sent {len(planned.members)} pipelines, {len(planned.differing)} of them changed"
    if planned.deletions:
        names = ", ".join(each.name for each in planned.deletions[:MAX_SHOWN])
        text = f"{text}; deleted {names}"
    return text


def hash_members(members: Sequence[Member]) -> str:
    """Hash of everything a set sends."""
    document = [member.desired.message() for member in members]
    return hashlib.sha256(json.encode(document)).hexdigest()[:32]
