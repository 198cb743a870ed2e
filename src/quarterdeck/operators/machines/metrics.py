"""Every metric of the operator, declared once."""

from collections.abc import Mapping

from quarterdeck.kit.metrics.registry import Registry

CALL_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)
PROVISION_BUCKETS = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0)


class MachineMetrics:
    """Calls of hypervisors, machines made and lost; in a registry of its own unless given one."""

    def __init__(self, registry: Registry | None = None) -> None:
        r = registry if registry is not None else Registry()
        self._calls = r.counter(
            "hyperfleet_hypervisor_requests_total",
            "Calls of a hypervisor, by result: ok or the code of the error",
            ("cluster", "operation", "result"),
        )
        self._durations = r.histogram(
            "hyperfleet_hypervisor_request_duration_seconds",
            "How long calls of a hypervisor take",
            ("cluster", "operation"),
            buckets=CALL_BUCKETS,
        )
        self._provisioned = r.counter(
            "hyperfleet_vm_provision_total",
            "Machines that became ready or failed",
            ("cluster", "result"),
        )
        self._provision_time = r.histogram(
            "hyperfleet_vm_provision_duration_seconds",
            "Time from a claim's creation to its first readiness",
            ("cluster",),
            buckets=PROVISION_BUCKETS,
        )
        self._deleted = r.counter(
            "hyperfleet_vm_deleted_total", "VMs that were removed, by reason", ("cluster", "reason")
        )
        self._breaker = r.gauge(
            "hyperfleet_circuit_breaker_open",
            "Whether calls of a hypervisor are held back",
            ("cluster",),
        )
        self._orphans = r.gauge(
            "hyperfleet_orphan_vms",
            "VMs of ours without a claim, waiting for removal",
            ("cluster",),
        )
        self._foreign = r.gauge("hyperfleet_foreign_vms", "VMs that are not ours", ("cluster",))
        self._phases = r.gauge("hyperfleet_machine_claims", "Claims by phase", ("cluster", "phase"))
        self._webhooks = r.counter(
            "hyperfleet_runner_webhook_events_total",
            "Events of CI systems, by action and result",
            ("action", "result"),
        )

    def called(self, cluster: str, operation: str, result: str, took_s: float) -> None:
        """One call ended."""
        self._calls.labels(cluster, operation, result).value += 1
        self._durations.labels(cluster, operation).observe(took_s)

    def became_ready(self, cluster: str, took_s: float) -> None:
        """A machine is ready for the first time."""
        self._provisioned.labels(cluster, "ready").value += 1
        self._provision_time.labels(cluster).observe(took_s)

    def failed(self, cluster: str, reason: str) -> None:
        """A machine failed."""
        self._provisioned.labels(cluster, reason).value += 1

    def deleted(self, cluster: str, reason: str) -> None:
        """A VM was removed."""
        self._deleted.labels(cluster, reason).value += 1

    def set_breaker(self, cluster: str, *, is_open: bool) -> None:
        """Whether calls are held back."""
        self._breaker.labels(cluster).set(float(is_open))

    def set_inventory(self, cluster: str, *, orphans: int, foreign: int) -> None:
        """What a poll found."""
        self._orphans.labels(cluster).set(float(orphans))
        self._foreign.labels(cluster).set(float(foreign))

    def set_phases(self, cluster: str, counts: Mapping[str, int]) -> None:
        """Claims by phase."""
        for phase, count in counts.items():
            self._phases.labels(cluster, phase).set(float(count))

    def webhook(self, action: str, result: str) -> None:
        """One event of a CI system."""
        self._webhooks.labels(action, result).value += 1
