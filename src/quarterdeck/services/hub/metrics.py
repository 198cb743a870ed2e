"""Every metric of the hub API."""

from quarterdeck.kit.metrics import Registry

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
OTHER = "other"
"""The `path` label of requests to unknown paths, so that clients cannot create series."""


class ApiMetrics:
    """The metrics of the hub API; registered in a registry of their own unless one is given."""

    def __init__(self, registry: Registry | None = None) -> None:
        r = registry if registry is not None else Registry()
        self._requests = r.counter(
            "clusterpulse_hub_api_requests_total",
            "Requests to the hub API by endpoint and status",
            ("method", "path", "code"),
        )
        self._seconds = r.histogram(
            "clusterpulse_hub_api_request_duration_seconds",
            "How long an answer takes, without streams",
            ("path",),
            buckets=_SECONDS,
        )
        self._streams = r.gauge("clusterpulse_hub_api_streams", "Listeners of server-sent events")

    def observe(self, method: str, path: str, code: int, took_s: float) -> None:
        """Count an answered request, and record how long the answer took."""
        self._requests.labels(method, path, str(code)).value += 1
        self._seconds.labels(path).observe(took_s)

    def count_stream(self, change: int) -> None:
        """Add `change` to the number of open event streams: 1 if one opens, -1 if one closes."""
        self._streams.labels().value += change
