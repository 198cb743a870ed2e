"""Builds what is sent during a rollout: the stable text and the candidate.

The stable text is read from the server, because it is stored nowhere else. A new pipeline has none:
it is sent disabled, with an enabled candidate.
"""

import hashlib
from typing import Any, NamedTuple

import msgspec

from quarterdeck.apis.fleetmanagement.names import PROMOTE
from quarterdeck.apis.fleetmanagement.rollout import RolloutStep
from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline
from quarterdeck.kit import json
from quarterdeck.operators.pipelines import canary, rollout
from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.desired import (
    CANDIDATE_SECRET,
    Desired,
    may_be_secret,
    with_hash,
)
from quarterdeck.operators.pipelines.ports import CallFailed, Deliveries, PartDelivery, Remote
from quarterdeck.operators.pipelines.rollout import Decision, Observed, Send
from quarterdeck.operators.pipelines.sync_target import SyncTarget
from quarterdeck.runtime import Context, Waiting
from quarterdeck.telemetry.candidates import digest_contents
from quarterdeck.telemetry.fleet.codes import Code
from quarterdeck.telemetry.matchers import canonicalize

_FORGETFUL_RETRY_S = 30.0


class Staged(NamedTuple):
    """What to send now, and the decision of the rollout."""

    target: SyncTarget
    decision: Decision


async def stage(target: SyncTarget, ctx: Context[Pipeline]) -> Staged:
    """Build the target for the current state of a rollout.

    Raises:
        CallFailed, Paused: if the server cannot be read.
    """
    pipeline = target.pipeline
    if pipeline.spec.rollout is None or pipeline.spec.rollback_to:  # a way back takes no steps
        return Staged(target, Decision(Send.ALL, None))
    remote = await _find_stable(target)
    deliveries = await target.fleet.agents.get_deliveries()
    is_native = deliveries is not None and deliveries.can_roll_out
    _check_mechanism(pipeline, is_native=is_native)
    seen = Observed(
        candidate=hash_text(target.desired),
        stable=hash_text(remote) if remote is not None and _is_stable(target, remote) else "",
        now=ctx.now(),
        reports=_find_reports(target, remote, deliveries),
        doubt=_find_doubt(target, remote, deliveries) if is_native else "",
        approval=pipeline.metadata.annotations.get(PROMOTE, ""),
    )
    decision = rollout.decide(pipeline.spec.rollout, pipeline.status.rollout, seen)
    decision = _name_mechanism(decision, pipeline, is_native=is_native)
    staged = _build_target(target, remote, decision)
    if not is_native and not decision.must_be_recorded:
        await _ensure_divided(target, decision, seen.candidate)
    return Staged(staged, decision)


def _check_mechanism(pipeline: Pipeline, *, is_native: bool) -> None:
    """Wait if the server stopped dividing collectors itself: both mechanisms must not mix."""
    status = pipeline.status.rollout
    is_under_way = status is not None and status.phase not in ("Promoted", "RolledBack", "Direct")
    if is_under_way and status is not None and status.mechanism == "Native" and not is_native:
        raise Waiting(
            Reason.SYNC_FAILED,
            "the fleet server no longer reports support for staged rollouts; the rollout stays "
            "at its step",
            after_s=_FORGETFUL_RETRY_S,
        )


async def clean_up(target: SyncTarget, decision: Decision, ctx: Context[Pipeline]) -> None:
    """Remove the second pipeline of a rollout that is over, once the pipeline itself is sent.

    During a rollout, that of a former name is removed. The status alone does not tell: that of a
    rollout that was removed is gone although the pipeline could not be sent.
    """
    before, status = target.pipeline.status.rollout, decision.status
    desired, fleet = target.desired, target.fleet
    if decision.send is Send.STEP:
        keep = desired.name if status is not None and status.mechanism == "Matchers" else ""
        if canary.has_canaries(desired.owner, fleet, keep=keep):
            await canary.remove_canaries(keep, desired.owner, fleet, keep=keep)
        return
    was_divided = before is not None and before.mechanism == "Matchers"
    if not was_divided and not canary.has_canaries(desired.owner, fleet):
        return
    await canary.remove_canaries(desired.name, desired.owner, fleet)
    if decision.status is not None:
        ctx.status.set(rollout=msgspec.structs.replace(decision.status, mechanism=""))


def _name_mechanism(decision: Decision, pipeline: Pipeline, *, is_native: bool) -> Decision:
    """Set `mechanism` in the status; after a rollout it is kept until `clean_up` is done."""
    if decision.status is None:
        return decision
    before = pipeline.status.rollout
    mechanism: Any = "Native" if is_native else "Matchers"
    if decision.send is not Send.STEP:
        mechanism = before.mechanism if before is not None else ""
    status = msgspec.structs.replace(decision.status, mechanism=mechanism)
    return decision._replace(status=status)


