"""The status and the conditions of a fleet."""

from collections import Counter
from collections.abc import Sequence

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.kit import rfc3339
from quarterdeck.meta.conditions import FALSE, TRUE, find
from quarterdeck.operators.machines.conditions import (
    AVAILABLE,
    PAUSED,
    PROGRESSING,
    REMEDIATION_ALLOWED,
    REPLICA_FAILURE,
    Reason,
)
from quarterdeck.operators.machines.fleet_selector import format_selector, parse_selector_labels
from quarterdeck.operators.machines.held_machines import find_held
from quarterdeck.operators.machines.plan.fleet import Plan
from quarterdeck.operators.machines.plan.fleet_state import DesiredFleet
from quarterdeck.operators.machines.report import report_condition, set_condition
from quarterdeck.operators.machines.sizes import compute_seconds_since
from quarterdeck.runtime import Context


def report(
    fleet: Fleet,
    plan: Plan,
    desired: DesiredFleet,
    claims: Sequence[MachineClaim],
    ctx: Context[Fleet],
) -> None:
    """Write status and conditions from the counts that were taken before the plan was executed."""
    status = fleet.status
    is_new = not status.last_progress_time or status.update_revision != desired.revision
    if is_new or _has_begun(fleet, plan, desired):
        ctx.status.set(last_progress_time=rfc3339.format_time(ctx.now()))
    ctx.status.set(selector=format_selector(parse_selector_labels(fleet.spec.selector)))
    if _is_complete(plan, desired) or not status.current_revision:
        ctx.status.set(current_revision=desired.revision)
    report_counts(fleet, plan, desired, ctx)
    _report_progress(fleet, plan, desired, ctx)
    _report_repair(plan, desired, ctx)
    _report_failures(claims, ctx)
    _report_pause(fleet, ctx)


def report_counts(fleet: Fleet, plan: Plan, desired: DesiredFleet, ctx: Context[Fleet]) -> None:
    """Write how many machines there are, and whether they are enough."""
    status = fleet.status
    has_moved = (plan.updated, plan.available, plan.replicas) != (
        status.updated_replicas,
        status.available_replicas,
        status.replicas,
    )
    if has_moved:
        ctx.status.set(last_progress_time=rfc3339.format_time(ctx.now()))
    ctx.status.set(
        replicas=plan.replicas,
        ready_replicas=plan.ready,
        available_replicas=plan.available,
        updated_replicas=plan.updated,
        unavailable_replicas=max(0, desired.desired - plan.available),
    )
    _report_available(plan, desired, ctx)


def _has_begun(fleet: Fleet, plan: Plan, desired: DesiredFleet) -> bool:
    """Whether there is work after a time without any: the deadline counts from now on."""
    if plan.is_frozen or _is_complete(plan, desired):
        return False
    before = find(fleet.status.conditions, PROGRESSING)
    pause = find(fleet.status.conditions, PAUSED)
    was_at_work = before is not None and before.reason in (
        Reason.UPDATING,
        Reason.DEADLINE_EXCEEDED,
    )
    return not was_at_work or (pause is not None and not fleet.spec.paused)


def _is_complete(plan: Plan, desired: DesiredFleet) -> bool:
    return (
        not plan.outdated and plan.available >= desired.desired and plan.replicas == desired.desired
    )


def _report_available(plan: Plan, desired: DesiredFleet, ctx: Context[Fleet]) -> None:
    text = f"{plan.available} of {desired.desired} machines are available"
    if plan.available >= desired.desired - desired.max_unavailable:
        set_condition(ctx, AVAILABLE, TRUE, Reason.MINIMUM_AVAILABLE, text)
    else:
        set_condition(ctx, AVAILABLE, FALSE, Reason.MINIMUM_UNAVAILABLE, text)


def _report_progress(fleet: Fleet, plan: Plan, desired: DesiredFleet, ctx: Context[Fleet]) -> None:
    if plan.is_frozen:
        text = (
            f"{plan.replicas} machines exist, far more than {desired.desired}: no machine is "
            "created"
        )
        report_condition(ctx, PROGRESSING, FALSE, Reason.TOO_MANY_MACHINES, text)
    elif _is_complete(plan, desired):
        report_condition(
            ctx,
            PROGRESSING,
            TRUE,
            Reason.UPDATE_COMPLETE,
            f"all {desired.desired} machines have revision {desired.revision}",
        )
    else:
        waited_s = compute_seconds_since(ctx.status.current.last_progress_time, ctx.now()) or 0.0
        text = f"{plan.updated} of {desired.desired} machines have revision {desired.revision}"
        if waited_s > fleet.spec.progress_deadline_seconds and not fleet.spec.paused:
            text = f"no progress for {waited_s:.0f} s: {text}"
            report_condition(ctx, PROGRESSING, FALSE, Reason.DEADLINE_EXCEEDED, text)
        else:
            report_condition(ctx, PROGRESSING, TRUE, Reason.UPDATING, text)


def _report_repair(plan: Plan, desired: DesiredFleet, ctx: Context[Fleet]) -> None:
    text = f"{plan.unhealthy} of {desired.desired} machines are unhealthy"
    if plan.may_remediate:
        set_condition(ctx, REMEDIATION_ALLOWED, TRUE, Reason.WITHIN_LIMIT, text)
    else:
        text = (
            f"{text}, more than {desired.max_unhealthy}: repair is stopped; find the cause, then "
            "delete claims or raise spec.healthCheck.maxUnhealthy"
        )
        report_condition(ctx, REMEDIATION_ALLOWED, FALSE, Reason.TOO_MANY_UNHEALTHY, text)


def _report_failures(claims: Sequence[MachineClaim], ctx: Context[Fleet]) -> None:
    """Report why machines fail or do not start, because users look at the fleet first."""
    failures, held = ctx.status.current.failures, find_held(claims)
    if failures:
        text = f"the last {failures} machines failed"
        set_condition(ctx, REPLICA_FAILURE, TRUE, Reason.MACHINES_FAIL, text)
    elif held:
        name, condition = held[0]
        text = f"{_count(len(held))} not started, {name}: {condition.message}"
        set_condition(ctx, REPLICA_FAILURE, TRUE, Reason(condition.reason), text)
    else:
        set_condition(ctx, REPLICA_FAILURE, FALSE, Reason.MACHINES_START, "no machine is blocked")


def _report_pause(fleet: Fleet, ctx: Context[Fleet]) -> None:
    if fleet.spec.paused:
        set_condition(ctx, PAUSED, TRUE, Reason.PAUSED, "spec.paused stops replacements")
    elif ctx.status.get_transition(PAUSED)[0] is not None:
        ctx.status.remove_condition(PAUSED)


def report_changes(plan: Plan, ctx: Context[Fleet]) -> None:
    """Record events for machines that were created and removed."""
    if plan.create:
        ctx.event(Reason.SCALED_UP, f"created {_count(plan.create)}")
    reasons = Counter(removal.reason for removal in plan.remove)
    for reason, count in sorted(reasons.items()):
        is_repair = reason in ("Unhealthy", "Failed")
        ctx.event(
            Reason.REPAIRING if is_repair else Reason.SCALED_DOWN,
            f"removed {_count(count)}: {reason}",
            warning=is_repair,
        )


def _count(number: int) -> str:
    return "1 machine" if number == 1 else f"{number} machines"
