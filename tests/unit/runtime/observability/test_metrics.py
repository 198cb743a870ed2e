"""Metrics of controllers and queues."""

from quarterdeck.runtime.observability.controller_metrics import ControllerMetrics, QueueMetrics
from quarterdeck.runtime.observability.metrics import Metrics


def test_controller_metrics_start_at_zero_with_the_names_of_controller_runtime() -> None:
    metrics = Metrics()
    ControllerMetrics(metrics, "thing", workers=4)
    text = metrics.registry.render().decode()
    for line in (
        'controller_runtime_reconcile_total{controller="thing",result="requeue_after"} 0',
        'controller_runtime_reconcile_panics_total{controller="thing"} 0',
        'controller_runtime_terminal_reconcile_errors_total{controller="thing"} 0',
        'controller_runtime_max_concurrent_reconciles{controller="thing"} 4',
        'workqueue_adds_total{name="thing",controller="thing"} 0',
        'controller_runtime_reconcile_time_seconds_bucket{controller="thing",le="60"} 0',
        'workqueue_queue_duration_seconds_bucket{name="thing",controller="thing",le="1e-08"} 0',
    ):
        assert line in text


def test_many_priorities_share_one_label() -> None:
    metrics = Metrics()
    queue = QueueMetrics(metrics, "q")
    for priority in range(40):
        queue.on_add(priority)
    labels = {values[2] for values in metrics.depth.series()}
    assert len(labels) == 26
    assert "exceeded_cardinality_limit" in labels