async def _ensure_divided(target: SyncTarget, decision: Decision, candidate: str) -> None:
    """Send the candidate as a second pipeline, before the stable one excludes its collectors."""
    if decision.send is not Send.STEP:
        return
    assert target.pipeline.spec.rollout is not None
    step = target.pipeline.spec.rollout.steps[decision.step]
    await canary.ensure_canary(target.desired, step, candidate, target.fleet)


def hash_text(pipeline: Desired | Remote) -> str:
    """Hash what changes the delivery to collectors: contents, matchers, switch and type."""
    document = (
        pipeline.contents,
        sorted(canonicalize(pipeline.matchers)),
        pipeline.enabled,
        pipeline.config_type,
    )
    return hashlib.sha256(json.encode(document)).hexdigest()[:16]


def _is_stable(target: SyncTarget, remote: Remote) -> bool:
    """Whether a pipeline has a stable text: not if it only carries its first candidate."""
    if remote.enabled or not target.desired.enabled:
        return True
    status = target.pipeline.status.rollout
    is_first = status is not None and status.stable == "" and bool(status.candidate)
    return remote.rollout is None and not is_first


async def _find_stable(target: SyncTarget) -> Remote | None:
    """The pipeline on the server, without the matchers that a rollout added."""
    found = await _find_remote(target)
    return canary.strip_matchers(found) if found is not None else None


async def _find_remote(target: SyncTarget) -> Remote | None:
    fleet, identity = target.fleet, target.pipeline.status.id
    if target.pipeline.status.connection not in ("", fleet.name):
        identity = ""
    if fleet.view.is_complete:
        owned = fleet.view.list_owned_by(target.pipeline.metadata.uid)
        return fleet.view.get(identity) or next(iter(owned), None)
    try:
        if identity:
            return await fleet.api.get(identity)
        found = await fleet.api.find(target.desired.name)
    except CallFailed as error:
        if error.code is not Code.NOT_FOUND:
            raise
        return None
    return found if found is not None and found.owner == target.desired.owner else None


def _find_reports(
    target: SyncTarget, remote: Remote | None, deliveries: Deliveries | None
) -> PartDelivery | None:
    if deliveries is None:
        return None
    digest = digest_contents(target.desired.contents)
    if remote is None or remote.id not in deliveries.pipelines:
        return PartDelivery(digest)
    found = deliveries.pipelines[remote.id].get(digest)
    return found.hide_messages() if target.is_secret else found


def _find_doubt(target: SyncTarget, remote: Remote | None, deliveries: Deliveries | None) -> str:
    """Why the reports do not match what was sent; empty if they do.

    Missing reports would otherwise look like a pipeline that no collector was chosen for.
    """
    if deliveries is None or remote is None:
        return ""
    found = deliveries.pipelines.get(remote.id)
    if found is None:
        return "the reports of the fleet server do not contain the pipeline"
    known = {digest_contents(target.desired.contents), digest_contents(remote.contents)}
    if any(each.assigned and each.digest not in known for each in found.parts):
        return "the fleet server reports contents that this operator did not send"
    return ""


def _build_target(target: SyncTarget, remote: Remote | None, decision: Decision) -> SyncTarget:
    """The target with the stable text, and the candidate of the current step if there is one."""
    if decision.send is Send.ALL:
        return target
    desired = target.desired
    if remote is None or not _is_stable(target, remote):
        stable = desired._replace(enabled=False)
    else:
        stable = desired._replace(
            contents=remote.contents,
            matchers=remote.matchers,
            enabled=remote.enabled,
            config_type=remote.config_type,
            is_secret=may_be_secret(target.pipeline, desired, remote),
        )
    status = decision.status
    if decision.send is Send.STEP and status is not None and status.mechanism == "Matchers":
        stable = canary.exclude_chosen(stable, status.candidate)
    elif decision.send is Send.STEP:
        assert target.pipeline.spec.rollout is not None
        step = target.pipeline.spec.rollout.steps[decision.step]
        stable = stable._replace(rollout=build_candidate(desired, step))
    return target._replace(desired=with_hash(stable, target.fleet.address.url))


def build_candidate(desired: Desired, step: RolloutStep) -> dict[str, Any]:
    """The candidate as our fleet server reads it from a pipeline's metadata.

    Contents of a Secret are marked here too, because the stable text may have another origin.
    """
    candidate: dict[str, Any] = {
        "contents": desired.contents,
        "matchers": list(desired.matchers),
        "enabled": desired.enabled,
        "weight": step.weight,
        "chosen": list(step.matchers),
        "salt": desired.name,
    }
    return {**candidate, CANDIDATE_SECRET: True} if desired.is_secret else candidate
