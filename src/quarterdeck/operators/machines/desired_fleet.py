"""The input of a fleet's plan, built from its spec. Pure."""

from datetime import datetime

from quarterdeck.apis.hypervisor.fleet import DisruptionBudget, Fleet
from quarterdeck.operators.machines.features import Flags
from quarterdeck.operators.machines.plan import cron
from quarterdeck.operators.machines.plan.fleet_state import DesiredFleet
from quarterdeck.operators.machines.sizes import compute_seconds_since, parse_amount, parse_seconds

DISRUPTIONS = ("Update", "Expired", "Unhealthy")


def build_desired_fleet(
    fleet: Fleet, revision: str, *, now: datetime, flags: Flags
) -> DesiredFleet:
    """Build the input of the plan, with percentages as numbers of machines."""
    spec, desired = fleet.spec, fleet.spec.replicas
    surge, unavailable = count_rolling(fleet)
    return DesiredFleet(
        desired=desired,
        revision=revision,
        strategy=spec.strategy.type,
        max_surge=surge,
        max_unavailable=unavailable,
        min_ready_s=float(spec.min_ready_seconds),
        is_paused=spec.paused,
        delete_policy=spec.delete_policy,
        max_unhealthy=_compute_allowed(spec.health_check.max_unhealthy, desired),
        max_in_flight=spec.health_check.max_in_flight,
        may_repair=flags.repair,
        budgets=count_budgets(fleet, now),
        failures=fleet.status.failures,
        last_failure_s=compute_seconds_since(fleet.status.last_failure_time, now),
    )


def count_rolling(fleet: Fleet) -> tuple[int, int]:
    """Compute max surge and max unavailable; if both would be 0, one may be unavailable."""
    rolling, desired = fleet.spec.strategy.rolling_update, fleet.spec.replicas
    surge = parse_amount(rolling.max_surge, desired, up=True)
    unavailable = parse_amount(rolling.max_unavailable, desired, up=False)
    return (surge, unavailable) if surge or unavailable else (0, 1)


def count_budgets(fleet: Fleet, now: datetime) -> dict[str, int]:
    """Machines that may be missing, by reason: the smallest of the budgets that are active."""
    found: dict[str, int] = {}
    disruption = fleet.spec.disruption
    for budget in disruption.budgets if disruption is not None else ():
        if not _is_active(budget, now):
            continue
        allowed = _compute_allowed(budget.nodes, fleet.spec.replicas)
        for reason in budget.reasons or DISRUPTIONS:
            found[reason] = min(allowed, found.get(reason, allowed))
    return found


def _is_active(budget: DisruptionBudget, now: datetime) -> bool:
    """Whether a budget is active; one without a schedule, or with an invalid one, always is."""
    if not budget.schedule:
        return True
    try:
        return cron.is_active(budget.schedule, parse_seconds(budget.duration) or 60.0, now)
    except cron.InvalidSchedule:
        return True


def _compute_allowed(amount: int | str, desired: int) -> int:
    """How many machines an amount allows; a percentage allows at least one, unless it is 0 %."""
    text = str(amount)
    allowed = parse_amount(amount, desired, up=False)
    return max(1, allowed) if text.endswith("%") and text != "0%" else allowed
