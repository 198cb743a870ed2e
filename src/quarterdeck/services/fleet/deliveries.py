"""Counts what collectors report about pipelines. Pure.

A collector reports on its whole configuration. A failure is attributed to the parts that it had not
applied before, not to pipelines that it ran until now.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from quarterdeck.kit import rfc3339
from quarterdeck.services.fleet.config_status import FAILED
from quarterdeck.services.fleet.configs import Configs
from quarterdeck.services.fleet.records import Collector
from quarterdeck.services.fleet.secret_texts import SecretTexts

MAX_FAILURES = 10
INACTIVE_AFTER = timedelta(minutes=5)
"""A bit more than three polls at the default interval of one minute."""
DELETED_AFTER = timedelta(days=30)
"""How long a collector may be inactive before it is deleted."""
_COUNTS = ("assigned", "applied", "applying", "failed", "stale")


def is_inactive(collector: Collector, now: datetime) -> bool:
    """Whether a collector has unregistered, or has not polled for INACTIVE_AFTER."""
    if collector.marked_inactive_at or not collector.last_seen:
        return True
    return now - rfc3339.parse(collector.last_seen) > INACTIVE_AFTER


def plan_upkeep(
    collectors: Iterable[Collector], now: datetime
) -> tuple[list[Collector], list[str]]:
    """Collectors to mark as inactive, and ids of those to delete after DELETED_AFTER."""
    marked, gone = [], []
    stamp = rfc3339.format_time(now)
    for collector in collectors:
        since = collector.marked_inactive_at or collector.last_seen
        if since and now - rfc3339.parse(since) > DELETED_AFTER:
            gone.append(collector.id)
        elif since and not collector.marked_inactive_at and is_inactive(collector, now):
            marked.append(msgspec.structs.replace(collector, marked_inactive_at=stamp))
    return marked, gone


def classify_part(collector: Collector, part: str, *, inactive: bool) -> str:
    """The state of one part of a collector's configuration."""
    if inactive or part not in collector.served:
        return "stale"
    if collector.status == FAILED and part in find_suspects(collector):
        return "failed"
    return "applied" if part in collector.applied else "applying"


def find_suspects(collector: Collector) -> frozenset[str]:
    """The parts that may have caused a failure: new ones, or all if none is new."""
    new = frozenset(collector.served) - frozenset(collector.applied)
    return new or frozenset(collector.served)


def count_deliveries(
    collectors: Iterable[Collector], configs: Configs, now: datetime, *, secrets: SecretTexts
) -> dict[str, dict[str, dict[str, Any]]]:
    """Counts by pipeline and digest; `failures` names some of the collectors that failed."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for collector in collectors:
        inactive = is_inactive(collector, now)
        for part in configs.get_config(collector).parts:
            identity, _, digest = part.partition(":")
            counts = found.setdefault(identity, {}).setdefault(digest, _build_empty_counts())
            state = classify_part(collector, part, inactive=inactive)
            counts["assigned"] += 1
            counts[state] += 1
            if state == "failed" and len(counts["failures"]) < MAX_FAILURES:
                counts["failures"].append(f"{collector.id}: {secrets.get_message(collector)}")
    return found


def find_conflicts(
    collectors: Iterable[Collector], configs: Configs
) -> Mapping[str, frozenset[str]]:
    """Pipelines whose OpenTelemetry settings conflict on some collector, by name."""
    found: dict[str, set[str]] = {}
    seen: set[int] = set()
    for collector in collectors:
        merged = configs.get_config(collector).merged
        if not merged.conflicting_pairs or id(merged) in seen:
            continue
        seen.add(id(merged))
        for loser, winner in merged.conflicting_pairs:
            found.setdefault(loser, set()).add(winner)
            found.setdefault(winner, set()).add(loser)
    return {name: frozenset(names) for name, names in found.items()}


def _build_empty_counts() -> dict[str, Any]:
    return {**dict.fromkeys(_COUNTS, 0), "failures": []}
