"""Decides when to visit again, and which differences are worth a status write. Pure."""

from collections.abc import Iterable, Mapping

import msgspec

from quarterdeck.apis.clusterpulse.group import MIN_INTERVAL_S
from quarterdeck.inventory.health import Finding, Health, Verdict
from quarterdeck.meta.conditions import TRUE, Condition

MAX_ERROR_S = 60.0
SLOW_MS = 5000


class Since(msgspec.Struct, frozen=True):
    """The health of a condition, and the time since which it has had it."""

    health: Health
    time: str


def find_since(
    verdict: Verdict, known: Mapping[str, Since], conditions: Iterable[Condition], now: str
) -> dict[str, Since]:
    """For each condition, the time since which it has had its current health.

    `known` is the result of the last visit. After a restart it is empty, and the times come from
    the conditions of the object. The time of a condition changes only with its status, and True
    stands for several healths, so the time of a True condition is used only if the reason is the
    same, too.
    """
    written = {each.type: each for each in conditions}
    found = {}
    for type_, finding in verdict.findings:
        time, last, before = now, known.get(type_), written.get(type_)
        if last is not None:
            time = last.time if last.health is finding.health else now
        elif before is not None and _is_same(before, finding):
            time = before.last_transition_time or now
        found[type_] = Since(finding.health, time)
    return found


def _is_same(before: Condition, finding: Finding) -> bool:
    if before.status != finding.status:
        return False
    return finding.status != TRUE or before.reason == finding.reason


def get_interval(spec: int | None, default: int) -> int:
    """The interval of an object: its own, or the hub's, and never below 30 seconds."""
    return max(MIN_INTERVAL_S, spec or default)


def plan_visit(interval_s: int, health: Health, *, failed: bool = False) -> float:
    """Seconds until a cluster is read again: sooner if it is unhealthy or could not be read."""
    if health is not Health.UNHEALTHY and not failed:
        return float(interval_s)
    sooner = max(float(MIN_INTERVAL_S), interval_s / 2)
    return min(sooner, MAX_ERROR_S) if failed else sooner


def plan_collection_delay(interval_s: int, *, errors: bool) -> float:
    """Seconds until a MetricSource is collected again: half the interval after errors."""
    return max(float(MIN_INTERVAL_S), interval_s / 2) if errors else float(interval_s)


def assess_registry(*, available: bool, response_ms: int, authenticated: bool) -> Health:
    """The health of a registry, from the results of a check."""
    if not available:
        return Health.UNHEALTHY
    if not authenticated or response_ms > SLOW_MS:
        return Health.DEGRADED
    return Health.HEALTHY


def is_time_changed(before_ms: int, after_ms: int) -> bool:
    """Whether a response time changed enough to be written to the status."""
    difference = abs(after_ms - before_ms)
    return difference > 1000 or (difference > 50 and difference > before_ms / 2)


def is_count_changed(before: int, after: int) -> bool:
    """Whether the number of repositories changed enough to be written to the status."""
    difference = abs(after - before)
    return difference > 10 or difference > before / 10
