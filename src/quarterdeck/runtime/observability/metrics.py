"""Every metric of the runtime, declared once, with controller-runtime's names, labels and buckets.

Dashboards and alerts written for Go operators work unchanged. What is our own has the prefix
`quarterdeck_`.
"""

from quarterdeck.kit.metrics import Registry

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
_QUEUE_LABELS = ("name", "controller")


class Metrics:
    """All families in one registry."""

    def __init__(self, registry: Registry | None = None) -> None:
        self.registry = registry if registry is not None else Registry()
        self._declare_reconciles(self.registry)
        self._declare_queue(self.registry)
        self._declare_client(self.registry)
        self._declare_webhooks(self.registry)
        self._declare_own(self.registry)

    def _declare_reconciles(self, registry: Registry) -> None:
        controller = ("controller",)
        self.reconcile_total = registry.counter(
            "controller_runtime_reconcile_total",
            "Total number of reconciliations per controller",
            ("controller", "result"),
        )
        self.reconcile_errors = registry.counter(
            "controller_runtime_reconcile_errors_total",
            "Total number of reconciliation errors per controller",
            controller,
        )
        self.terminal_errors = registry.counter(
            "controller_runtime_terminal_reconcile_errors_total",
            "Total number of terminal reconciliation errors per controller",
            controller,
        )
        self.panics = registry.counter(
            "controller_runtime_reconcile_panics_total",
            "Total number of reconciliation panics per controller",
            controller,
        )
        self.timeouts = registry.counter(
            "controller_runtime_reconcile_timeouts_total",
            "Total number of reconciliation timeouts per controller",
            controller,
        )
        self.reconcile_time = registry.histogram(
            "controller_runtime_reconcile_time_seconds",
            "Length of time per reconciliation per controller",
            controller,
            buckets=RECONCILE_BUCKETS,
        )
        self.max_concurrent = registry.gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Maximum number of concurrent reconciles per controller",
            controller,
        )
        self.active_workers = registry.gauge(
            "controller_runtime_active_workers",
            "Number of currently used workers per controller",
            controller,
        )

    def _declare_queue(self, registry: Registry) -> None:
        self.depth = registry.gauge(
            "workqueue_depth",
            "Current depth of workqueue by workqueue and priority",
            (*_QUEUE_LABELS, "priority"),
        )
        self.adds = registry.counter(
            "workqueue_adds_total", "Total number of adds handled by workqueue", _QUEUE_LABELS
        )
        self.retries = registry.counter(
            "workqueue_retries_total", "Total number of retries handled by workqueue", _QUEUE_LABELS
        )
        self.queue_duration = registry.histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            _QUEUE_LABELS,
            buckets=QUEUE_BUCKETS,
        )
        self.work_duration = registry.histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes.",
            _QUEUE_LABELS,
            buckets=QUEUE_BUCKETS,
        )
        self.unfinished = registry.gauge(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work has been done that is in progress and hasn't been "
            "observed by work_duration.",
            _QUEUE_LABELS,
        )
        self.longest_running = registry.gauge(
            "workqueue_longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running.",
            _QUEUE_LABELS,
        )

    def _declare_client(self, registry: Registry) -> None:
        self.requests = registry.counter(
            "rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            ("code", "method", "host"),
        )
        self.request_duration = registry.histogram(
            "rest_client_request_duration_seconds",
            "Request latency in seconds. Broken down by verb, and host.",
            ("verb", "host"),
            buckets=REQUEST_BUCKETS,
        )
        self.request_size = registry.histogram(
            "rest_client_request_size_bytes",
            "Request size in bytes. Broken down by verb and host.",
            ("verb", "host"),
            buckets=SIZE_BUCKETS,
        )
        self.response_size = registry.histogram(
            "rest_client_response_size_bytes",
            "Response size in bytes. Broken down by verb and host.",
            ("verb", "host"),
            buckets=SIZE_BUCKETS,
        )
        self.leader = registry.gauge(
            "leader_election_master_status",
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates "
            "backup, 1 indicates master.",
            ("name",),
        )
        self.slow_path = registry.counter(
            "leader_election_slowpath_total",
            "Total number of slow path exercised in renewing leader leases.",
            ("name",),
        )

    def _declare_webhooks(self, registry: Registry) -> None:
        webhook = ("webhook",)
        self.webhook_latency = registry.histogram(
            "controller_runtime_webhook_latency_seconds",
            "Histogram of the latency of processing admission requests",
            webhook,
            buckets=QUEUE_BUCKETS,
        )
        self.webhook_requests = registry.counter(
            "controller_runtime_webhook_requests_total",
            "Total number of admission requests by HTTP status code.",
            ("webhook", "code"),
        )
        self.webhooks_in_flight = registry.gauge(
            "controller_runtime_webhook_requests_in_flight",
            "Current number of admission requests being served.",
            webhook,
        )
        self.webhook_panics = registry.counter(
            "controller_runtime_webhook_panics_total", "Total number of webhook panics"
        )

    def _declare_own(self, registry: Registry) -> None:
        kind = ("kind",)
        self.cache_objects = registry.gauge("quarterdeck_cache_objects", "Objects in a cache", kind)
        self.cache_bytes = registry.gauge(
            "quarterdeck_cache_bytes", "Bytes of objects in a cache", kind
        )
        self.watch_age = registry.gauge(
            "quarterdeck_watch_silent_seconds",
            "Time since a watch last received an event or a bookmark",
            kind,
        )
        self.relists = registry.gauge(
            "quarterdeck_watch_lists_total", "Full lists that a watch made", kind
        )
        self.skipped_writes = registry.counter(
            "quarterdeck_skipped_writes_total",
            "Writes skipped because they would change nothing",
            ("controller",),
        )
        self.writes = registry.counter(
            "quarterdeck_writes_total", "Writes sent by reconciles", ("controller",)
        )
        self.own_events = registry.counter(
            "quarterdeck_own_events_total",
            "Events caused by the controller's own writes, which start no reconcile",
            ("controller",),
        )
        self.loop_lag = registry.histogram(
            "quarterdeck_event_loop_lag_seconds",
            "Delay between the time a callback is due and the time the event loop runs it",
            buckets=LAG_BUCKETS,
        )
