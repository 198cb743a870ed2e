"""The metrics of one API server, under the names Kubernetes gives them.

Requests are labeled with the resource they resolved to, after authentication: paths that no
resource serves share one label set, so that a client cannot create series by sending requests.
"""

from collections.abc import Collection
from typing import NamedTuple

from quarterdeck.kit.metrics import Counter, Histogram, Registry
from quarterdeck.storage import Store

_BUCKETS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0)
_MAX_SERIES = 5000
"""The most series of a metric: enough for all verbs and usual codes of hundreds of resources."""


class RequestLabels(NamedTuple):
    """The labels of a request; all values come from the server, none from the client."""

    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""


UNRESOLVED = RequestLabels()
"""Labels of requests that failed before they were routed: credentials, path or method."""
NON_RESOURCE = RequestLabels(verb="get")
"""Labels of requests for health, discovery and other paths without a resource."""


class Metrics:
    """The metrics of one server and their registry."""

    def __init__(self, store: Store, open_watches: Collection[object]) -> None:
        self.registry = Registry()
        self._requests = self.registry.counter(
            "apiserver_request_total",
            "Requests by verb, resource and HTTP status code.",
            (*RequestLabels._fields, "code"),
            max_series=_MAX_SERIES,
        )
        self._durations = self.registry.histogram(
            "apiserver_request_duration_seconds",
            "Latency of responses in seconds; for a watch, the time until it began.",
            RequestLabels._fields,
            buckets=_BUCKETS,
            max_series=_MAX_SERIES,
        )
        self._series: dict[tuple[RequestLabels, int], tuple[Counter, Histogram]] = {}
        self._declare_gauges(store, open_watches)

    def _declare_gauges(self, store: Store, open_watches: Collection[object]) -> None:
        registry = self.registry
        watches = registry.gauge("apiserver_longrunning_requests", "Open watches.").labels()
        dropped = registry.counter(
            "apiserver_terminated_watchers_total", "Watches ended because the client was too slow."
        ).labels()
        watchers = registry.gauge("apiserver_storage_watchers", "Watchers of the store.").labels()
        revision = registry.gauge(
            "apiserver_storage_revision", "The newest revision of the store."
        ).labels()
        waiting = registry.gauge(
            "apiserver_storage_writes_waiting", "Writes waiting to be durable on disk."
        ).labels()

        def collect() -> None:
            statistics = store.statistics()
            watches.value = len(open_watches)
            dropped.value = statistics.watchers_dropped
            watchers.value = statistics.watchers
            revision.value = statistics.revision
            waiting.value = statistics.writes_waiting

        registry.add_collector(collect)

    def observe(self, labels: RequestLabels, code: int, duration_s: float) -> None:
        """Count one answered request."""
        counter, histogram = self._series.get((labels, code)) or self._find_series(labels, code)
        counter.value += 1
        histogram.observe(duration_s)

    def _find_series(self, labels: RequestLabels, code: int) -> tuple[Counter, Histogram]:
        """Look up the series of a label set, and keep them: every request needs both."""
        found = self._requests.labels(*labels, str(code)), self._durations.labels(*labels)
        if len(self._series) < _MAX_SERIES:
            self._series[labels, code] = found
        return found

    def render(self) -> bytes:
        """Everything in Prometheus' text format."""
        return self.registry.render()
