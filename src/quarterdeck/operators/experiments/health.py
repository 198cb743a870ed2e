"""Decides whether an Application is ready, may become ready, or has failed. Pure.

Argo CD calls an Application without resources Healthy, also when it could not render it. So health
alone never counts: an error condition wins over it.
"""

import enum
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from quarterdeck.apis.experiments.targets import Target
from quarterdeck.kit import rfc3339
from quarterdeck.operators.experiments.conditions import Reason
from quarterdeck.operators.experiments.foreign import ArgoApplication

ERROR_CONDITIONS = frozenset(
    {"ComparisonError", "InvalidSpecError", "SyncError", "UnknownError", "DeletionError"}
)
_ORDER = ("Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown")


class State(enum.Enum):
    """Whether an Application is ready, may become ready, or has failed."""

    READY = "ready"
    WAITING = "waiting"
    FAILED = "failed"


class Assessment(NamedTuple):
    """The assessment of one Application, or of several together."""

    state: State
    message: str = ""
    reason: Reason = Reason.DEPLOYING
    again_s: float | None = None
    """Seconds after which time alone may change the assessment; None if it cannot."""


READY = Assessment(State.READY)


def assess_application(
    app: ArgoApplication | None, target: Target, *, now: datetime, grace_s: float
) -> Assessment:
    """Assess one Application by the readiness that its target requires."""
    if app is None:
        return Assessment(State.WAITING, "the Application does not exist yet")
    name, status = app.metadata.name, app.status
    health, sync = status.health.status, status.sync.status
    for condition in status.conditions:
        if condition.type in ERROR_CONDITIONS:
            message = f"Application {name}: {condition.type}: {condition.message}"
            since = condition.last_transition_time
            reason = (
                Reason.APP_SYNC_FAILED
                if condition.type == "SyncError"
                else Reason.APP_COMPARISON_ERROR
            )
            return _assess_after_grace(message, reason, since, now=now, grace_s=grace_s)
    operation = status.operation_state
    if operation.phase in ("Failed", "Error"):
        message = f"Application {name}: sync {operation.phase}: {operation.message}"
        return _assess_after_grace(
            message, Reason.APP_SYNC_FAILED, operation.finished_at, now=now, grace_s=grace_s
        )
    shown = f"Application {name} is {health or 'not reported'} and {sync or 'not compared'}"
    reason = Reason.APP_DEGRADED if health == "Degraded" else Reason.DEPLOYING
    if not _is_acceptable(health, sync, target):
        return Assessment(State.WAITING, shown, reason)
    left_s = _compute_left_s(status.health.last_transition_time, target.min_healthy_seconds, now)
    if left_s > 0:
        return Assessment(State.WAITING, f"{shown} for a short time only", reason, left_s)
    return READY


def combine(assessments: Iterable[Assessment]) -> Assessment:
    """Combine assessments: failed if one is, ready if all are."""
    found = list(assessments)
    for state in (State.FAILED, State.WAITING):
        matching = [each for each in found if each.state is state]
        if matching:
            delays = [each.again_s for each in found if each.again_s is not None]
            worst = next(
                (each for each in matching if each.reason is not Reason.DEPLOYING), matching[0]
            )
            message = "; ".join(each.message for each in matching)
            return Assessment(state, message, worst.reason, min(delays, default=None))
    return READY


def _is_acceptable(health: str, sync: str, target: Target) -> bool:
    if target.readiness == "Strict":
        return health == "Healthy" and sync == "Synced"
    return bool(sync) and health in ("Healthy", "Suspended", "Progressing", "Degraded")


def _assess_after_grace(
    message: str, reason: Reason, since: str, *, now: datetime, grace_s: float
) -> Assessment:
    left_s = _compute_left_s(since, grace_s, now)
    if left_s > 0:
        return Assessment(State.WAITING, message, reason, left_s)
    return Assessment(State.FAILED, message, reason)


def _compute_left_s(since: str, seconds: float, now: datetime) -> float:
    """Seconds left of `seconds` since a time; 0 if the time is missing or invalid."""
    if not since:
        return 0.0
    try:
        began = rfc3339.parse(since)
    except ValueError:
        return 0.0
    return seconds - (now - began).total_seconds()
