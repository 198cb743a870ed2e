"""The reconciler of PipelineSet: all pipelines of a source in one call, or none of them.

SyncPipelines takes over pipelines by name and deletes what a source no longer lists, without any
check. So its effects are computed first, and nothing is sent if the spec does not allow one of
them.
"""

from collections.abc import Sequence
from typing import Any

from quarterdeck.apis.fleetmanagement.pipeline_set import MemberStatus
from quarterdeck.apis.fleetmanagement.v1alpha1 import FORCE_DELETE, Pipeline, PipelineSet
from quarterdeck.kit import rfc3339
from quarterdeck.kit.plural import format_count
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.operators.pipelines import drift
from quarterdeck.operators.pipelines.conditions import READY, SYNCED, Reason
from quarterdeck.operators.pipelines.desired import (
    CANDIDATE_SECRET,
    OWNER,
    ROLLOUT,
    SECRET,
    Desired,
    choose_name,
)
from quarterdeck.operators.pipelines.failures import (
    hide_message,
    to_reconcile_error,
    to_unavailable,
)
from quarterdeck.operators.pipelines.fleet_server import Fleet
from quarterdeck.operators.pipelines.fleets import UNUSABLE_RETRY_S, Fleets
from quarterdeck.operators.pipelines.pipeline import find_set, get_annotation
from quarterdeck.operators.pipelines.ports import CallFailed, Paused, Remote
from quarterdeck.operators.pipelines.removal import find_left_out
from quarterdeck.operators.pipelines.set_members import (
    MAX_SHOWN,
    Member,
    collect_members,
    get_source,
    hash_members,
    names_source,
)
from quarterdeck.operators.pipelines.set_plan import (
    KnownConnections,
    SyncPlan,
    choose_owner,
    describe_source,
    holds_source,
    plan_sync,
)
from quarterdeck.runtime import Context, RequeueAfter, Stalled, Waiting


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
        await self._ensure_source(set_, fleet, ctx)
        try:
            await self._sync(set_, members, fleet, ctx)
        except (CallFailed, Paused) as error:
            raise to_reconcile_error(error) from error
        return RequeueAfter(fleet.address.interval_s)

    async def _ensure_source(
        self, set_: PipelineSet, fleet: Fleet, ctx: Context[PipelineSet]
    ) -> None:
        """Refuse if another set has the source: each would delete the pipelines of the other.

        A set that lost its source forgets that it was synced, so that its own deletion deletes
        nothing of the owner's. One that comes from another server has still to clean up there.

        Raises:
            Waiting: until the other set is gone, or its connection is one to another server.
        """
        rivals = await self._list_rivals(set_, fleet, ctx)
        connections = await self._find_connections([set_, *rivals], fleet, ctx)
        owner = choose_owner([set_, *rivals], connections)
        if owner.key == set_.key:
            return
        if set_.status.connection in connections.here:
            ctx.status.set(applied_hash="", applied_source="")
        raise Waiting(
            Reason.NAME_CONFLICT,
            f"spec.source: {set_.spec.source.type} source {set_.spec.source.namespace!r} is "
            f"already used by PipelineSet {owner.key}, and a source has one set: choose another "
            "spec.source.namespace, or delete one of the two",
            after_s=fleet.address.interval_s,
        )

    async def _list_rivals(
        self, set_: PipelineSet, fleet: Fleet, ctx: Context[PipelineSet]
    ) -> list[PipelineSet]:
        """The other sets of the same source on a server."""
        others = [each for each in await ctx.list(PipelineSet) if each.key != set_.key]
        alike = [each for each in others if get_source(each) == get_source(set_)]
        return [each for each in alike if await self._fleets.is_tenant_of(each, fleet, ctx)]

    async def _find_connections(
        self, sets: Sequence[PipelineSet], fleet: Fleet, ctx: Context[PipelineSet]
    ) -> KnownConnections:
        """Which connections that sets were sent through are those to a server."""
        unknown = set()
        for name in {each.status.connection for each in sets} - {""}:
            try:
                is_known = await self._fleets.find_named(name, ctx) is not None
            except Stalled:
                is_known = False
            if not is_known:
                unknown.add(name)
        here = self._fleets.list_names(fleet.address.tenant) | {""}
        return KnownConnections(here, frozenset(unknown))

    async def _sync(
        self,
        set_: PipelineSet,
        members: Sequence[Member],
        fleet: Fleet,
        ctx: Context[PipelineSet],
    ) -> None:
        listed = await fleet.api.list()
        claimed = await self._list_claimed(set_, fleet, ctx)
        try:
            planned = plan_sync(set_, members, listed, claimed=claimed)
        except Stalled as error:  # the server may change meanwhile, and nothing tells when
            after_s = fleet.address.interval_s
            raise Waiting(error.reason, error.message, after_s=after_s) from error
        ctx.status.set(total=len(members))
        _set_members(members, listed, ctx)
        if planned.is_needed:
            await _check_list(set_, listed, fleet)
            allow_empty = set_.spec.allow_empty
            await _sync(set_, planned.members, planned.kept, fleet, allow_empty=allow_empty)
            listed = await fleet.api.list()
            _set_members(members, listed, ctx)
            for each in listed:
                if each.is_secret:
                    fleet.record_write(each)  # known before the next sweep, so that it is hidden
            ctx.status.set(
                last_sync_time=rfc3339.format_time(ctx.now()),
                deletions=tuple(each.name for each in planned.deletions),
            )
            ctx.event(Reason.SYNCED, _describe(planned))
        await self._report_move(set_, fleet, ctx)
        ctx.status.set(
            applied_hash=hash_members(members),
            applied_source=describe_source(set_),
            connection=fleet.name,  # only now: until then a deletion cleans up the one before
        )
        missing = [each for each in ctx.status.current.members if each.state != "Synced"]
        if missing:
            names = ", ".join(each.name for each in missing[:MAX_SHOWN])
            text = f"the server accepted the set, but does not list these pipelines: {names}"
            raise Waiting(Reason.SYNC_FAILED, text, after_s=30.0)
        text = f"the server has {format_count(len(members), 'pipeline')} as in the set"
        ctx.status.set_condition(READY, TRUE, Reason.SYNCED, text)
        ctx.status.set_condition(SYNCED, TRUE, Reason.SYNCED, text)

    async def _report_move(
        self, set_: PipelineSet, fleet: Fleet, ctx: Context[PipelineSet]
    ) -> None:
        """Record an event if the set was on another server before: its pipelines remain there.

        Another set may have the source there by now, so nothing is deleted.
        """
        before = set_.status.connection
        connections = await self._find_connections([set_], fleet, ctx)
        if not set_.status.applied_hash or before in connections.here:
            return
        text = f"the pipelines of the set remain on the server of {before}: delete them there"
        if before in connections.unknown:
            text = (
                f"the set was sent through FleetConnection {before} before, which is gone or "
                "cannot be used: if that was another server, delete the pipelines there"
            )
        ctx.event(Reason.ORPHANED, text, warning=True)

    async def _list_claimed(
        self, set_: PipelineSet, fleet: Fleet, ctx: Context[PipelineSet]
    ) -> frozenset[str]:
        """The names of Pipelines that name this source but are not sent by a set.

        A sync would delete them, and their own reconcile would create them again.
        """
        found = set()
        for each in await ctx.list(Pipeline):
            if each.is_deleting or not names_source(each, get_source(set_)):
                continue
            if await find_set(each, ctx) is None and await self._fleets.is_tenant_of(
                each, fleet, ctx
            ):
                found.add(choose_name(each))
        return frozenset(found)

    async def delete(self, set_: PipelineSet, ctx: Context[PipelineSet]) -> None:
        """Delete the pipelines of the source, unless annotation or deletion policy keep them.

        Without `prune` only those of the set: others of the source were never deleted before.
        Nothing is deleted if another set has the source by now, as after a move of this one.
        """
        is_forced = get_annotation(set_.metadata.annotations, FORCE_DELETE) == "true"
        was_sent = bool(set_.status.applied_hash) and (
            set_.status.applied_source in ("", describe_source(set_))
        )
        if is_forced or set_.spec.deletion_policy == "Orphan" or not was_sent:
            return
        fleet = await self._find_fleet(set_, ctx)
        rivals = await self._list_rivals(set_, fleet, ctx)
        connections = await self._find_connections(rivals, fleet, ctx)
        if any(holds_source(each, connections.here) for each in rivals):
            return
        try:
            claimed = await self._list_claimed(set_, fleet, ctx)
            source, sent = get_source(set_), {each.name for each in set_.status.members}
            must_list = claimed or not set_.spec.prune
            kept = [
                each
                for each in (await fleet.api.list() if must_list else ())
                if each.has_source(source)
                and (each.name in claimed or not (set_.spec.prune or each.name in sent))
            ]
            await _sync(set_, (), kept, fleet, allow_empty=True)
        except (CallFailed, Paused) as error:
            raised = to_reconcile_error(error)
            if isinstance(raised, Stalled) and isinstance(error, CallFailed):
                raised = to_unavailable(error)
            raise raised from error

    async def _find_fleet(self, set_: PipelineSet, ctx: Context[PipelineSet]) -> Fleet:
        """The server of a deleted set. Raises `Waiting` if it cannot be known any more."""
        fleet = await self._fleets.find_sent_to(set_, ctx)
        if fleet is None:
            raise Waiting(
                Reason.NO_CONNECTION,
                f"cannot delete the pipelines of the set: FleetConnection "
                f"{set_.status.connection!r} does not exist",
                after_s=UNUSABLE_RETRY_S,
            )
        return fleet


