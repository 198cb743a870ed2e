"""The status after each outcome; the only module that sets conditions of a Pipeline."""

from collections.abc import Sequence
from typing import Any

from quarterdeck.apis.fleetmanagement.pipeline_set import MemberStatus
from quarterdeck.apis.fleetmanagement.rollout import Delivery
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    FORCE_DELETE,
    Collector,
    Pipeline,
    PipelineSet,
    PipelineSource,
)
from quarterdeck.kit.redaction import redact
from quarterdeck.meta.conditions import FALSE, TRUE, Condition, Status, find
from quarterdeck.operators.pipelines import plan
from quarterdeck.operators.pipelines.blast_radius import Impact
from quarterdeck.operators.pipelines.conditions import (
    DELIVERED,
    DRIFTED,
    READY,
    ROLLOUT,
    SYNCED,
    VALID,
    Reason,
)
from quarterdeck.operators.pipelines.fleet_server import Fleet
from quarterdeck.operators.pipelines.ports import PipelineDelivery, Remote
from quarterdeck.operators.pipelines.rollout import Decision
from quarterdeck.operators.pipelines.sync_target import SyncTarget
from quarterdeck.runtime import Context, Stalled, Waiting
from quarterdeck.wire.status import Conflict

_SOURCES = {
    "SOURCE_TYPE_GIT": "Git",
    "SOURCE_TYPE_TERRAFORM": "Terraform",
    "SOURCE_TYPE_GRAFANA": "Grafana",
}
_MAX_MESSAGE = 4096
_FORCE = f"to delete without the server, annotate with {FORCE_DELETE}=true"
_CLEANED_UP = (Collector, PipelineSet)
"""Kinds, besides Pipeline, whose deletion waits for a server."""


def set_synced(
    target: SyncTarget, remote: Remote | None, ctx: Context[Pipeline], *, drift: str = ""
) -> None:
    """Set the conditions of a synced pipeline; `remote` is None if its state is not known.

    `drift` is a warning that the pipeline is corrected repeatedly; empty if it is not.
    """
    if remote is not None:
        _set_remote(remote, target.fleet, ctx)
    ctx.status.set(applied_hash=target.desired.hash, preview="")
    identity = remote.id if remote is not None else target.pipeline.status.id
    ctx.status.set_condition(
        READY, TRUE, Reason.SYNCED, "the pipeline is synced to the fleet server"
    )
    ctx.status.set_condition(SYNCED, TRUE, Reason.SYNCED, f"pipeline {identity} matches the spec")
    _set_drift(drift, ctx)
    if find(ctx.status.conditions, VALID) is not None:
        ctx.status.remove_condition(VALID)


def _set_drift(text: str, ctx: Context[Pipeline]) -> None:
    if text:
        ctx.status.set_condition(DRIFTED, TRUE, Reason.DRIFTED, text)
    elif find(ctx.status.conditions, DRIFTED) is not None:
        ctx.status.set_condition(DRIFTED, FALSE, Reason.IN_SYNC)


def set_rollout(decision: Decision, ctx: Context[Pipeline]) -> None:
    """Set the progress of a rollout; sends an event when its phase, step or candidate changes."""
    status = decision.status
    before = ctx.status.current.rollout
    ctx.status.set(rollout=status)
    if status is None:
        if find(ctx.status.conditions, ROLLOUT) is not None:
            ctx.status.remove_condition(ROLLOUT)
        return
    is_done = status.phase == "Promoted"
    text = status.message or f"step {status.step + 1} of {status.steps}, {status.weight} %"
    if is_done:
        text = "every collector receives the configuration"
    reason = Reason(status.phase)
    ctx.status.set_condition(ROLLOUT, TRUE if is_done else FALSE, reason, text)
    was = (before.phase, before.step, before.candidate) if before is not None else None
    if was != (status.phase, status.step, status.candidate):
        ctx.event(reason, text, warning=reason is Reason.ROLLED_BACK)


