"""Pods in a table: the states of their containers summed up as kubectl shows them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.kit import rfc3339
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    NONE,
    format_creation_age,
    format_duration,
)
from quarterdeck.server.registry.resource import Column, Object

COLUMNS = (
    NAME,
    Column(
        name="Ready",
        description="The aggregate readiness state of this pod for accepting traffic.",
    ),
    Column(name="Status", description="The aggregate status of the containers in this pod."),
    Column(
        name="Restarts",
        description=(
            "The number of times the containers in this pod have been restarted and when the last"
            " container in this pod has restarted."
        ),
    ),
    AGE,
    Column(
        name="IP",
        description=(
            "podIP address allocated to the pod. Routable at least within the cluster. Empty if not"
            " yet allocated."
        ),
        priority=1,
    ),
    Column(
        name="Node",
        description=(
            "NodeName indicates in which node this pod is scheduled. If empty, this pod is a"
            " candidate for scheduling by the scheduler defined in schedulerName. Once this field"
            " is set, the kubelet for this node becomes responsible for the lifecycle of this pod."
            " This field should not be used to express a desire for the pod to be scheduled on a"
            " specific node."
            " https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename"
        ),
        priority=1,
    ),
    Column(
        name="Nominated Node",
        description=(
            "nominatedNodeName is set only when this pod preempts other pods on the node, but it"
            " cannot be scheduled right away as preemption victims receive their graceful"
            " termination periods. This field does not guarantee that the pod will be scheduled on"
            " this node. Scheduler may decide to place the pod elsewhere if other nodes become"
            " available sooner. Scheduler may also decide to give the resources on this node to a"
            " higher priority pod that is created after preemption. As a result, this field may be"
            " different than PodSpec.nodeName when the pod is scheduled."
        ),
        priority=1,
    ),
    Column(
        name="Readiness Gates",
        description=(
            "If specified, all readiness gates will be evaluated for pod readiness. A pod is ready"
            " when all its containers are ready AND all conditions specified in the readiness gates"
            ' have status equal to "True" More info:'
            " https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates"
        ),
        priority=1,
    ),
)


def build_cells(pod: Object, now: datetime) -> Sequence[object]:
    """Build one row of the table."""
    summary = _Summary(pod, now)
    status = get_mapping(pod, "status")
    addresses = [each.get("ip") for each in get_items(pod, "status", "podIPs")]
    gates = get_items(pod, "spec", "readinessGates")
    return (
        pod["metadata"].get("name", ""),
        f"{summary.ready}/{summary.total}",
        summary.reason,
        summary.format_restarts(now),
        format_creation_age(pod, now),
        addresses[0] if addresses else status.get("podIP") or NONE,
        get_field(pod, "spec", "nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _format_gates(gates, get_items(pod, "status", "conditions")) if gates else NONE,
    )


def _format_gates(gates: Sequence[Any], conditions: Sequence[Any]) -> str:
    true = {each.get("type") for each in conditions if each.get("status") == "True"}
    met = sum(gate.get("conditionType") in true for gate in gates)
    return f"{met}/{len(gates)}"


class _Summary:
    """The ready count, restarts and reason of a pod, computed as Kubernetes does for tables."""

    def __init__(self, pod: Object, now: datetime) -> None:
        status, spec = get_mapping(pod, "status"), get_mapping(pod, "spec")
        self.total = len(get_items(spec, "containers"))
        self.ready = 0
        self.restarts = 0
        self.last_restart: datetime | None = None
        self.reason = status.get("reason") or status.get("phase") or ""
        conditions = get_items(status, "conditions")
        if any(
            each.get("type") == "PodScheduled" and each.get("reason") == "SchedulingGated"
            for each in conditions
        ):
            self.reason = "SchedulingGated"
        sidecars = {
            each.get("name")
            for each in get_items(spec, "initContainers")
            if each.get("restartPolicy") == "Always"
        }
        self.total += len(sidecars)
        starting = self._read_init(status, spec, sidecars)
        if not starting:
            self._read_containers(status, conditions)
        self._read_deletion(pod, status)

    def _read_init(self, status: Object, spec: Object, sidecars: set[Any]) -> bool:
        """Count restarts and ready sidecars; return whether the pod is still initializing."""
        total = len(get_items(spec, "initContainers"))
        for index, each in enumerate(get_items(status, "initContainerStatuses")):
            self.restarts += each.get("restartCount") or 0
            self._record_restart(each)
            state = each.get("state") or {}
            terminated, waiting = state.get("terminated"), state.get("waiting") or {}
            if terminated is not None and terminated.get("exitCode") == 0:
                continue
            if each.get("name") in sidecars and each.get("started"):
                self.ready += bool(each.get("ready"))
                continue
            if terminated is not None:
                self.reason = f"Init:{_get_terminated_reason(terminated)}"
            elif waiting.get("reason") and waiting["reason"] != "PodInitializing":
                self.reason = f"Init:{waiting['reason']}"
            else:
                self.reason = f"Init:{index}/{total}"
            return True
        return False

    def _read_containers(self, status: Object, conditions: Sequence[Any]) -> None:
        self.restarts = 0 if not get_items(status, "initContainerStatuses") else self.restarts
        running = False
        for each in reversed(get_items(status, "containerStatuses")):
            self.restarts += each.get("restartCount") or 0
            self._record_restart(each)
            state = each.get("state") or {}
            terminated, waiting = state.get("terminated"), state.get("waiting") or {}
            if waiting.get("reason"):
                self.reason = waiting["reason"]
            elif terminated is not None:
                self.reason = _get_terminated_reason(terminated)
            elif each.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed" and running:
            is_ready = any(
                each.get("type") == "Ready" and each.get("status") == "True" for each in conditions
            )
            self.reason = "Running" if is_ready else "NotReady"

    def _read_deletion(self, pod: Object, status: Object) -> None:
        if pod["metadata"].get("deletionTimestamp"):
            lost = status.get("reason") == "NodeLost"
            self.reason = "Unknown" if lost else "Terminating"

    def _record_restart(self, container: Mapping[str, Any]) -> None:
        finished = ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt")
        if finished:
            when = rfc3339.parse(finished)
            if self.last_restart is None or when > self.last_restart:
                self.last_restart = when

    def format_restarts(self, now: datetime) -> str:
        """Format the count, and how long ago the last one was."""
        if not self.restarts or self.last_restart is None:
            return str(self.restarts)
        ago = format_duration((now - self.last_restart).total_seconds())
        return f"{self.restarts} ({ago} ago)"


def _get_terminated_reason(state: Mapping[str, Any]) -> str:
    if state.get("reason"):
        return str(state["reason"])
    if state.get("signal"):
        return f"Signal:{state['signal']}"
    return f"ExitCode:{state.get('exitCode', 0)}"
