"""Every metric of the operator, declared once."""

from quarterdeck.apis.fleetmanagement.rollout import Delivery
from quarterdeck.kit.metrics import Registry
from quarterdeck.meta.identity import Key

STATES = ("applied", "applying", "failed", "stale")

WAIT_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
CALL_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class FleetMetrics:
    """Calls, waits, results and drift; in a registry of their own unless one is given."""

    def __init__(self, registry: Registry | None = None) -> None:
        r = registry if registry is not None else Registry()
        self._requests = r.counter(
            "fleet_api_requests_total", "Calls to a fleet server", ("operation",)
        )
        self._errors = r.counter(
            "fleet_api_errors_total",
            "Calls to a fleet server that failed, by Connect code",
            ("operation", "status"),
        )
        self._durations = r.histogram(
            "fleet_api_request_duration_seconds",
            "Duration of calls to a fleet server, without the wait for the rate limiter",
            ("operation",),
            buckets=CALL_BUCKETS,
        )
        self._waits = r.histogram(
            "fleet_api_rate_limiter_wait_duration_seconds",
            "Time that calls wait for the rate limiter of their connection",
            buckets=WAIT_BUCKETS,
        )
        self._synced = r.counter(
            "fleet_resource_synced_total",
            "Reconciles of a kind, by resulting reason",
            ("kind", "reason"),
        )
        self._drift = r.counter(
            "fleet_pipeline_drift_total",
            "Pipelines found changed on the server, by the action taken",
            ("action",),
        )
        self._collectors = r.gauge(
            "fleet_pipeline_collectors",
            "Collectors with a pipeline, by reported state",
            ("namespace", "pipeline", "state"),
        )
        self._rollouts = r.gauge(
            "fleet_pipeline_rollout_weight",
            "Percentage of collectors that receive the newest configuration of a pipeline",
            ("namespace", "pipeline"),
        )
        self._rollbacks = r.counter(
            "fleet_pipeline_rollbacks_total",
            "Rollouts that were rolled back because collectors reported FAILED",
        )
        self._owned_keys = r.gauge(
            "fleet_external_sync_owned_keys",
            "Collectors whose attributes an ExternalAttributeSync sets",
            ("namespace", "name"),
        )
        self._listed = r.gauge(
            "fleet_discovery_list_collectors_result_size",
            "Collectors in the last list that a CollectorDiscovery read",
            ("namespace", "name"),
        )
        self._rollbacks.labels()
        for action in ("corrected", "reported"):
            self._drift.labels(action)
        self._waits.labels()

    def observe_call(self, operation: str, took_s: float, code: str) -> None:
        """Record the duration of a call, and count it; `code` is empty if it succeeded."""
        self._requests.labels(operation).value += 1
        self._durations.labels(operation).observe(took_s)
        if code:
            self._errors.labels(operation, code).value += 1

    def observe_wait(self, seconds: float) -> None:
        """Record how long a call waited for the rate limiter."""
        self._waits.labels().observe(seconds)

    def count_reconcile(self, kind: str, reason: str) -> None:
        """Count a reconcile by kind and resulting reason."""
        self._synced.labels(kind, reason).value += 1

    def count_drift(self, action: str) -> None:
        """Count a pipeline that was changed on the server, by the action taken."""
        self._drift.labels(action).value += 1

    def set_delivery(self, key: Key, delivery: Delivery | None) -> None:
        """Set the numbers of collectors by delivery state of one pipeline."""
        if delivery is None:
            return
        for state in STATES:
            found = self._collectors.labels(key.namespace, key.name, state)
            found.value = float(getattr(delivery, state))

    def set_rollout(self, key: Key, weight: int, *, is_rollback: bool) -> None:
        """Set the weight of a pipeline's rollout, and count a rollback."""
        self._rollouts.labels(key.namespace, key.name).value = float(weight)
        if is_rollback:
            self._rollbacks.labels().value += 1

    def set_owned_keys(self, key: Key, count: int) -> None:
        """Set the number of collectors that an ExternalAttributeSync claims attributes for."""
        self._owned_keys.labels(key.namespace, key.name).value = float(count)

    def set_listed_collectors(self, key: Key, count: int) -> None:
        """Set the number of collectors that the server listed for a CollectorDiscovery."""
        self._listed.labels(key.namespace, key.name).value = float(count)

    async def forget_external_sync(self, key: Key) -> None:
        """Drop the series of a deleted ExternalAttributeSync."""
        self._owned_keys.remove(key.namespace, key.name)

    async def forget_discovery(self, key: Key) -> None:
        """Drop the series of a deleted CollectorDiscovery."""
        self._listed.remove(key.namespace, key.name)

    def forget(self, key: Key) -> None:
        """Drop the series of a deleted pipeline."""
        for state in STATES:
            self._collectors.remove(key.namespace, key.name, state)
        self._rollouts.remove(key.namespace, key.name)
