"""What a fleet says of itself."""

from collections import Counter

from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.kit import rfc3339
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.operators.machines.conditions import (
    AVAILABLE,
    PAUSED,
    PROGRESSING,
    REMEDIATION_ALLOWED,
    REPLICA_FAILURE,
    Reason,
)
from quarterdeck.operators.machines.plan.fleet import Plan, Wish
from quarterdeck.operators.machines.report import set_condition, tell
from quarterdeck.operators.machines.sizes import seconds_since
from quarterdeck.runtime import Context


def report(fleet: Fleet, plan: Plan, wish: Wish, ctx: Context[Fleet]) -> None:
    """Fill the status from what was counted before the plan was carried out."""
    status = fleet.status
    is_complete = _is_complete(plan, wish)
    has_moved = (plan.updated, plan.available, plan.replicas) != (
        status.updated_replicas,
        status.available_replicas,
        status.replicas,
    )
    if has_moved or not status.last_progress_time or status.update_revision != wish.revision:
        ctx.status.set(last_progress_time=rfc3339.format_time(ctx.now()))
    ctx.status.set(
        replicas=plan.replicas,
        ready_replicas=plan.ready,
        available_replicas=plan.available,
        updated_replicas=plan.updated,
        unavailable_replicas=max(0, wish.desired - plan.available),
        selector=",".join(f"{key}={value}" for key, value in sorted(fleet.spec.selector.items())),
    )
    if is_complete or not status.current_revision:
        ctx.status.set(current_revision=wish.revision)
    _report_available(plan, wish, ctx)
    _report_progress(fleet, plan, wish, ctx)
    _report_repair(plan, wish, ctx)
    _report_pause(fleet, ctx)


def _is_complete(plan: Plan, wish: Wish) -> bool:
    return not plan.outdated and plan.available >= wish.desired and plan.replicas == wish.desired


def _report_available(plan: Plan, wish: Wish, ctx: Context[Fleet]) -> None:
    text = f"{plan.available} of {wish.desired} machines are available"
    if plan.available >= wish.desired - wish.max_unavailable:
        set_condition(ctx, AVAILABLE, TRUE, Reason.MINIMUM_AVAILABLE, text)
    else:
        set_condition(ctx, AVAILABLE, FALSE, Reason.MINIMUM_UNAVAILABLE, text)


def _report_progress(fleet: Fleet, plan: Plan, wish: Wish, ctx: Context[Fleet]) -> None:
    if plan.is_frozen:
        text = f"{plan.replicas} machines exist, far more than {wish.desired}: none is made"
        tell(ctx, PROGRESSING, FALSE, Reason.TOO_MANY_MACHINES, text)
    elif _is_complete(plan, wish):
        tell(
            ctx,
            PROGRESSING,
            TRUE,
            Reason.UPDATE_COMPLETE,
            f"all {wish.desired} machines have revision {wish.revision}",
        )
    else:
        waited_s = seconds_since(ctx.status.current.last_progress_time, ctx.now()) or 0.0
        text = f"{plan.updated} of {wish.desired} machines have revision {wish.revision}"
        if waited_s > fleet.spec.progress_deadline_seconds and not fleet.spec.paused:
            text = f"no progress for {waited_s:.0f} s: {text}"
            tell(ctx, PROGRESSING, FALSE, Reason.DEADLINE_EXCEEDED, text)
        else:
            tell(ctx, PROGRESSING, TRUE, Reason.UPDATING, text)


def _report_repair(plan: Plan, wish: Wish, ctx: Context[Fleet]) -> None:
    text = f"{plan.unhealthy} of {wish.desired} machines are unhealthy"
    if plan.may_remediate:
        set_condition(ctx, REMEDIATION_ALLOWED, TRUE, Reason.WITHIN_LIMIT, text)
    else:
        text = f"{text}, more than {wish.max_unhealthy}: nothing is repaired until fewer are"
        tell(ctx, REMEDIATION_ALLOWED, FALSE, Reason.TOO_MANY_UNHEALTHY, text)
    failures = ctx.status.current.failures
    if failures:
        text = f"{failures} machines failed one after the other"
        set_condition(ctx, REPLICA_FAILURE, TRUE, Reason.MACHINES_FAIL, text)
    else:
        set_condition(ctx, REPLICA_FAILURE, FALSE, Reason.MACHINES_START, "")


def _report_pause(fleet: Fleet, ctx: Context[Fleet]) -> None:
    if fleet.spec.paused:
        set_condition(ctx, PAUSED, TRUE, Reason.PAUSED, "spec.paused stops replacements")
    elif ctx.status.get_transition(PAUSED)[0] is not None:
        ctx.status.remove_condition(PAUSED)


def tell_changes(plan: Plan, ctx: Context[Fleet]) -> None:
    """Events for what was made and removed."""
    if plan.create:
        ctx.event(Reason.SCALED_UP, f"made {_count(plan.create)}")
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
