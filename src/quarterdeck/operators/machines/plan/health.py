"""Whether a machine of a fleet is healthy. Pure."""

from datetime import datetime

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.fleet import FleetHealthCheck
from quarterdeck.apis.hypervisor.names import REMEDIATE
from quarterdeck.meta.conditions import find
from quarterdeck.operators.machines.conditions import HEALTHY, Reason
from quarterdeck.operators.machines.sizes import compute_seconds_since, parse_seconds

_SILENT = (Reason.NODE_OFFLINE, Reason.HEARTBEAT_LOST)


def find_unhealthy_reason(claim: MachineClaim, check: FleetHealthCheck, now: datetime) -> str:
    """Why a machine that has not failed is to be replaced; empty if it is healthy."""
    if REMEDIATE in claim.metadata.annotations:
        return "a repair was requested"
    is_starting = claim.status.phase in (None, "Pending", "Provisioning", "Bootstrapping")
    age_s = compute_seconds_since(claim.metadata.creation_timestamp, now) or 0.0
    limit_s = parse_seconds(check.startup_timeout)
    if is_starting and claim.status.phase not in (None, "Pending") and age_s >= limit_s > 0:
        return f"it is not ready after {limit_s:.0f} s"
    silent_s = _compute_silent_s(claim, now)
    if silent_s is not None and silent_s >= parse_seconds(check.heartbeat_timeout):
        return f"its node or its agent does not answer for {silent_s:.0f} s"
    for each in check.unhealthy_conditions:
        condition = find(claim.status.conditions, each.type)
        if condition is None or condition.status != each.status:
            continue
        lasted_s = compute_seconds_since(condition.last_transition_time, now) or 0.0
        if lasted_s >= parse_seconds(each.timeout):
            return f"condition {each.type} is {each.status} for {lasted_s:.0f} s"
    return ""


def compute_next_change_s(
    claim: MachineClaim, check: FleetHealthCheck, now: datetime
) -> float | None:
    """Seconds until time alone makes a machine unhealthy; None if no timeout is running."""
    times = []
    if claim.status.phase in ("Provisioning", "Bootstrapping"):
        age_s = compute_seconds_since(claim.metadata.creation_timestamp, now) or 0.0
        times.append(parse_seconds(check.startup_timeout) - age_s)
    silent_s = _compute_silent_s(claim, now)
    if silent_s is not None:
        times.append(parse_seconds(check.heartbeat_timeout) - silent_s)
    for each in check.unhealthy_conditions:
        condition = find(claim.status.conditions, each.type)
        if condition is not None and condition.status == each.status:
            lasted_s = compute_seconds_since(condition.last_transition_time, now) or 0.0
            times.append(parse_seconds(each.timeout) - lasted_s)
    times = [time for time in times if time > 0]
    return min(times) if times else None


def _compute_silent_s(claim: MachineClaim, now: datetime) -> float | None:
    """Seconds since node or agent of a machine stopped answering; None if both answer."""
    condition = find(claim.status.conditions, HEALTHY)
    if condition is None or condition.status != "False" or condition.reason not in _SILENT:
        return None
    return compute_seconds_since(condition.last_transition_time, now)
