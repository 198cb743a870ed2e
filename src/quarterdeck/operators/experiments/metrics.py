"""Every metric of the operator, declared once."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.kit.metrics import Family, Gauge, Registry
from quarterdeck.meta.objects import Object
from quarterdeck.operators.experiments import naming, prices

DURATION_BUCKETS = (1.0, 5.0, 15.0, 60.0, 180.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 14400.0)


class ExperimentMetrics:
    """Phases, durations, failures, cost and orphans; in a registry of its own unless given one."""

    def __init__(self, registry: Registry | None = None) -> None:
        r = registry if registry is not None else Registry()
        self._phases = r.gauge("experiment_phase", "Experiments by phase", ("namespace", "phase"))
        self._durations = r.histogram(
            "experiment_phase_duration_seconds",
            "Duration of the phases of experiments",
            ("phase",),
            buckets=DURATION_BUCKETS,
        )
        self._clusters = r.histogram(
            "experiment_target_provision_seconds",
            "Time from the request of a cluster until it is registered in Argo CD",
            ("type",),
            buckets=DURATION_BUCKETS,
        )
        self._failures = r.counter(
            "experiment_failures_total", "Experiments that failed", ("reason",)
        )
        self._cost = r.gauge(
            "experiment_cost_usd_per_hour", "Estimated cost of all clusters that exist now"
        )
        self._orphans = r.gauge(
            "experiment_orphans", "Objects whose experiment does not exist", ("kind",)
        )
        self._cost.labels()

    def observe_phase(self, phase: str, seconds: float) -> None:
        """Record how long an experiment was in a phase."""
        self._durations.labels(phase).observe(max(0.0, seconds))

    def observe_cluster(self, type_: str, seconds: float) -> None:
        """Record how long it took until a cluster was ready and registered."""
        self._clusters.labels(type_).observe(max(0.0, seconds))

    def count_failure(self, reason: str) -> None:
        """Count a failed experiment."""
        self._failures.labels(str(reason)).inc()

    def refresh(
        self, experiments: Sequence[Experiment], objects: Iterable[Object], *, now: datetime
    ) -> None:
        """Set the gauges from the objects in the caches."""
        phases: Counter[tuple[str, ...]] = Counter(
            (each.metadata.namespace, each.status.phase or "Pending") for each in experiments
        )
        _set_all(self._phases, phases)
        active = (each for each in experiments if not each.status.resources_cleaned)
        self._cost.labels().set(sum(prices.compute_burn_usd(each) for each in active))
        orphans = find_orphans(experiments, objects)
        _set_all(self._orphans, Counter((each.KIND.kind,) for each in orphans))


def _set_all(gauge: Family[Gauge], counted: Counter[tuple[str, ...]]) -> None:
    """Set a gauge from counts; series without a count become 0."""
    for values in {*counted, *gauge.series()}:
        gauge.labels(*values).set(float(counted[values]))


def find_orphans(experiments: Iterable[Experiment], objects: Iterable[Object]) -> list[Object]:
    """Find objects with the label of an experiment that does not exist, which are leaks."""
    known = {each.metadata.uid for each in experiments}
    return [each for each in objects if each.metadata.labels.get(naming.LABEL_UID, "") not in known]
