"""What collectors report about pipelines, counted. Pure.

A collector reports on its whole configuration. Whatever it received and had not applied before is
suspected of a failure: a pipeline that it ran until now is not.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from quarterdeck.kit import rfc3339
from quarterdeck.services.fleet.config_status import FAILED
from quarterdeck.services.fleet.configs import Configs
from quarterdeck.services.fleet.records import Collector

MAX_FAILURES = 10
INACTIVE_AFTER = timedelta(minutes=5)
"""Three polls of the default minute, and then some."""
DELETED_AFTER = timedelta(days=30)
"""After this a collector that does not come back is forgotten."""
_COUNTS = ("assigned", "applied", "applying", "failed", "stale")


def is_inactive(collector: Collector, now: datetime) -> bool:
    """Whether a collector left, or has not polled for long."""
    if collector.marked_inactive_at or not collector.last_seen:
        return True
    return now - rfc3339.parse(collector.last_seen) > INACTIVE_AFTER


def plan_upkeep(
    collectors: Iterable[Collector], now: datetime
) -> tuple[list[Collector], list[str]]:
    """Collectors to mark as inactive, and the ids of those that left so long ago to be deleted."""
    marked, gone = [], []
    stamp = rfc3339.format_time(now)
    for collector in collectors:
        since = collector.marked_inactive_at or collector.last_seen
        if since and now - rfc3339.parse(since) > DELETED_AFTER:
            gone.append(collector.id)
        elif since and not collector.marked_inactive_at and is_inactive(collector, now):
            marked.append(msgspec.structs.replace(collector, marked_inactive_at=stamp))
    return marked, gone


def judge(collector: Collector, part: str, *, inactive: bool) -> str:
    """How one part of its configuration does on a collector."""
    if inactive or part not in collector.served:
        return "stale"
    if collector.status == FAILED and part in find_suspects(collector):
        return "failed"
    return "applied" if part in collector.applied else "applying"


def find_suspects(collector: Collector) -> frozenset[str]:
    """The parts that a failure of its configuration may be due to."""
    new = frozenset(collector.served) - frozenset(collector.applied)
    return new or frozenset(collector.served)


def count_deliveries(
    collectors: Iterable[Collector], configs: Configs, now: datetime
) -> dict[str, dict[str, dict[str, Any]]]:
    """Counts by pipeline and digest; `failures` names some of the collectors that failed."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for collector in collectors:
        inactive = is_inactive(collector, now)
        for part in configs.get_config(collector).parts:
            identity, _, digest = part.partition(":")
            counts = found.setdefault(identity, {}).setdefault(digest, _build_empty_counts())
            verdict = judge(collector, part, inactive=inactive)
            counts["assigned"] += 1
            counts[verdict] += 1
            if verdict == "failed" and len(counts["failures"]) < MAX_FAILURES:
                counts["failures"].append(f"{collector.id}: {collector.error_message}")
    return found


def find_conflicts(
    collectors: Iterable[Collector], configs: Configs
) -> Mapping[str, frozenset[str]]:
    """Pipelines whose OpenTelemetry settings contradict each other somewhere, by name."""
    found: dict[str, set[str]] = {}
    seen: set[int] = set()
    for collector in collectors:
        merged = configs.get_config(collector).merged
        if not merged.rivals or id(merged) in seen:
            continue
        seen.add(id(merged))
        for loser, winner in merged.rivals:
            found.setdefault(loser, set()).add(winner)
            found.setdefault(winner, set()).add(loser)
    return {name: frozenset(names) for name, names in found.items()}


def _build_empty_counts() -> dict[str, Any]:
    return {**dict.fromkeys(_COUNTS, 0), "failures": []}