async def _check_list(set_: PipelineSet, listed: Sequence[Remote], fleet: Fleet) -> None:
    """Raises `Waiting` if the sync would delete pipelines that the list left out."""
    if (name := await find_left_out(fleet.api, listed, get_source(set_))) is not None:
        text = (
            f"the server does not list pipeline {name!r} of this source, although it exists: "
            "nothing is sent, because the sync would delete it"
        )
        raise Waiting(Reason.SYNC_FAILED, text, after_s=30.0)


async def _sync(
    set_: PipelineSet,
    members: Sequence[Desired],
    kept: Sequence[Remote],
    fleet: Fleet,
    *,
    allow_empty: bool,
) -> None:
    """Replace the pipelines of the source.

    Raises:
        CallFailed, Paused: if the call fails; no message of the server repeats a Secret.
    """
    messages = [*(each.to_message() for each in members), *map(_keep, kept)]
    try:
        await fleet.api.sync(get_source(set_), messages, allow_empty=allow_empty)
    except CallFailed as error:
        if not (any(each.is_secret for each in members) or any(map(_has_secret, kept))):
            raise
        raise hide_message(error, "a Secret") from None


def _has_secret(remote: Remote) -> bool:
    """Whether a pipeline that is kept has text of a Secret, in its contents or its candidate."""
    return remote.is_secret or (remote.rollout or {}).get(CANDIDATE_SECRET) is True


