"""Every metric of the operator: the hub's own health, and all aggregations as they are now."""

from collections.abc import Callable, Iterable

from quarterdeck.hubstate.history_writer import HistoryWriter
from quarterdeck.hubstate.ports import Sample
from quarterdeck.hubstate.series import CUSTOM, GROUP
from quarterdeck.inventory.health import Health
from quarterdeck.kit.breaker import State
from quarterdeck.kit.metrics import Family, Gauge, Registry

_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_MAX_GROUPS = 10_000
_LABELS = ("cluster", "source", GROUP)


class HubMetrics:
    """The metrics of the hub; registered in a registry of their own unless one is given."""

    def __init__(self, registry: Registry | None = None) -> None:
        self._registry = r = registry if registry is not None else Registry()
        self.on_lag: Callable[[float], None] | None = None
        """Called with each lag, for benchmarks: a histogram gives only approximate quantiles."""
        self._clusters: dict[str, str] = {}
        self._health = r.gauge("clusterpulse_hub_clusters", "Clusters by health", ("health",))
        self._collections = r.histogram(
            "clusterpulse_hub_collection_seconds",
            "Duration of reading a cluster",
            ("kind",),
            buckets=_SECONDS,
        )
        self._failures = r.counter(
            "clusterpulse_hub_collection_failures_total",
            "Failed reads of clusters, sources and registries, by reason",
            ("kind", "reason"),
        )
        self._lag = r.histogram(
            "clusterpulse_hub_lag_seconds",
            "Delay between the time a cluster is due and the time it is read",
            buckets=_SECONDS,
        )
        self._breakers = r.gauge(
            "clusterpulse_hub_circuit_breaker_open",
            "Whether the circuit breaker of a cluster is open",
            ("cluster",),
            max_series=_MAX_GROUPS,
        )
        self._store_failures = r.counter(
            "clusterpulse_hub_store_failures_total",
            "Commits that the store rejected or did not acknowledge",
            ("reason",),
        )
        self._history = r.gauge(
            "clusterpulse_hub_history_samples",
            "Samples for the history: waiting, written, dropped",
            ("state",),
        )
        self._aggregations: dict[str, Family[Gauge]] = {}
        self._exported: dict[tuple[str, str], set[tuple[str, tuple[str, ...]]]] = {}
        r.add_collector(self._count)

    def follow_history(self, writer: HistoryWriter) -> None:
        """Export how many samples of the history are waiting, written and dropped."""

        def read() -> None:
            self._history.labels("waiting").value = writer.waiting
            self._history.labels("written").value = writer.written
            self._history.labels("dropped").value = writer.dropped

        self._registry.add_collector(read)

    def observe_health(self, cluster: str, health: str, breaker: State) -> None:
        """Record the health of a cluster and the state of its circuit breaker after a visit."""
        self._clusters[cluster] = health
        self._breakers.labels(cluster).value = float(breaker is not State.CLOSED)

    def forget_cluster(self, cluster: str) -> None:
        """Remove the series of a cluster that was deleted or is now another replica's."""
        self._clusters.pop(cluster, None)
        self._breakers.remove(cluster)
        for source, name in [each for each in self._exported if each[1] == cluster]:
            self.unexport(source, name)

    def observe_collection(self, kind: str, took_s: float) -> None:
        """Record how long one read took; `kind` is cluster, source or registry."""
        self._collections.labels(kind).observe(took_s)

    def observe_lag(self, seconds: float) -> None:
        """Record by how many seconds a visit to a cluster was late."""
        self._lag.labels().observe(max(0.0, seconds))
        if self.on_lag is not None:
            self.on_lag(seconds)

    def count_failure(self, kind: str, reason: str) -> None:
        """Count a failed read; `kind` is cluster, source or registry."""
        self._failures.labels(kind, reason).value += 1

    def count_store_failure(self, reason: str) -> None:
        """Count a commit that the store rejected or did not acknowledge."""
        self._store_failures.labels(reason).value += 1

    # --- aggregations of MetricSources

    def export(self, source: str, cluster: str, samples: Iterable[Sample]) -> None:
        """Export the aggregations of a source on a cluster; remove series it no longer has."""
        now: set[tuple[str, tuple[str, ...]]] = set()
        for sample in samples:
            labels = dict(sample.labels)
            values = tuple(labels.get(name, "") for name in _LABELS)
            self._ensure_family(sample.name).labels(*values).value = sample.value
            now.add((sample.name, values))
        for name, values in self._exported.get((source, cluster), set()) - now:
            self._aggregations[name].remove(*values)
        self._exported[(source, cluster)] = now

    def unexport(self, source: str, cluster: str | None = None) -> None:
        """Remove the series of a source, on one cluster or on all."""
        for key in [k for k in self._exported if k[0] == source and cluster in (None, k[1])]:
            for name, values in self._exported.pop(key):
                self._aggregations[name].remove(*values)

    def _ensure_family(self, name: str) -> Family[Gauge]:
        if name not in self._aggregations:
            text = f"Aggregation {name.removeprefix(CUSTOM)} of MetricSources"
            self._aggregations[name] = self._registry.gauge(
                name, text, _LABELS, max_series=_MAX_GROUPS
            )
        return self._aggregations[name]

    def _count(self) -> None:
        for health in Health:
            count = sum(each == health for each in self._clusters.values())
            self._health.labels(health).value = float(count)
