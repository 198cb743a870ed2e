"""Time to live, budgets and prices."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from tests.unit.operators.experiments.samples import experiment

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.operators.experiments import limits, prices
from quarterdeck.operators.experiments.conditions import Reason
from quarterdeck.operators.experiments.settings import Settings

CREATED = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = Settings()


def made(*targets: dict[str, Any], status: dict[str, Any] | None = None, **spec: Any) -> Experiment:
    found = experiment("e", *targets, status=status, **spec)
    metadata = msgspec.structs.replace(found.metadata, creation_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(found, metadata=metadata)


def check(found: Experiment, after: timedelta) -> limits.Stop | None:
    return limits.check(found, now=CREATED + after, settings=SETTINGS)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, timedelta(hours=24)),
        ({"ttlDays": 1}, timedelta(hours=24)),
        ({"ttlDays": 0}, timedelta(hours=24)),
        ({"ttlDays": -1}, timedelta(hours=24)),
        ({"ttlDays": 7}, timedelta(days=7)),
        ({"ttlDays": 7, "ttlSecondsActive": 60}, timedelta(minutes=1)),
    ],
)
def test_an_experiment_expires_at_the_end_of_its_time(
    spec: dict[str, Any], expected: timedelta
) -> None:
    assert limits.compute_expiry(made(**spec), SETTINGS) == CREATED + expected


def test_an_experiment_is_kept_until_its_time_is_over() -> None:
    found = made(ttlDays=7)
    assert check(found, timedelta(days=6)) is None
    stop = check(found, timedelta(days=8))
    assert stop is not None and (stop.reason, stop.is_success) == (Reason.DEADLINE_EXCEEDED, False)
    now = CREATED + timedelta(days=6)
    assert limits.compute_next_check_s(found, now=now, settings=SETTINGS) == 24 * 3600


def test_the_end_of_a_lesson_is_a_success() -> None:
    manual = {"template": "t", "completion": {"mode": "manual"}}
    stop = check(made(workflow=manual, status={"phase": "Running"}), timedelta(days=2))
    assert stop is not None and stop.is_success
    early = check(made(workflow=manual, status={"phase": "Ready"}), timedelta(days=2))
    assert early is not None and not early.is_success


@pytest.mark.parametrize(
    ("cluster", "nodes", "hours", "expected"),
    [
        (
            {"type": "gke", "machineType": "e2-standard-4", "preemptible": True},
            1,
            0.7911031941566666,
            0.02120156560339867,
        ),
        ({"type": "gke", "machineType": "e2-medium"}, 2, 1.0, 0.067),
        ({"type": "gke", "machineType": "z9-unknown"}, 1, 2.0, 0.20),
        ({"type": "gke"}, 0, 1.0, 0.0335),
        ({"type": "hub"}, 0, 5.0, 0.0),
        ({"type": "vcluster"}, 3, 5.0, 0.0),
    ],
)
def test_a_cluster_costs_its_hourly_price_times_hours(
    cluster: dict[str, Any], nodes: int, hours: float, expected: float
) -> None:
    found = made(
        {"name": "app", "cluster": cluster},
        status={
            "targets": [{"name": "app", "createdAt": "2026-01-01T00:00:00Z", "nodeCount": nodes}]
        },
    )
    per_hour = prices.compute_hourly_usd(found.spec.targets[0], found.status.targets[0])
    assert per_hour * hours == pytest.approx(expected, rel=1e-9)
    spent = prices.compute_spent_usd(found, now=CREATED + timedelta(hours=hours))
    assert spent == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_budget_is_checked_when_it_will_be_spent() -> None:
    found = made(
        {"name": "app", "cluster": {"type": "gke", "machineType": "e2-medium"}},
        budget={"maxUSD": "0.067"},
        status={"targets": [{"name": "app", "createdAt": "2026-01-01T00:00:00Z", "nodeCount": 1}]},
    )
    assert check(found, timedelta(hours=1)) is None
    left_s = limits.compute_next_check_s(found, now=CREATED + timedelta(hours=1), settings=SETTINGS)
    assert left_s == pytest.approx(3600)
    stop = check(found, timedelta(hours=2, seconds=1))
    assert stop is not None and stop.reason is Reason.BUDGET_EXCEEDED


def test_a_cluster_that_was_not_requested_costs_nothing() -> None:
    found = made({"name": "app", "cluster": {"type": "gke"}}, status={"targets": [{"name": "app"}]})
    assert prices.compute_spent_usd(found, now=CREATED + timedelta(hours=9)) == 0
    assert prices.compute_burn_usd(found) == 0