def _keep(remote: Remote) -> dict[str, Any]:
    return {
        "name": remote.name,
        "contents": remote.contents,
        "matchers": list(remote.matchers),
        "enabled": remote.enabled,
        "configType": remote.config_type,
        "metadata": _keep_metadata(remote),
    }


def _keep_metadata(remote: Remote) -> dict[str, Any]:
    """Our metadata of a pipeline that is kept: a sync clears what the message leaves out."""
    metadata: dict[str, Any] = {OWNER: remote.owner} if remote.owner else {}
    if remote.rollout is not None:
        metadata[ROLLOUT] = dict(remote.rollout)
    if remote.is_secret:
        metadata[SECRET] = True
    return metadata


def _set_members(
    members: Sequence[Member], listed: Sequence[Remote], ctx: Context[PipelineSet]
) -> None:
    by_name = {each.name: each for each in listed}
    found = []
    for member in sorted(members, key=lambda each: each.desired.name):
        remote = by_name.get(member.desired.name)
        state = "Missing"
        if remote is not None:
            state = "Differs" if drift.find_differences(member.desired, remote) else "Synced"
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
    sent = format_count(len(planned.members), "pipeline")
    text = f"sent {sent}, {len(planned.differing)} of them changed"
    if planned.deletions:
        names = ", ".join(each.name for each in planned.deletions[:MAX_SHOWN])
        text = f"{text}; deleted {names}"
    return text
