"""Estimates the cost of clusters by machine type, in US dollars per hour and node. Pure.

Control planes, disks and traffic are left out; a note says so wherever an estimate is shown.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from quarterdeck.apis.experiments.status import TargetStatus
from quarterdeck.apis.experiments.targets import Target
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.kit import rfc3339

HOURLY_USD: Final[Mapping[str, float]] = {
    "e2-medium": 0.0335,
    "e2-standard-2": 0.067,
    "e2-standard-4": 0.134,
    "e2-standard-8": 0.268,
    "n1-standard-1": 0.0475,
    "n1-standard-2": 0.095,
    "n1-standard-4": 0.19,
    "n2-standard-2": 0.0971,
    "n2-standard-4": 0.1942,
    "n2-standard-8": 0.3884,
}
UNKNOWN_USD: Final = 0.10
PREEMPTIBLE: Final = 0.20
PRICED: Final = frozenset({"gke"})
"""Types of clusters with hourly prices; others run on existing machines."""


def compute_hourly_usd(target: Target, status: TargetStatus) -> float:
    """What a target's cluster costs per hour; 0 for clusters that are not priced."""
    cluster = target.cluster
    if cluster.type not in PRICED:
        return 0.0
    price = HOURLY_USD.get(_get_machine(target, status), UNKNOWN_USD)
    share = PREEMPTIBLE if cluster.preemptible else 1.0
    return price * share * (status.node_count or cluster.node_count or 1)


def is_assumed(target: Target, status: TargetStatus) -> bool:
    """Whether the price of a target's machines is not known, so that one is assumed."""
    return target.cluster.type in PRICED and _get_machine(target, status) not in HOURLY_USD


def _get_machine(target: Target, status: TargetStatus) -> str:
    return status.machine_type or target.cluster.machine_type or "e2-medium"


def compute_spent_usd(experiment: Experiment, *, now: datetime) -> float:
    """What the clusters of an experiment have cost so far."""
    by_name = {status.name: status for status in experiment.status.targets}
    total = 0.0
    for target in experiment.spec.targets:
        status = by_name.get(target.name)
        if status is not None and status.created_at:
            hours = (now - rfc3339.parse(status.created_at)).total_seconds() / 3600
            total += compute_hourly_usd(target, status) * max(0.0, hours)
    return total


def compute_burn_usd(experiment: Experiment) -> float:
    """What all clusters of an experiment together cost per hour."""
    by_name = {status.name: status for status in experiment.status.targets}
    return sum(
        compute_hourly_usd(target, by_name[target.name])
        for target in experiment.spec.targets
        if target.name in by_name and by_name[target.name].created_at
    )
