"""The status of a cluster after a visit: its health, its events, and the condition Stored."""

from typing import Any

from quarterdeck.hubstate.collect.collected import Collected
from quarterdeck.inventory.health import Health, Verdict
from quarterdeck.kit import rfc3339
from quarterdeck.meta.conditions import FALSE, TRUE, UNKNOWN, Status
from quarterdeck.operators.clusters.conditions import REACHABLE, READY, STORED, Reason
from quarterdeck.operators.clusters.hub import StoreProblem
from quarterdeck.runtime import Context

_READY: dict[Health, tuple[Status, Reason]] = {
    Health.HEALTHY: (TRUE, Reason.HEALTHY),
    Health.DEGRADED: (TRUE, Reason.DEGRADED),
    Health.UNHEALTHY: (FALSE, Reason.UNHEALTHY),
    Health.UNKNOWN: (UNKNOWN, Reason.UNKNOWN),
}
_SYNC_STEP_S = 60
"""How old lastSyncTime may get while nothing else changes, so that most visits write nothing."""


def set_cluster_status(
    verdict: Verdict, collected: Collected | None, ctx: Context[Any], *, failed: bool
) -> None:
    """Set status and conditions of a cluster, and record an event for a change."""
    before = ctx.status.current
    ctx.status.set(
        phase="Error" if failed else "Connected",
        health=str(verdict.health),
        message=verdict.message,
    )
    if collected is not None and not failed:
        ctx.status.set(
            nodes=len(collected.nodes),
            namespaces=len(collected.namespaces or ()),
            version=str(collected.info.get("version", "")),
        )
    for type_, finding in verdict.findings:
        ctx.status.set_condition(type_, finding.status, finding.reason, finding.message)
    ctx.status.set_condition(READY, *_READY[verdict.health], verdict.message)
    _note_sync(before, collected, ctx, failed=failed)
    _send_event(before, verdict, ctx, failed=failed)


def _note_sync(
    before: Any, collected: Collected | None, ctx: Context[Any], *, failed: bool
) -> None:
    """Set the time of the last reading: with any other change, else about once a minute."""
    if collected is None or failed:
        return
    now = rfc3339.format_time(collected.at)
    if not before.last_sync_time or ctx.status.current != before:
        ctx.status.set(last_sync_time=now)
        return
    age_s = (collected.at - rfc3339.parse(before.last_sync_time)).total_seconds()
    if abs(age_s) >= _SYNC_STEP_S:  # below 0 after the clock was set back
        ctx.status.set(last_sync_time=now)


def _send_event(before: Any, verdict: Verdict, ctx: Context[Any], *, failed: bool) -> None:
    """Record an event if the cluster became reachable or unreachable, or its health changed."""
    old, new = ctx.status.get_transition(REACHABLE)
    if new is not None and (old is None or old.status != new.status):
        if failed:
            ctx.event(new.reason, verdict.reachable.message, warning=True)
        else:
            ctx.event(Reason.CONNECTED, "the cluster is reachable")
    elif before.health and before.health != verdict.health:
        _, reason = _READY[verdict.health]
        ctx.event(reason, verdict.message, warning=verdict.health is not Health.HEALTHY)


def set_stored(problem: StoreProblem | None, ctx: Context[Any]) -> None:
    """Set the condition Stored, which exists only after a first failure."""
    if problem is not None:
        ctx.status.set_condition(STORED, FALSE, problem.reason, problem.message)
    elif any(each.type == STORED for each in ctx.status.conditions):
        ctx.status.set_condition(STORED, TRUE, Reason.STORED)
    before, after = ctx.status.get_transition(STORED)
    if after is not None and after.status == FALSE and (before is None or before.status != FALSE):
        ctx.event(after.reason, after.message, warning=True)