def set_delivery(
    delivery: PipelineDelivery | None, target: SyncTarget, ctx: Context[Pipeline]
) -> None:
    """Set the delivery in the status: reports of collectors, summed over all texts."""
    if delivery is None:
        return
    parts = [
        each if target.is_public_text(each.digest) else each.hide_messages()
        for each in delivery.parts
    ]
    found = Delivery(
        assigned=sum(each.assigned for each in parts),
        applied=sum(each.applied for each in parts),
        applying=sum(each.applying for each in parts),
        failed=sum(each.failed for each in parts),
        stale=sum(each.stale for each in parts),
        failures=tuple(redact(text) for each in parts for text in each.failures)[:10],
        conflicts=delivery.conflicts,
    )
    ctx.status.set(delivery=found)
    ctx.status.set_condition(DELIVERED, *_build_condition(found))


def _build_condition(found: Delivery) -> tuple[Status, str, str]:
    counts = f"{found.applied} of {found.assigned} collectors run it"
    if found.conflicts:
        names = ", ".join(found.conflicts)
        text = f"conflicts with {names}: use unique component ids, such as metrics/NAME"
        return FALSE, Reason.MERGE_CONFLICT, text
    if found.failed:
        text = f"{counts}; {found.failed} failed: {'; '.join(found.failures[:3])}"
        return FALSE, Reason.DELIVERY_FAILED, text[:_MAX_MESSAGE]
    if not found.assigned:
        return FALSE, Reason.NO_MATCH, "no collector satisfies the matchers"
    if found.applied < found.assigned:
        rest = f"{found.applying} have not reported, {found.stale} have not requested it"
        return FALSE, Reason.APPLYING, f"{counts}; {rest}"
    return TRUE, Reason.APPLIED, counts


def record_change(why: Reason, detail: str, ctx: Context[Pipeline]) -> None:
    """Record an event for a change on the server."""
    is_warning = why in (Reason.RECREATED, Reason.CORRECTED)
    identity = ctx.status.current.id
    text = f"pipeline {identity}" + (f": {detail}" if detail else "")
    ctx.event(why, text, warning=is_warning)


def set_drifted(fields: tuple[str, ...], ctx: Context[Pipeline]) -> None:
    """Set the Drifted condition for a change on the server that is not corrected."""
    text = f"changed on the server: {', '.join(fields)}; not corrected because driftPolicy is Warn"
    ctx.status.set_condition(DRIFTED, TRUE, Reason.DRIFTED, text)
    ctx.status.set_condition(SYNCED, FALSE, Reason.DRIFTED, text)
    if plan.DELETED in fields:
        ctx.status.set_condition(READY, FALSE, Reason.DRIFTED, text)
    before, _ = ctx.status.get_transition(DRIFTED)
    if before is None or before.status != TRUE:
        ctx.event(Reason.DRIFTED, text, warning=True)


def set_mirrored(remote: Remote, fleet: Fleet, ctx: Context[Pipeline]) -> None:
    """Set the conditions of a read-only pipeline."""
    _set_remote(remote, fleet, ctx)
    text = f"pipeline {remote.id} is read-only and never written"
    ctx.status.set_condition(READY, TRUE, Reason.READ_ONLY, text)
    ctx.status.set_condition(SYNCED, TRUE, Reason.READ_ONLY, text)


def set_in_set(set_: PipelineSet, pipeline: Pipeline, ctx: Context[Pipeline]) -> None:
    """Set the conditions of a pipeline that a set sends: those of the set's member."""
    member = _find_member(set_, pipeline)
    is_synced = is_sent_by(set_, pipeline)
    text = f"sent by PipelineSet {set_.metadata.name}"
    if member is not None and is_synced:
        ctx.status.set(id=member.id, name=member.name, connection=set_.status.connection)
    else:
        text = f"{text}, which has not synced it yet: see its conditions"
    for type_ in (READY, SYNCED):
        ctx.status.set_condition(type_, TRUE if is_synced else FALSE, Reason.IN_SET, text)


def is_sent_by(set_: PipelineSet, pipeline: Pipeline) -> bool:
    """Whether the server has a pipeline as its set wants it."""
    member = _find_member(set_, pipeline)
    return member is not None and member.state == "Synced"


def _find_member(set_: PipelineSet, pipeline: Pipeline) -> MemberStatus | None:
    origin = str(pipeline.key)
    return next((each for each in set_.status.members if each.pipeline == origin), None)


