"""Estimates the cost of a run from machine types. Pure."""

from datetime import datetime

from quarterdeck.apis.experiments.status import CostEstimate
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.kit import rfc3339
from quarterdeck.operators.experiments import prices

NOTE = "machines only, at list prices; control planes, disks, traffic and discounts are left out"


def estimate(experiment: Experiment, *, until: datetime) -> CostEstimate | None:
    """Estimate the cost of a run; None if none of its clusters has an hourly price."""
    by_name = {status.name: status for status in experiment.status.targets}
    per_target: dict[str, float] = {}
    longest = 0.0
    for target in experiment.spec.targets:
        status = by_name.get(target.name)
        if target.cluster.type not in prices.PRICED or status is None or not status.created_at:
            continue
        hours = max(0.0, (until - rfc3339.parse(status.created_at)).total_seconds() / 3600)
        per_target[target.name] = prices.compute_hourly_usd(target, status) * hours
        longest = max(longest, hours)
    if not per_target:
        return None
    return CostEstimate(
        total_usd=_format_money(sum(per_target.values())),
        duration_hours=f"{longest:.4f}",
        per_target={name: _format_money(usd) for name, usd in per_target.items()},
        note=NOTE,
    )


def _format_money(usd: float) -> str:
    return f"{usd:.6f}"
