"""Every metric of the runtime, declared once, with controller-runtime's names, labels and buckets.

Dashboards and alerts written for Go operators work unchanged. What is our own has the prefix
`quarterdeck_`.
"""

from typing import TYPE_CHECKING

import msgspec

from quarterdeck.client.interfaces import Exchange
from quarterdeck.kit.metrics import OVERFLOW, Counter, Gauge, Histogram, Registry
from quarterdeck.wire.path import ResourcePath

if TYPE_CHECKING:
    from collections.abc import Sequence

RECONCILE_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8),
    *(0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0),
    *(15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
QUEUE_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))
REQUEST_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
SIZE_BUCKETS = (
    *(64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0),
    *(4194304.0, 16777216.0),
)
LAG_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
RESULTS = ("error", "requeue_after", "requeue", "success")
MAX_PRIORITIES = 25
_QUEUE_LABELS = ("name", "controller")


class Metrics:
    """All families in one registry."""

    def __init__(self, registry: Registry | None = None) -> None:
        self.registry = r = registry if registry is not None else Registry()
        one = ("controller",)
        self.reconcile_total = r.counter(
            "controller_runtime_reconcile_total",
            "Total number of reconciliations per controller",
            ("controller", "result"),
        )
        self.reconcile_errors = r.counter(
            "controller_runtime_reconcile_errors_total",
            "Total number of reconciliation errors per controller",
            one,
        )
        self.terminal_errors = r.counter(
            "controller_runtime_terminal_reconcile_errors_total",
            "Total number of terminal reconciliation errors per controller",
            one,
        )
        self.panics = r.counter(
            "controller_runtime_reconcile_panics_total",
            "Total number of reconciliation panics per controller",
            one,
        )
        self.timeouts = r.counter(
            "controller_runtime_reconcile_timeouts_total",
            "Total number of reconciliation timeouts per controller",
            one,
        )
        self.reconcile_time = r.histogram(
            "controller_runtime_reconcile_time_seconds",
            "Length of time per reconciliation per controller",
            one,
            buckets=RECONCILE_BUCKETS,
        )
        self.max_concurrent = r.gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Maximum number of concurrent reconciles per controller",
            one,
        )
        self.active_workers = r.gauge(
            "controller_runtime_active_workers",
            "Number of currently used workers per controller",
            one,
        )
        self._declare_queue(r)
        self._declare_client(r)
        self._declare_webhooks(r)
        self._declare_own(r)

    def _declare_queue(self, r: Registry) -> None:
        self.depth = r.gauge(
            "workqueue_depth",
            "Current depth of workqueue by workqueue and priority",
            (*_QUEUE_LABELS, "priority"),
        )
        self.adds = r.counter(
            "workqueue_adds_total", "Total number of adds handled by workqueue", _QUEUE_LABELS
        )
        self.retries = r.counter(
            "workqueue_retries_total", "Total number of retries handled by workqueue", _QUEUE_LABELS
        )
        self.queue_duration = r.histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            _QUEUE_LABELS,
            buckets=QUEUE_BUCKETS,
        )
        self.work_duration = r.histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes.",
            _QUEUE_LABELS,
            buckets=QUEUE_BUCKETS,
        )
        self.unfinished = r.gauge(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work has been done that is in progress and hasn't been "
            "observed by work_duration.",
            _QUEUE_LABELS,
        )
        self.longest_running = r.gauge(
            "workqueue_longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running.",
            _QUEUE_LABELS,
        )

    def _declare_client(self, r: Registry) -> None:
        self.requests = r.counter(
            "rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            ("code", "method", "host"),
        )
        self.request_duration = r.histogram(
            "rest_client_request_duration_seconds",
            "Request latency in seconds. Broken down by verb, and host.",
            ("verb", "host"),
            buckets=REQUEST_BUCKETS,
        )
        self.request_size = r.histogram(
            "rest_client_request_size_bytes",
            "Request size in bytes. Broken down by verb and host.",
            ("verb", "host"),
            buckets=SIZE_BUCKETS,
        )
        self.response_size = r.histogram(
            "rest_client_response_size_bytes",
            "Response size in bytes. Broken down by verb and host.",
            ("verb", "host"),
            buckets=SIZE_BUCKETS,
        )
        self.leader = r.gauge(
            "leader_election_master_status",
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates "
            "backup, 1 indicates master.",
            ("name",),
        )
        self.slow_path = r.counter(
            "leader_election_slowpath_total",
            "Total number of slow path exercised in renewing leader leases.",
            ("name",),
        )

    def _declare_webhooks(self, r: Registry) -> None:
        one = ("webhook",)
        self.webhook_latency = r.histogram(
            "controller_runtime_webhook_latency_seconds",
            "Histogram of the latency of processing admission requests",
            one,
            buckets=QUEUE_BUCKETS,
        )
        self.webhook_requests = r.counter(
            "controller_runtime_webhook_requests_total",
            "Total number of admission requests by HTTP status code.",
            ("webhook", "code"),
        )
        self.webhooks_in_flight = r.gauge(
            "controller_runtime_webhook_requests_in_flight",
            "Current number of admission requests being served.",
            one,
        )
        self.webhook_panics = r.counter(
            "controller_runtime_webhook_panics_total", "Total number of webhook panics"
        )

    def _declare_own(self, r: Registry) -> None:
        kind = ("kind",)
        self.cache_objects = r.gauge("quarterdeck_cache_objects", "Objects in a cache", kind)
        self.cache_bytes = r.gauge("quarterdeck_cache_bytes", "Bytes of objects in a cache", kind)
        self.watch_age = r.gauge(
            "quarterdeck_watch_silent_seconds",
            "Time since a watch last received an event or a bookmark",
            kind,
        )
        self.relists = r.gauge(
            "quarterdeck_watch_lists_total", "Full lists that a watch made", kind
        )
        self.skipped_writes = r.counter(
            "quarterdeck_skipped_writes_total",
            "Writes skipped because they would change nothing",
            ("controller",),
        )
        self.writes = r.counter(
            "quarterdeck_writes_total", "Writes sent by reconciles", ("controller",)
        )
        self.own_events = r.counter(
            "quarterdeck_own_events_total",
            "Events caused by the controller's own writes, which start no reconcile",
            ("controller",),
        )
        self.loop_lag = r.histogram(
            "quarterdeck_event_loop_lag_seconds",
            "Delay between the time a callback is due and the time the event loop runs it",
            buckets=LAG_BUCKETS,
        )


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
        self._at(0)

    def _at(self, priority: int) -> Gauge:
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
        (self._depths.get(priority) or self._at(priority)).value += 1

    def on_get(self, priority: int, waited_s: float) -> None:
        """A key was handed out."""
        (self._depths.get(priority) or self._at(priority)).value -= 1
        self._waits.observe(waited_s)

    def on_priority_change(self, before: int, after: int) -> None:
        """A key's priority changed."""
        self._at(before).value -= 1
        self._at(after).value += 1

    def on_done(self, worked_s: float) -> None:
        """A worker is done."""
        self._works.observe(worked_s)

    def on_retry(self) -> None:
        """A key was added with a delay."""
        self._retries.value += 1


