"""Decides the next state of a rollout, and what to send. Pure.

The state is in the status of the Pipeline, the stable text on the server. Every decision can be
made again from these two, so after a crash at any point the rollout continues where it was. Only a
rollback must not be lost: it is written to the status before the server is changed
(`Decision.must_be_recorded`).
"""

import enum
from datetime import datetime
from typing import NamedTuple

import msgspec

from quarterdeck.apis.fleetmanagement.rollout import Delivery, Rollout, RolloutStatus, RolloutStep
from quarterdeck.kit import duration, rfc3339
from quarterdeck.kit.plural import format_count
from quarterdeck.operators.pipelines.ports import PartDelivery

_AT_ONCE_S = 0.001
"""Delay of the reconcile that sends the stable configuration, once the failure is recorded."""
POLL_S = 10.0
"""Seconds between two checks of collectors' reports during a step."""


class Send(enum.Enum):
    """Which texts are sent to the server, and to which collectors they go."""

    ALL = "the candidate for all collectors"
    STEP = "the candidate for part of the collectors"
    STABLE = "the stable text for all collectors"


class Observed(NamedTuple):
    """The input of a decision, besides the spec and the status."""

    candidate: str
    """Hash of the configuration in the spec."""
    stable: str
    """Hash of the stable configuration on the server; empty without one."""
    now: datetime
    reports: PartDelivery | None = None
    """Reports of collectors with the candidate; None if the server does not support them."""
    doubt: str = ""
    """Why the reports cannot be trusted, which keeps the step from ending; empty if they can."""
    approval: str = ""
    """The promote annotation."""


class Decision(NamedTuple):
    """What to send, the new status, and when to decide again."""

    send: Send
    status: RolloutStatus | None
    after_s: float | None = None
    must_be_recorded: bool = False
    """Whether the status must be stored before anything is sent."""

    @property
    def step(self) -> int:
        """The current step."""
        return self.status.step if self.status is not None else 0


def decide(rollout: Rollout | None, status: RolloutStatus | None, seen: Observed) -> Decision:
    """The next state of a rollout."""
    if rollout is None:
        return Decision(Send.ALL, None)
    before = status if status is not None else RolloutStatus()
    if before.quarantined == seen.candidate and seen.approval != seen.candidate:
        return _keep_stable(before, seen)
    if seen.stable == seen.candidate:
        return _promote(rollout, before, seen)
    if before.candidate != seen.candidate or before.phase in ("Promoted", "RolledBack", "Direct"):
        before = _start(rollout, before, seen)
    return _advance(rollout, before, seen)


def _start(rollout: Rollout, before: RolloutStatus, seen: Observed) -> RolloutStatus:
    return RolloutStatus(
        phase="Progressing",
        step=0,
        steps=len(rollout.steps),
        weight=rollout.steps[0].weight,
        candidate=seen.candidate,
        stable=seen.stable,
        step_started_at=rfc3339.format_time(seen.now),
        quarantined=before.quarantined,
        message="",
    )


def _advance(rollout: Rollout, before: RolloutStatus, seen: Observed) -> Decision:
    """Stay at the current step, start the next one, promote or roll back."""
    if seen.approval == seen.candidate:
        return _promote(rollout, before, seen)
    reports = seen.reports
    if reports is not None and reports.failed > rollout.max_failures:
        return _roll_back(before, seen, reports)
    index = min(before.step, len(rollout.steps) - 1)
    at = _Position(rollout, before, index, seen)
    wait = _find_wait(at)
    if wait is not None:
        return wait
    if index + 1 >= len(rollout.steps):
        return _promote(rollout, before, seen)
    following = msgspec.structs.replace(
        before, step=index + 1, step_started_at=rfc3339.format_time(seen.now)
    )
    return _stay(at._replace(before=following, number=index + 1), "Progressing")


class _Position(NamedTuple):
    """The position of a rollout, and what was observed."""

    rollout: Rollout
    before: RolloutStatus
    number: int
    seen: Observed

    @property
    def step(self) -> RolloutStep:
        """The current step of the spec."""
        return self.rollout.steps[self.number]


def _find_wait(at: _Position) -> Decision | None:
    """The decision to stay at the current step; None if the step is over."""
    rollout, seen, reports = at.rollout, at.seen, at.seen.reports
    if rollout.paused:
        return _stay(at, "Paused", "spec.rollout.paused is true")
    if seen.approval == f"{seen.candidate}:{at.number}":
        return None
    hint = f"annotate with promote={seen.candidate}:{at.number} to take the next step"
    if not at.step.duration:
        return _stay(at, "WaitingForApproval", hint)
    left_s = _parse_seconds(at.step.duration) - _compute_elapsed_s(at.before, seen.now)
    if left_s > 0:
        return _stay(at, "Progressing", f"the step ends in {left_s:.0f} s", left_s=left_s)
    if seen.doubt:
        return _stay(at, "Progressing", seen.doubt)
    if reports is None and rollout.without_delivery == "Wait":
        text = f"the server does not report the state of collectors: {hint}"
        return _stay(at, "WaitingForApproval", text)
    if reports is not None and reports.assigned and not reports.applied:
        return _stay(at, "Progressing", "no collector has reported that it runs the candidate")
    return None


def _stay(at: _Position, phase: str, message: str = "", *, left_s: float = POLL_S) -> Decision:
    status = msgspec.structs.replace(
        at.before,
        phase=phase,
        step=at.number,
        steps=len(at.rollout.steps),
        weight=at.step.weight,
        message=message,
        delivery=to_status(at.seen.reports),
    )
    return Decision(Send.STEP, status, after_s=max(1.0, min(POLL_S, left_s)))


def _promote(rollout: Rollout, before: RolloutStatus, seen: Observed) -> Decision:
    quarantined = "" if before.quarantined == seen.candidate else before.quarantined
    status = RolloutStatus(
        phase="Promoted",
        step=len(rollout.steps),
        steps=len(rollout.steps),
        weight=100,
        candidate=seen.candidate,
        stable=seen.candidate,
        quarantined=quarantined,
    )
    return Decision(Send.ALL, status)


def _roll_back(before: RolloutStatus, seen: Observed, reports: PartDelivery) -> Decision:
    shown = "; ".join(reports.failures[:3])
    status = msgspec.structs.replace(
        before,
        phase="RolledBack",
        weight=0,
        quarantined=seen.candidate,
        message=f"{format_count(reports.failed, 'collector')} reported FAILED: {shown}"[:2048],
        delivery=to_status(reports),
    )
    return Decision(Send.STABLE, status, after_s=_AT_ONCE_S, must_be_recorded=True)


def _keep_stable(before: RolloutStatus, seen: Observed) -> Decision:
    message = before.message or "this configuration failed before and is not sent again"
    status = msgspec.structs.replace(
        before, phase="RolledBack", weight=0, candidate=seen.candidate, message=message
    )
    return Decision(Send.STABLE, status)


def to_status(reports: PartDelivery | None) -> Delivery | None:
    """Reports as a status shows them."""
    if reports is None:
        return None
    return Delivery(
        assigned=reports.assigned,
        applied=reports.applied,
        applying=reports.applying,
        failed=reports.failed,
        stale=reports.stale,
        failures=reports.failures[:10],
    )


def _compute_elapsed_s(status: RolloutStatus, now: datetime) -> float:
    if not status.step_started_at:
        return 0.0
    return (now - rfc3339.parse(status.step_started_at)).total_seconds()


def _parse_seconds(text: str) -> float:
    try:
        return duration.parse_seconds(text)
    except ValueError:
        return 0.0
