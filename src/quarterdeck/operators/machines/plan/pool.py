"""Plans how many runners a pool has, and which ones are removed. Pure.

The minimum counts idle runners; jobs need further ones. A busy runner is never chosen, except
when its job took longer than the pool allows.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from quarterdeck.apis.hypervisor.pool import ScheduledOverride
from quarterdeck.operators.machines.sizes import parse_time

State = Literal["pending", "idle", "busy", "failed", "deleting"]
Reason = Literal["ScaleDown", "IdleTimeout", "LifetimeExceeded", "JobTimeout", "Failed"]
BACKOFF_S = (0.0, 5.0, 10.0, 20.0, 40.0, 80.0)


class Runner(NamedTuple):
    """The facts about one runner that the plan uses."""

    name: str
    state: State
    age_s: float = 0.0
    idle_s: float = 0.0
    """How long it has been without a job."""
    job_s: float = 0.0
    """How long its job has been running."""
    is_kept: bool = False
    """Failed, and kept for debugging."""


class PoolDemand(NamedTuple):
    """Limits, timeouts and queued jobs of a pool."""

    min_idle: int
    max_runners: int
    queued: int = 0
    warm: int = 0
    surge: int = 0
    scale_down_delay_s: float = 300.0
    quiet_s: float = 1e9
    """How long ago demand last rose or a job last ended."""
    max_lifetime_s: float = 0.0
    idle_timeout_s: float = 0.0
    job_timeout_s: float = 0.0
    failures: int = 0
    last_failure_s: float | None = None


class Removal(NamedTuple):
    """A runner to be deleted."""

    name: str
    reason: Reason


class Plan(NamedTuple):
    """The changes to make now."""

    desired: int
    create: int = 0
    remove: tuple[Removal, ...] = ()
    check_s: float | None = None


def plan_pool(runners: Sequence[Runner], demand: PoolDemand) -> Plan:
    """Decide how many runners to create, and which ones to remove."""
    counts = count_states(runners)
    busy, present = counts["busy"], counts["pending"] + counts["idle"] + counts["busy"]
    desired = count_desired(demand, busy)
    removals = [*_remove_failed(runners), *_remove_overdue(runners, demand)]
    gone = {each.name for each in removals}
    left = [each for each in runners if each.name not in gone]
    removals += _remove_idle(left, demand, excess=present - desired - _count_gone(runners, gone))
    wait_s = _compute_backoff_left(demand)
    missing = max(0, desired - present)
    return Plan(
        desired,
        create=missing if wait_s <= 0 else 0,
        remove=tuple(removals),
        check_s=_compute_check_s(
            runners, demand, wait_s=wait_s if missing else 0.0, has_excess=present > desired
        ),
    )


def count_states(runners: Sequence[Runner]) -> dict[str, int]:
    """Count runners by state."""
    counts = dict.fromkeys(("pending", "idle", "busy", "failed", "deleting"), 0)
    for each in runners:
        counts[each.state] += 1
    return counts


def count_desired(demand: PoolDemand, busy: int) -> int:
    """The idle minimum plus jobs and extras, at most the maximum, at least the busy runners."""
    work = busy + demand.queued
    extra = demand.warm if work else 0
    extra += demand.surge if demand.queued else 0
    return max(busy, min(demand.max_runners, demand.min_idle + work + extra))


def _remove_failed(runners: Sequence[Runner]) -> list[Removal]:
    return [
        Removal(each.name, "Failed")
        for each in runners
        if each.state == "failed" and not each.is_kept
    ]


def _remove_overdue(runners: Sequence[Runner], demand: PoolDemand) -> list[Removal]:
    """Remove idle runners that are too old, and runners whose job takes too long."""
    found = []
    for each in runners:
        if each.state == "idle" and 0 < demand.max_lifetime_s <= each.age_s:
            found.append(Removal(each.name, "LifetimeExceeded"))
        elif each.state == "busy" and 0 < demand.job_timeout_s <= each.job_s:
            found.append(Removal(each.name, "JobTimeout"))
    return found


def _count_gone(runners: Sequence[Runner], gone: set[str]) -> int:
    return sum(each.name in gone and each.state in ("idle", "busy") for each in runners)


def _remove_idle(runners: Sequence[Runner], demand: PoolDemand, *, excess: int) -> list[Removal]:
    """Remove surplus idle runners after the scale-down delay, or after their idle timeout."""
    if excess <= 0:
        return []
    is_quiet = demand.quiet_s >= demand.scale_down_delay_s
    idle = sorted(
        (each for each in runners if each.state == "idle"),
        key=lambda each: (-each.age_s, each.name),
    )
    found: list[Removal] = []
    for each in idle:
        if len(found) >= excess:
            break
        is_overdue = 0 < demand.idle_timeout_s <= each.idle_s
        if is_overdue:
            found.append(Removal(each.name, "IdleTimeout"))
        elif is_quiet and each.idle_s >= demand.scale_down_delay_s:
            found.append(Removal(each.name, "ScaleDown"))
    return found


def _compute_backoff_left(demand: PoolDemand) -> float:
    if demand.failures <= 0 or demand.last_failure_s is None:
        return 0.0
    delay = BACKOFF_S[min(demand.failures, len(BACKOFF_S)) - 1]
    return max(0.0, delay - demand.last_failure_s)


def _compute_check_s(
    runners: Sequence[Runner], demand: PoolDemand, *, wait_s: float, has_excess: bool
) -> float | None:
    times = [wait_s] if wait_s > 0 else []
    if has_excess:
        times.append(demand.scale_down_delay_s - demand.quiet_s)
    for each in runners:
        if each.state == "idle":
            if demand.max_lifetime_s:
                times.append(demand.max_lifetime_s - each.age_s)
            if has_excess:
                times.append(demand.scale_down_delay_s - each.idle_s)
                times.append(demand.idle_timeout_s - each.idle_s)
        elif each.state == "busy" and demand.job_timeout_s:
            times.append(demand.job_timeout_s - each.job_s)
    times = [time for time in times if time > 0]
    return max(0.05, min(times)) if times else None


# --- schedules


def find_minimum(
    overrides: Sequence[ScheduledOverride], default: int, now: datetime
) -> tuple[int, float | None]:
    """The current minimum by the scheduled overrides, and the seconds until it may change."""
    changes = []
    minimum: int | None = None
    for override in overrides:
        start, end = _find_window(override, now)
        if start is None or end is None:
            continue
        if start <= now < end:
            changes.append((end - now).total_seconds())
            if minimum is None:
                minimum = override.min_replicas
        elif start > now:
            changes.append((start - now).total_seconds())
    found = default if minimum is None else minimum
    return found, (max(0.05, min(changes)) if changes else None)


_PERIODS = {"Daily": 1, "Weekly": 7}


def _find_window(
    override: ScheduledOverride, now: datetime
) -> tuple[datetime | None, datetime | None]:
    """Start and end of the current or next window; None if there is none any more."""
    start, end = parse_time(override.start), parse_time(override.end)
    if start is None or end is None or end <= start:
        return None, None
    length = end - start
    if override.recurrence in _PERIODS:
        period = timedelta(days=_PERIODS[override.recurrence])
        if now >= end:
            start += period * (((now - end) // period) + 1)
    elif override.recurrence in ("Monthly", "Yearly"):
        months = 1 if override.recurrence == "Monthly" else 12
        first, step = start, 0
        while start + length <= now:
            step += months
            start = _add_months(first, step)
    elif now >= end:
        return None, None
    return start, start + length


def _add_months(moment: datetime, months: int) -> datetime:
    """Add months to a time; a day that the month does not have becomes its last day."""
    month = moment.month - 1 + months
    year, month = moment.year + month // 12, month % 12 + 1
    for day in range(moment.day, 27, -1):
        try:
            return moment.replace(year=year, month=month, day=day)
        except ValueError:
            continue
    return moment.replace(year=year, month=month)
