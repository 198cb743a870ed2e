"""What is sent while a rollout is under way: the stable text, and the candidate beside it.

The stable text is read from the server, which is its only keeper. A new pipeline has none: it is
sent switched off, with a candidate that is on.
"""

import hashlib
from typing import Any, NamedTuple

from quarterdeck.apis.fleetmanagement.names import PROMOTE
from quarterdeck.apis.fleetmanagement.rollout import RolloutStep
from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline
from quarterdeck.kit import json
from quarterdeck.operators.pipelines import rollout
from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.desired import Desired, with_hash
from quarterdeck.operators.pipelines.ports import CallFailed, PartDelivery, Remote
from quarterdeck.operators.pipelines.rollout import Decision, Observed, Send
from quarterdeck.operators.pipelines.sync_target import SyncTarget
from quarterdeck.runtime import Context, Stalled
from quarterdeck.telemetry.candidates import digest_contents
from quarterdeck.telemetry.fleet.codes import Code
from quarterdeck.telemetry.matchers import canonicalize


class Staged(NamedTuple):
    """What to send now, and when to look again."""

    target: SyncTarget
    decision: Decision


async def stage(target: SyncTarget, ctx: Context[Pipeline]) -> Staged:
    """What the server should have at this point of a rollout.

    Raises:
        CallFailed, Paused: if the server cannot be read.
        Stalled: if the server cannot divide its collectors.
    """
    pipeline = target.pipeline
    if pipeline.spec.rollout is None or pipeline.spec.rollback_to:  # a way back takes no steps
        return Staged(target, Decision(Send.ALL, None))
    remote = await _find_stable(target)
    deliveries = await target.fleet.agents.get_deliveries()
    if deliveries is None or not deliveries.can_roll_out:
        raise Stalled(
            Reason.ROLLOUT_UNSUPPORTED,
            "spec.rollout: this fleet server cannot divide its collectors; remove spec.rollout, "
            "or send the pipeline through quarterdeck fleet",
        )
    seen = Observed(
        candidate=hash_text(target.desired),
        stable=hash_text(remote) if remote is not None and _is_delivered(remote) else "",
        now=ctx.now(),
        reports=_find_reports(target, remote, deliveries.pipelines),
        approval=pipeline.metadata.annotations.get(PROMOTE, ""),
    )
    decision = rollout.decide(pipeline.spec.rollout, pipeline.status.rollout, seen)
    return Staged(_build_target(target, remote, decision), decision)


def hash_text(pipeline: Desired | Remote) -> str:
    """What tells one configuration from another: everything that collectors notice."""
    document = (
        pipeline.contents,
        sorted(canonicalize(pipeline.matchers)),
        pipeline.enabled,
        pipeline.config_type,
    )
    return hashlib.sha256(json.encode(document)).hexdigest()[:16]


def _is_delivered(remote: Remote) -> bool:
    """Whether a pipeline is more than the place that a first candidate is kept in."""
    return remote.enabled or remote.rollout is None


async def _find_stable(target: SyncTarget) -> Remote | None:
    """The pipeline as the server has it now."""
    fleet, identity = target.fleet, target.pipeline.status.id
    if target.pipeline.status.connection not in ("", fleet.name):
        identity = ""
    if fleet.view.is_complete:
        owned = fleet.view.owned_by(target.pipeline.metadata.uid)
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


def _find_reports(target: SyncTarget, remote: Remote | None, deliveries: Any) -> PartDelivery:
    digest = digest_contents(target.desired.contents)
    if remote is None or remote.id not in deliveries:
        return PartDelivery(digest)
    found: PartDelivery = deliveries[remote.id].get(digest)
    return found


def _build_target(target: SyncTarget, remote: Remote | None, decision: Decision) -> SyncTarget:
    """The target with the stable text, and the candidate of the current step if there is one."""
    if decision.send is Send.ALL:
        return target
    desired = target.desired
    if remote is None or not _is_delivered(remote):
        stable = desired._replace(enabled=False)
    else:
        stable = desired._replace(
            contents=remote.contents,
            matchers=remote.matchers,
            enabled=remote.enabled,
            config_type=remote.config_type,
        )
    if decision.send is Send.STEP:
        assert target.pipeline.spec.rollout is not None
        step = target.pipeline.spec.rollout.steps[decision.step]
        stable = stable._replace(rollout=build_candidate(desired, step))
    return target._replace(desired=with_hash(stable, target.fleet.address.url))


def build_candidate(desired: Desired, step: RolloutStep) -> dict[str, Any]:
    """The candidate as our fleet server reads it from a pipeline's metadata."""
    return {
        "contents": desired.contents,
        "matchers": list(desired.matchers),
        "enabled": desired.enabled,
        "weight": step.weight,
        "chosen": list(step.matchers),
        "salt": desired.name,
    }