class ControllerMetrics:
    """The metrics of one controller, bound once and initialised to zero."""

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


class RequestMetrics:
    """Counts the client's requests; an `Observer`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._bound: dict[tuple[int, str, str], _Bound] = {}

    def before(self, verb: str, path: ResourcePath) -> "Sequence[tuple[str, str]]":
        """Nothing to add."""
        return ()

    def after(self, exchange: Exchange) -> None:
        """Count one request."""
        key = exchange.code, exchange.method, exchange.host
        bound = self._bound.get(key) or self._bind(*key)
        bound.requests.value += 1
        bound.duration.observe(exchange.duration_s)
        bound.sent.observe(exchange.request_bytes)
        if exchange.response_bytes >= 0:
            bound.received.observe(exchange.response_bytes)

    def _bind(self, code: int, method: str, host: str) -> "_Bound":
        metrics = self._metrics
        bound = self._bound[code, method, host] = _Bound(
            metrics.requests.labels(str(code) if code else "<error>", method, host),
            metrics.request_duration.labels(method, host),
            metrics.request_size.labels(method, host),
            metrics.response_size.labels(method, host),
        )
        return bound


class _Bound(msgspec.Struct, frozen=True):
    """The metrics of one kind of request, found once."""

    requests: Counter
    duration: Histogram
    sent: Histogram
    received: Histogram
