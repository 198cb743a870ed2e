"""What the metrics page says of experiments."""

from datetime import UTC, datetime

from tests.unit.operators.experiments.samples import experiment

from quarterdeck.kit.metrics import Registry
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.experiments.foreign import GKECluster
from quarterdeck.operators.experiments.metrics import ExperimentMetrics, find_orphans
from quarterdeck.operators.experiments.naming import LABEL_UID

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def claim(uid: str) -> GKECluster:
    return GKECluster(metadata=ObjectMeta(name="c", labels={LABEL_UID: uid}))


def test_objects_without_an_experiment_are_orphans() -> None:
    mine, lost = claim("uid-1"), claim("uid-2")
    assert find_orphans([experiment()], [mine, lost]) == [lost]


def test_gauges_follow_the_caches() -> None:
    registry = Registry()
    metrics = ExperimentMetrics(registry)
    gke = {"name": "app", "cluster": {"type": "gke", "machineType": "e2-medium"}}
    status = {
        "phase": "Running",
        "targets": [{"name": "app", "createdAt": "2026-01-01T00:00:00Z", "nodeCount": 2}],
    }
    metrics.refresh([experiment("a", gke, status=status)], [claim("uid-2")], now=NOW)
    assert registry.get_value("experiment_phase", "experiments", "Running") == 1
    assert round(registry.get_value("experiment_cost_usd_per_hour"), 4) == 0.067
    assert registry.get_value("experiment_orphans", "GKECluster") == 1
    metrics.refresh([], [], now=NOW)
    assert registry.get_value("experiment_orphans", "GKECluster") == 0
    assert registry.get_value("experiment_phase", "experiments", "Running") == 0


def test_failures_and_durations_are_counted() -> None:
    registry = Registry()
    metrics = ExperimentMetrics(registry)
    metrics.count_failure("ClusterTimeout")
    metrics.observe_phase("Ready", 3.0)
    metrics.observe_cluster("gke", 300.0)
    assert registry.get_value("experiment_failures_total", "ClusterTimeout") == 1
    assert registry.get_value("experiment_phase_duration_seconds", "Ready") == 1
    assert registry.get_value("experiment_target_provision_seconds", "gke") == 1
