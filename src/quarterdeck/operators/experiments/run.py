"""One reconcile of one experiment: its status so far, changes to it, and the next requeue.

Steps change the status only through `Run`, so that an error in the middle of a reconcile leaves
everything recorded that was done before it.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from quarterdeck.apis.experiments.status import ExperimentStatus, Phase, TargetStatus
from quarterdeck.apis.experiments.targets import Target
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.kit import duration, rfc3339
from quarterdeck.kit.redaction import redact
from quarterdeck.meta.conditions import FALSE, TRUE, Condition, Status, find
from quarterdeck.operators.experiments.clusters import Adapter
from quarterdeck.operators.experiments.conditions import READY, EventReason, Reason
from quarterdeck.operators.experiments.metrics import ExperimentMetrics
from quarterdeck.operators.experiments.ports import Administrator, Grafana, Results, Targets
from quarterdeck.operators.experiments.settings import Settings
from quarterdeck.runtime import Context

FINISHED = ("Complete", "Failed")
MAX_MESSAGE = 4096


class Environment(NamedTuple):
    """Settings, ports and metrics that every reconcile uses."""

    settings: Settings
    adapters: Mapping[str, Adapter]
    targets: Targets
    results: Results
    metrics: ExperimentMetrics
    grafana: Grafana | None = None
    administrator: Administrator | None = None
    """Grants rights on new GKE clusters; None leaves that to compositions."""


class ExperimentFailed(Exception):
    """Raised by a step when the experiment cannot continue; the phase becomes Failed."""

    def __init__(self, reason: Reason, message: str, *, condition: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.condition = condition
        """The condition that becomes False with this reason, besides Ready."""


class Run:
    """The experiment in one reconcile, with the status so far."""

    def __init__(self, ctx: Context[Experiment], environment: Environment) -> None:
        self.ctx = ctx
        self.environment = environment
        self.settings = environment.settings
        self.now = ctx.now()
        self.again_s: float | None = None

    # --- what is known

    @property
    def experiment(self) -> Experiment:
        """The experiment with the status so far."""
        return msgspec.structs.replace(self.ctx.obj, status=self.status)

    @property
    def spec(self) -> Any:
        """The spec of the experiment."""
        return self.ctx.obj.spec

    @property
    def status(self) -> ExperimentStatus:
        """The status so far."""
        status: ExperimentStatus = self.ctx.status.current
        return status

    @property
    def phase(self) -> Phase:
        """The phase so far."""
        return self.status.phase

    @property
    def is_finished(self) -> bool:
        """Whether the run is over, clean-up aside."""
        return self.phase in FINISHED

    @property
    def targets(self) -> tuple[Target, ...]:
        """The targets, in the order of the spec."""
        return self.ctx.obj.spec.targets

    def get_target(self, name: str) -> TargetStatus:
        """The status of a target."""
        found = next((each for each in self.status.targets if each.name == name), None)
        return found if found is not None else TargetStatus(name=name)

    @property
    def by_name(self) -> dict[str, TargetStatus]:
        """The statuses of all targets."""
        return {each.name: each for each in self.status.targets}

    def find_condition(self, type_: str) -> Condition | None:
        """Find a condition of the status so far."""
        return find(self.ctx.status.conditions, type_)

    def is_true(self, type_: str) -> bool:
        """Whether a condition is True so far."""
        found = self.find_condition(type_)
        return found is not None and found.status == TRUE

    # --- what is decided

    def set(self, **fields: Any) -> None:
        """Change members of the status."""
        self.ctx.status.set(**fields)

    def set_target(self, name: str, **fields: object) -> TargetStatus:
        """Change members of a target's status."""
        changed = msgspec.structs.replace(self.get_target(name), **fields)
        self.set(
            targets=tuple(changed if each.name == name else each for each in self.status.targets)
        )
        return changed

    def set_condition(self, type_: str, status: Status, reason: str, message: str = "") -> None:
        """Set a condition; credentials in the message are redacted."""
        self.ctx.status.set_condition(type_, status, str(reason), redact(message)[:MAX_MESSAGE])

    def enter_phase(self, phase: Phase, reason: Reason, message: str) -> None:
        """Enter a phase: sets status and Ready, and records metrics and an event."""
        before, text = self.phase, redact(message)[:MAX_MESSAGE]
        if before and before != phase:
            lasted_s = self.elapsed_s(self.status.phase_started_at)
            self.environment.metrics.observe_phase(before, lasted_s)
        self.set(
            phase=phase,
            reason=str(reason),
            message=text,
            phase_started_at=self.format_time(self.now),
        )
        self.set_condition(READY, TRUE if phase == "Complete" else FALSE, reason, text)
        if before != phase:
            shown = f"{before or 'new'} -> {phase}: {text}"
            self.ctx.event(EventReason.PHASE_CHANGED, shown, warning=phase == "Failed")

    def set_reason(self, reason: Reason, message: str) -> None:
        """Set reason and message of the current phase."""
        text = redact(message)[:MAX_MESSAGE]
        self.set(reason=str(reason), message=text)
        self.set_condition(READY, FALSE, reason, text)

    def fail(self, failure: ExperimentFailed) -> None:
        """Enter the phase Failed."""
        if failure.condition:
            self.set_condition(failure.condition, FALSE, failure.reason, failure.message)
        self.environment.metrics.count_failure(failure.reason)
        self.enter_phase("Failed", failure.reason, failure.message)
        self.set(completed_at=self.format_time(self.now))
        self.ctx.event(failure.reason, redact(failure.message), warning=True)

    def complete(self, message: str) -> None:
        """Enter the phase Complete."""
        self.enter_phase("Complete", Reason.COMPLETE, message)
        self.set(completed_at=self.format_time(self.now))

    # --- when to reconcile again

    def requeue_after(self, seconds: float) -> None:
        """Reconcile again after at most this time; the shortest one counts."""
        seconds = max(seconds, 0.001)
        self.again_s = seconds if self.again_s is None else min(self.again_s, seconds)

    def elapsed_s(self, since: str) -> float:
        """Seconds since a time in the status; 0 if it is not set."""
        return (self.now - rfc3339.parse(since)).total_seconds() if since else 0.0

    def left_s(self, since: str, limit: str) -> float:
        """Seconds until a timeout that began at a time in the status."""
        return duration.parse_seconds(limit) - self.elapsed_s(since)

    @staticmethod
    def format_time(moment: datetime) -> str:
        """Format a time for the status."""
        return rfc3339.format_time(moment)
