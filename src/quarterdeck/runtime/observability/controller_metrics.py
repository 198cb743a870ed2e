"""The metrics of one controller and of its queue, bound to the controller's name once."""

from quarterdeck.kit.metrics import OVERFLOW, Counter, Gauge
from quarterdeck.runtime.observability.metrics import Metrics

RESULTS = ("error", "requeue_after", "requeue", "success")
MAX_PRIORITIES = 25


class ControllerMetrics:
    """The metrics of one controller, bound once and initialized to zero."""

    def __init__(self, metrics: Metrics, name: str, *, workers: int) -> None:
        self.results: dict[str, Counter] = {
            result: metrics.reconcile_total.labels(name, result) for result in RESULTS
        }
        self.errors = metrics.reconcile_errors.labels(name)
        self.terminal_errors = metrics.terminal_errors.labels(name)
        self.panics = metrics.panics.labels(name)
        self.timeouts = metrics.timeouts.labels(name)
        self.time = metrics.reconcile_time.labels(name)
        self.active = metrics.active_workers.labels(name)
        self.skipped_writes = metrics.skipped_writes.labels(name)
        self.writes = metrics.writes.labels(name)
        self.own_events = metrics.own_events.labels(name)
        metrics.max_concurrent.labels(name).set(workers)
        self.queue = QueueMetrics(metrics, name)


class QueueMetrics:
    """The observer of one controller's queue."""

    def __init__(self, metrics: Metrics, name: str) -> None:
        self._name = name
        self._depth = metrics.depth
        self._depths: dict[int, Gauge] = {}
        self._adds = metrics.adds.labels(name, name)
        self._retries = metrics.retries.labels(name, name)
        self._waits = metrics.queue_duration.labels(name, name)
        self._works = metrics.work_duration.labels(name, name)
        self._ensure_depth(0)

    def _ensure_depth(self, priority: int) -> Gauge:
        gauge = self._depths.get(priority)
        if gauge is None:
            is_known = len(self._depths) < MAX_PRIORITIES
            label = str(priority) if is_known else OVERFLOW
            gauge = self._depth.labels(self._name, self._name, label)
            if is_known:
                self._depths[priority] = gauge
        return gauge

    def on_add(self, priority: int) -> None:
        """A key became due."""
        self._adds.value += 1
        (self._depths.get(priority) or self._ensure_depth(priority)).value += 1

    def on_get(self, priority: int, waited_s: float) -> None:
        """A key was handed out."""
        (self._depths.get(priority) or self._ensure_depth(priority)).value -= 1
        self._waits.observe(waited_s)

    def on_priority_change(self, before: int, after: int) -> None:
        """A key's priority changed."""
        self._ensure_depth(before).value -= 1
        self._ensure_depth(after).value += 1

    def on_done(self, worked_s: float) -> None:
        """A worker is done."""
        self._works.observe(worked_s)

    def on_retry(self) -> None:
        """A key was added with a delay."""
        self._retries.value += 1
