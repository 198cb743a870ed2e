"""Pods: what they start with, what may change, how they end, how they are shown."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.kit import rfc3339
from quarterdeck.meta.field import FieldError, forbidden
from quarterdeck.server.kinds import pod_defaults
from quarterdeck.server.kinds.cells import AGE, NAME, NONE, created, human_duration
from quarterdeck.server.kinds.paths import at, items, mapping
from quarterdeck.server.kinds.pod_diff import spec_diff
from quarterdeck.server.kinds.pod_rules import spec_problems
from quarterdeck.server.kinds.pod_warnings import pod_warnings
from quarterdeck.server.kinds.rules import Rules, text_at
from quarterdeck.server.registry.resource import Column, Context, Object

_FROZEN = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions"
    " to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it"
    " was previously negative)"
)

_COLUMNS = (
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


# writes ------------------------------------------------------------------------------------------


def _prepare_create(pod: Object, context: Context) -> None:
    pod["status"] = {
        "phase": "Pending",
        "qosClass": pod_defaults.quality_of_service(pod["spec"]),
    }


def _problems(pod: Object, context: Context) -> Iterator[FieldError]:
    yield from spec_problems(mapping(pod, "spec"), "spec")


def _change_problems(pod: Object, old: Object, context: Context) -> Iterator[FieldError]:
    if context.subresource:
        return
    spec, before = mapping(pod, "spec"), mapping(old, "spec")
    for member, words in (("containers", "containers"), ("initContainers", "init containers")):
        if len(items(spec, member)) != len(items(before, member)):
            text = f"pod updates may not add or remove {words}"
            yield forbidden(f"spec.{member}", text)
            return
    if not _keeps_tolerations(items(spec, "tolerations"), items(before, "tolerations")):
        text = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", text)
    allowed = _with_allowed_changes(spec, before)
    if allowed != spec:
        yield forbidden("spec", f"{_FROZEN}\n{spec_diff(before, spec)}")


def _keeps_tolerations(new: Sequence[Any], old: Sequence[Any]) -> bool:
    def identity(each: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        return tuple(sorted((k, v) for k, v in each.items() if k != "tolerationSeconds"))

    kept = {identity(each) for each in new}
    return all(identity(each) in kept for each in old)


def _with_allowed_changes(spec: Object, before: Object) -> Object:
    """The old spec with the changes that are allowed: what the new one must be equal to."""
    allowed = dict(before)
    for member in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        if member in spec:
            allowed[member] = spec[member]
    for member in ("tolerations", "schedulingGates"):
        if member not in spec:
            allowed.pop(member, None)
    if before.get("terminationGracePeriodSeconds", 0) < 0:
        allowed["terminationGracePeriodSeconds"] = spec.get("terminationGracePeriodSeconds")
    for member in ("containers", "initContainers"):
        if member in before:
            allowed[member] = [
                {**old, "image": new.get("image")}
                for old, new in zip(before[member], spec.get(member) or (), strict=False)
            ]
    return allowed


def _grace_period(pod: Object, requested: int | None) -> int:
    """Scheduled pods that still run get time; a negative wish is the shortest one."""
    if not at(pod, "spec", "nodeName") or at(pod, "status", "phase") in ("Succeeded", "Failed"):
        return 0
    wanted = requested
    if wanted is None:
        wanted = at(pod, "spec", "terminationGracePeriodSeconds")
    if wanted is None:
        wanted = 30
    return 1 if wanted < 0 else int(wanted)


# table -------------------------------------------------------------------------------------------


def _cells(pod: Object, now: datetime) -> Sequence[object]:
    summary = _Summary(pod, now)
    status = mapping(pod, "status")
    addresses = [each.get("ip") for each in items(pod, "status", "podIPs")]
    gates = items(pod, "spec", "readinessGates")
    return (
        pod["metadata"].get("name", ""),
        f"{summary.ready}/{summary.total}",
        summary.reason,
        summary.restarts_text(now),
        created(pod, now),
        addresses[0] if addresses else status.get("podIP") or NONE,
        at(pod, "spec", "nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates_text(gates, items(pod, "status", "conditions")) if gates else NONE,
    )


def _gates_text(gates: Sequence[Any], conditions: Sequence[Any]) -> str:
    true = {each.get("type") for each in conditions if each.get("status") == "True"}
    met = sum(gate.get("conditionType") in true for gate in gates)
    return f"{met}/{len(gates)}"


class _Summary:
    """What the containers of a pod add up to, as kubectl sums them up."""

    def __init__(self, pod: Object, now: datetime) -> None:
        status, spec = mapping(pod, "status"), mapping(pod, "spec")
        self.total = len(items(spec, "containers"))
        self.ready = 0
        self.restarts = 0
        self.last_restart: datetime | None = None
        self.reason = status.get("reason") or status.get("phase") or ""
        conditions = items(status, "conditions")
        if any(
            each.get("type") == "PodScheduled" and each.get("reason") == "SchedulingGated"
            for each in conditions
        ):
            self.reason = "SchedulingGated"
        sidecars = {
            each.get("name")
            for each in items(spec, "initContainers")
            if each.get("restartPolicy") == "Always"
        }
        self.total += len(sidecars)
        starting = self._read_init(status, spec, sidecars)
        if not starting:
            self._read_containers(status, conditions)
        self._read_deletion(pod, status)

    def _read_init(self, status: Object, spec: Object, sidecars: set[Any]) -> bool:
        """Whether the pod still initialises; counts what the init containers did."""
        total = len(items(spec, "initContainers"))
        for index, each in enumerate(items(status, "initContainerStatuses")):
            self.restarts += each.get("restartCount") or 0
            self._note_restart(each)
            state = each.get("state") or {}
            terminated, waiting = state.get("terminated"), state.get("waiting") or {}
            if terminated is not None and terminated.get("exitCode") == 0:
                continue
            if each.get("name") in sidecars and each.get("started"):
                self.ready += bool(each.get("ready"))
                continue
            if terminated is not None:
                self.reason = f"Init:{_terminated_reason(terminated)}"
            elif waiting.get("reason") and waiting["reason"] != "PodInitializing":
                self.reason = f"Init:{waiting['reason']}"
            else:
                self.reason = f"Init:{index}/{total}"
            return True
        return False

    def _read_containers(self, status: Object, conditions: Sequence[Any]) -> None:
        self.restarts = 0 if not items(status, "initContainerStatuses") else self.restarts
        running = False
        for each in reversed(items(status, "containerStatuses")):
            self.restarts += each.get("restartCount") or 0
            self._note_restart(each)
            state = each.get("state") or {}
            terminated, waiting = state.get("terminated"), state.get("waiting") or {}
            if waiting.get("reason"):
                self.reason = waiting["reason"]
            elif terminated is not None:
                self.reason = _terminated_reason(terminated)
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

    def _note_restart(self, container: Mapping[str, Any]) -> None:
        finished = ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt")
        if finished:
            when = rfc3339.parse(finished)
            if self.last_restart is None or when > self.last_restart:
                self.last_restart = when

    def restarts_text(self, now: datetime) -> str:
        """The count, and how long ago the last one was."""
        if not self.restarts or self.last_restart is None:
            return str(self.restarts)
        ago = human_duration((now - self.last_restart).total_seconds())
        return f"{self.restarts} ({ago} ago)"


def _terminated_reason(state: Mapping[str, Any]) -> str:
    if state.get("reason"):
        return str(state["reason"])
    if state.get("signal"):
        return f"Signal:{state['signal']}"
    return f"ExitCode:{state.get('exitCode', 0)}"


_SELECTABLE = {
    "spec.nodeName": "",
    "spec.restartPolicy": "",
    "spec.schedulerName": "",
    "spec.serviceAccountName": "",
    "spec.hostNetwork": "false",
    "status.phase": "",
    "status.podIP": "",
    "status.nominatedNodeName": "",
}


def _field_values(pod: Object) -> Mapping[str, str]:
    values = {path: text_at(pod, path, absent) for path, absent in _SELECTABLE.items()}
    addresses = items(pod, "status", "podIPs")
    values["status.podIPs"] = ",".join(each.get("ip", "") for each in addresses)
    return values


POD = Rules(
    default=pod_defaults.default_pod,
    prepare_create=_prepare_create,
    validate=_problems,
    validate_change=_change_problems,
    warn=pod_warnings,
    status_may_label=True,
    selectable={**_SELECTABLE, "status.podIPs": ""},
    field_values=_field_values,
    columns=_COLUMNS,
    cells=_cells,
    grace_period=_grace_period,
)


def _default_template_object(value: Object) -> None:
    pod_defaults.default_template(value.setdefault("template", {}))


POD_TEMPLATE = Rules(
    default=_default_template_object,
    counted=("template",),
    validate=lambda value, context: spec_problems(
        mapping(value, "template", "spec"), "template.spec"
    ),
)
