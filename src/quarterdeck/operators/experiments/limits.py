"""Limits that end an experiment early: `spec.terminate`, time to live, budget. Pure."""

from datetime import datetime, timedelta
from typing import NamedTuple

from quarterdeck.apis.experiments.v1alpha1 import RESUME, Experiment
from quarterdeck.kit import rfc3339
from quarterdeck.operators.experiments import prices
from quarterdeck.operators.experiments.conditions import Reason
from quarterdeck.operators.experiments.settings import Settings

_DAY_S = 24 * 3600.0


class Stop(NamedTuple):
    """Why an experiment is stopped now."""

    reason: Reason
    message: str
    is_success: bool = False
    """Whether it counts as success: in manual mode, the end of the time to live does."""


def compute_ttl_s(experiment: Experiment, settings: Settings) -> float:
    """The time to live of an experiment, in seconds."""
    spec = experiment.spec
    if spec.ttl_seconds_active is not None:
        return float(spec.ttl_seconds_active)
    if spec.ttl_days is not None:
        return max(1, spec.ttl_days) * _DAY_S
    return settings.default_ttl_s


def compute_expiry(experiment: Experiment, settings: Settings) -> datetime:
    """When the time to live of an experiment ends."""
    created = rfc3339.parse(experiment.metadata.creation_timestamp or "1970-01-01T00:00:00Z")
    return created + timedelta(seconds=compute_ttl_s(experiment, settings))


def is_manual(experiment: Experiment) -> bool:
    """Whether the completion mode is manual: a user ends the experiment."""
    return experiment.spec.workflow.completion.mode == "manual"


def is_resumed(experiment: Experiment) -> bool:
    """Whether a user has ended a manual experiment by the annotation."""
    return experiment.metadata.annotations.get(RESUME) == "true"


def check(experiment: Experiment, *, now: datetime, settings: Settings) -> Stop | None:
    """Check the limits; None if the experiment may continue."""
    is_lesson = is_manual(experiment) and experiment.status.phase == "Running"
    if experiment.spec.terminate:
        return Stop(Reason.TERMINATED, "spec.terminate is set")
    if now >= compute_expiry(experiment, settings):
        limit = compute_ttl_s(experiment, settings)
        message = f"the experiment has existed for {limit:.0f} s, its time to live"
        return Stop(Reason.DEADLINE_EXCEEDED, message, is_success=is_lesson)
    if (budget := experiment.spec.budget) is not None:
        spent = prices.compute_spent_usd(experiment, now=now)
        if spent >= float(budget.max_usd):
            message = (
                f"the budget is used up: the clusters have cost {spent:.4f} USD of "
                f"{budget.max_usd} USD"
            )
            return Stop(Reason.BUDGET_EXCEEDED, message)
    return None


def compute_next_check_s(experiment: Experiment, *, now: datetime, settings: Settings) -> float:
    """Seconds until `check` may find a reason by time alone."""
    left = (compute_expiry(experiment, settings) - now).total_seconds()
    if (budget := experiment.spec.budget) is not None:
        burn = prices.compute_burn_usd(experiment)
        if burn > 0:
            rest = float(budget.max_usd) - prices.compute_spent_usd(experiment, now=now)
            left = min(left, rest / burn * 3600)
    return max(left, 0.001)
