"""Metrics of the ingester: streams, batches by result, bytes and durations."""

from collections.abc import Callable

from quarterdeck.hubstate.history_writer import HistoryWriter
from quarterdeck.kit.metrics import Registry

_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class IngesterMetrics:
    """The metrics of the ingester; registered in a registry of their own unless one is given."""

    def __init__(self, registry: Registry | None = None) -> None:
        self._registry = r = registry if registry is not None else Registry()
        self._connected = r.gauge(
            "clusterpulse_ingester_connected_collectors", "Collectors connected to this process"
        )
        self._batches = r.counter(
            "clusterpulse_ingester_batches_total",
            "Batches by result: stored, duplicate, refused permanently, or failed to be stored",
            ("result",),
        )
        self._bytes = r.counter(
            "clusterpulse_ingester_received_bytes_total", "Bytes of batches received"
        )
        self._seconds = r.histogram(
            "clusterpulse_ingester_batch_seconds",
            "Time from the last chunk of a batch to its acknowledgement",
            buckets=_SECONDS,
        )
        self._refused = r.counter(
            "clusterpulse_ingester_refused_streams_total",
            "Streams that were ended, by reason",
            ("reason",),
        )
        self._history = r.gauge(
            "clusterpulse_ingester_history_samples",
            "Samples that the history did not take at once: waiting, dropped",
            ("state",),
        )

    def follow_connections(self, count: Callable[[], int]) -> None:
        """Export the number of connected collectors, which `count` returns."""

        def read() -> None:
            self._connected.labels().value = float(count())

        self._registry.add_collector(read)

    def follow_backlog(self, writer: HistoryWriter) -> None:
        """Export how many samples wait until the history answers, and how many were dropped."""

        def read() -> None:
            self._history.labels("waiting").value = writer.waiting
            self._history.labels("dropped").value = writer.dropped

        self._registry.add_collector(read)

    def count_batch(self, result: str) -> None:
        """Count a batch by its result: stored, duplicate, refused, or failed to be stored."""
        self._batches.labels(result).value += 1

    def count_bytes(self, size: int) -> None:
        """Count the bytes of a received chunk."""
        self._bytes.labels().value += size

    def observe_batch(self, took_s: float) -> None:
        """Record the time from the last chunk of a batch to its acknowledgement."""
        self._seconds.labels().observe(took_s)

    def count_refusal(self, reason: str) -> None:
        """Count a stream that the ingester ended, by reason."""
        self._refused.labels(reason).value += 1