def set_suspended(pipeline: Pipeline, ctx: Context[Pipeline]) -> None:
    """Set the conditions of a paused pipeline: whether changes are pending."""
    said = find(pipeline.status.conditions, SYNCED)
    is_current = said is not None and said.observed_generation == pipeline.metadata.generation
    in_sync = is_current and plan.is_synced(pipeline.status)
    what = "no changes are pending" if in_sync else "pending changes are not sent"
    text = f"spec.paused is true: {what}"
    ctx.status.set_condition(READY, TRUE if in_sync else FALSE, Reason.SUSPENDED, text)
    ctx.status.set_condition(SYNCED, TRUE if in_sync else FALSE, Reason.SUSPENDED, text)


def set_previewed(text: str, impact: Impact | None, ctx: Context[Pipeline]) -> None:
    """Set status and conditions after a successful dry run."""
    ctx.status.set(preview=text, impact=impact.summarize() if impact is not None else None)
    ctx.status.set_condition(
        VALID, TRUE, Reason.VALID, "the fleet server would accept the pipeline"
    )
    why = "dry-run annotation is set: nothing was written, see status.preview"
    ctx.status.set_condition(READY, FALSE, Reason.DRY_RUN, why)
    ctx.status.set_condition(SYNCED, FALSE, Reason.DRY_RUN, why)


def report_error(ctx: Context[Pipeline], error: Exception) -> str:
    """Set the conditions of a failed reconcile; returns the reason."""
    if isinstance(error, Conflict):
        return ""  # a concurrent write; the retry reads the new version
    reason: str = Reason.SYNC_FAILED
    message = redact(str(error))[:_MAX_MESSAGE]
    if isinstance(error, Stalled | Waiting):
        reason, message = error.reason, redact(error.message)[:_MAX_MESSAGE]
    if ctx.obj.is_deleting:
        message = f"{message}; {_FORCE}"
        reason = reason if reason == Reason.RATE_LIMITED else Reason.DELETE_FAILED
    ctx.status.set_condition(READY, FALSE, reason, message)
    ctx.status.set_condition(SYNCED, FALSE, reason, message)
    if reason == Reason.VALIDATION_ERROR and find(ctx.status.conditions, VALID) is not None:
        ctx.status.set_condition(VALID, FALSE, reason, message)
    _record_new(ctx, SYNCED, reason, message)
    return reason


def report_failure(
    ctx: Context[Any], error: Exception, types: Sequence[str] = (READY, SYNCED)
) -> None:
    """Set these conditions to False for a failed reconcile; sends an event for a new cause.

    For kinds without phases of their own: connections, sets, and what is about collectors.
    """
    reason, message = str(Reason.SYNC_FAILED), str(error)
    if isinstance(error, Stalled | Waiting):
        reason, message = error.reason, error.message
    if ctx.obj.is_deleting and isinstance(ctx.obj, _CLEANED_UP):
        message = f"{message}; {_FORCE}"
    for type_ in types:
        ctx.status.set_condition(type_, FALSE, reason, message)
    _record_new(ctx, READY, reason, message)


def _record_new(ctx: Context[Any], type_: str, reason: str, message: str) -> None:
    """Record an event, unless the condition had the same reason and message before."""
    before, _ = ctx.status.get_transition(type_)
    if before is None or (before.reason, before.message) != (reason, message):
        ctx.event(reason, message, warning=True)


def get_current_condition(pipeline: Pipeline, type_: str) -> Condition | None:
    """A condition, if it was set for the current generation."""
    found = find(pipeline.status.conditions, type_)
    is_current = found is not None and found.observed_generation == pipeline.metadata.generation
    return found if is_current else None


def _set_remote(remote: Remote, fleet: Fleet, ctx: Context[Pipeline]) -> None:
    before = ctx.status.current
    is_same = (before.id, before.updated_at) == (remote.id, remote.updated_at)
    revision = fleet.view.get_revision(remote.id) or (before.revision_id if is_same else "")
    ctx.status.set(
        id=remote.id,
        name=remote.name,
        created_at=remote.created_at,
        updated_at=remote.updated_at,
        revision_id=revision,
        connection=fleet.name,
        source=PipelineSource(
            type=_SOURCES.get(remote.source_type, "Unspecified"),  # type: ignore[arg-type]
            namespace=remote.source_namespace,
        ),
    )
