"""Every metric of the operator, declared once."""

from collections.abc import Mapping, Sequence

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.kit.metrics.registry import Registry
from quarterdeck.meta.identity import Key
from quarterdeck.operators.machines.errors import HypervisorError, get_error_class
from quarterdeck.operators.machines.machine import Node
from quarterdeck.operators.machines.references import get_template_key

CALL_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)
PROVISION_BUCKETS = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0)


class MachineMetrics:
    """Calls of hypervisors, machines made and lost; in a registry of its own unless given one."""

    def __init__(self, registry: Registry | None = None) -> None:
        r = registry if registry is not None else Registry()
        self._durations = r.histogram(
            "hyperfleet_provider_api_seconds",
            "Duration of calls to a hypervisor, by code: ok or the code of the error",
            ("cluster", "op", "code"),
            buckets=CALL_BUCKETS,
        )
        self._errors = r.counter(
            "hyperfleet_provider_errors_total",
            "Failed calls to a hypervisor, by class of the error",
            ("cluster", "class"),
        )
        self._provisioned = r.histogram(
            "hyperfleet_vm_provision_seconds",
            "Time from a claim's creation until it was ready or failed",
            ("cluster", "template", "result"),
            buckets=PROVISION_BUCKETS,
        )
        self._capacity = r.gauge(
            "hyperfleet_cluster_capacity",
            "Capacity of the nodes that are online: cpu in processors, memory and storage in bytes",
            ("cluster", "resource", "state"),
        )
        self._runners = r.gauge(
            "hyperfleet_pool_runners", "Runners by state", ("namespace", "pool", "state")
        )
        self._deleted = r.counter(
            "hyperfleet_vm_deleted_total", "VMs that were removed, by reason", ("cluster", "reason")
        )
        self._breaker = r.gauge(
            "hyperfleet_circuit_breaker_open",
            "Whether the circuit breaker of a hypervisor is open",
            ("cluster",),
        )
        self._orphans = r.gauge(
            "hyperfleet_orphan_vms",
            "VMs of this operator without a claim, waiting for deletion",
            ("cluster",),
        )
        self._foreign = r.gauge("hyperfleet_foreign_vms", "VMs of other owners", ("cluster",))
        self._phases = r.gauge("hyperfleet_vm_phase", "Claims by phase", ("cluster", "phase"))
        self._webhooks = r.counter(
            "hyperfleet_runner_webhook_events_total",
            "Events of CI systems, by action and result",
            ("action", "result"),
        )

    def record_call(self, cluster: str, operation: str, took_s: float) -> None:
        """Record a successful call."""
        self._durations.labels(cluster, operation, "ok").observe(took_s)

    def record_failed_call(
        self, cluster: str, operation: str, *, error: HypervisorError, took_s: float
    ) -> None:
        """Record a failed call."""
        self._durations.labels(cluster, operation, error.code.value).observe(took_s)
        self._errors.labels(cluster, get_error_class(error)).value += 1

    def record_provisioning(
        self, claim: MachineClaim, cluster: str, *, result: str, took_s: float
    ) -> None:
        """Record that a machine became ready for the first time, or failed."""
        template = str(get_template_key(claim))
        self._provisioned.labels(cluster, template, result).observe(took_s)

    def set_capacity(self, cluster: str, nodes: Sequence[Node]) -> None:
        """Set total and free resources of a cluster from its nodes."""
        for resource, total, free in (
            ("cpu", sum(n.cpu_total for n in nodes), sum(n.cpu_free for n in nodes)),
            ("memory", sum(n.memory_total for n in nodes), sum(n.memory_free for n in nodes)),
        ):
            self._capacity.labels(cluster, resource, "total").set(float(total))
            self._capacity.labels(cluster, resource, "free").set(float(free))
        storage = sum(node.storage_free for node in nodes)
        self._capacity.labels(cluster, "storage", "free").set(float(storage))

    def set_runners(self, pool: Key, counts: Mapping[str, int]) -> None:
        """Set the number of runners of a pool by state."""
        for state, count in counts.items():
            self._runners.labels(pool.namespace, pool.name, state).set(float(count))

    def forget_pool(self, pool: Key) -> None:
        """Remove the series of a deleted pool."""
        for values in [each for each in self._runners.series() if each[:2] == tuple(pool)]:
            self._runners.remove(*values)

    def forget_cluster(self, cluster: str) -> None:
        """Remove the gauges of a deleted cluster; its counters stay, as their rates need them."""
        for gauge in (self._capacity, self._breaker, self._orphans, self._foreign, self._phases):
            for values in [each for each in gauge.series() if each[0] == cluster]:
                gauge.remove(*values)

    def record_deletion(self, cluster: str, reason: str) -> None:
        """Record the removal of a VM."""
        self._deleted.labels(cluster, reason).value += 1

    def set_breaker(self, cluster: str, *, is_open: bool) -> None:
        """Set whether the circuit breaker of a cluster is open."""
        self._breaker.labels(cluster).set(float(is_open))

    def set_inventory(self, cluster: str, *, orphans: int, foreign: int) -> None:
        """Set the numbers of orphans and foreign VMs that a poll found."""
        self._orphans.labels(cluster).set(float(orphans))
        self._foreign.labels(cluster).set(float(foreign))

    def set_phases(self, cluster: str, counts: Mapping[str, int]) -> None:
        """Set the number of claims by phase."""
        for phase, count in counts.items():
            self._phases.labels(cluster, phase).set(float(count))

    def record_webhook_event(self, action: str, result: str) -> None:
        """Record an event of a CI system."""
        self._webhooks.labels(action, result).value += 1
