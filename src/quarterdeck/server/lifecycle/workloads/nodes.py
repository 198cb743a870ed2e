"""Simulated nodes: registered once, kept alive by a Lease."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.kit.rfc3339 import format_micro, parse
from quarterdeck.server.kinds.simulation import NODE_DOWN, SIMULATED_NODE
from quarterdeck.server.lifecycle.controllers.pod_termination import NODES
from quarterdeck.server.lifecycle.engine.actions import Action, Create, Requeue
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    format_moment,
    get_annotations,
    get_condition,
    get_name,
    get_spec,
    get_status,
    get_uid,
    is_deleting,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

LEASES = "leases.coordination.k8s.io"
LEASE_HOME = "kube-node-lease"
HEARTBEAT_S = 10.0
_LEASE_S = 40
UNREACHABLE = "node.kubernetes.io/unreachable"
_CONDITION_TAINTS = frozenset({UNREACHABLE, "node.kubernetes.io/not-ready"})
"""Taints that follow the condition Ready; admission adds `not-ready` to new nodes."""
_PRESSURES = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}
_CAPACITY = {
    "cpu": "64",
    "memory": "256Gi",
    "ephemeral-storage": "1Ti",
    "hugepages-2Mi": "0",
    "pods": "10000",
}


class Nodes:
    """Registers simulated nodes, and renews their leases."""

    name = "node-lifecycle"
    manager = "kubelet"
    resources: frozenset[str] | None = frozenset({NODES})

    def __init__(self, number: int) -> None:
        self.initial = tuple(
            StoreKey(NODES, "", f"quarterdeck-node-{index}") for index in range(number)
        )
        self._missing = set(self.initial)

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find every node that exists."""
        if event.after is not None:
            yield event.key

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Register a node, update its conditions, renew its lease."""
        node = view.get(key)
        if node is None:
            if key not in self._missing:
                return ()
            return [Create(NODES, build_node(key.name, self._get_number(key), view.now))]
        self._missing.discard(key)
        if SIMULATED_NODE not in get_annotations(node) or is_deleting(node):
            return ()
        return [*_update_conditions(node, format_moment(view.now)), *_renew_lease(view, node)]

    def _get_number(self, key: StoreKey) -> int:
        return self.initial.index(key) if key in self.initial else 0


def is_down(node: Object) -> bool:
    """Whether the annotation of a node says that it has lost contact."""
    return get_annotations(node).get(NODE_DOWN, "false") != "false"


def is_node_ready(node: Object) -> bool:
    """Whether the condition Ready of a node is true."""
    found = get_condition(get_status(node).get("conditions"), "Ready")
    return found is not None and found.get("status") == "True"


def get_address(node: Object) -> str:
    """Return the address of a node."""
    for each in get_status(node).get("addresses") or ():
        if each.get("type") == "InternalIP":
            return str(each.get("address"))
    return "10.0.0.1"


def build_node(node_name: str, number: int, now: datetime) -> Object:
    """Build a simulated node with large capacity."""
    moment = format_moment(now)
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {
            "name": node_name,
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": node_name,
                "kubernetes.io/os": "linux",
            },
            "annotations": {SIMULATED_NODE: "true"},
        },
        "spec": {
            "podCIDR": f"10.244.{number % 256}.0/24",
            "podCIDRs": [f"10.244.{number % 256}.0/24"],
        },
        "status": {
            "capacity": dict(_CAPACITY),
            "allocatable": dict(_CAPACITY),
            "conditions": [
                *(
                    _build_condition(kind, "False", reason, text, moment)
                    for kind, (reason, text) in _PRESSURES.items()
                ),
                _build_ready_condition(moment),
            ],
            "addresses": [
                {"type": "InternalIP", "address": f"10.0.{number // 250}.{number % 250 + 1}"},
                {"type": "Hostname", "address": node_name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": "",
                "systemUUID": "",
                "bootID": "",
                "kernelVersion": "simulated",
                "osImage": "Quarterdeck simulation",
                "containerRuntimeVersion": "simulated://1",
                "kubeletVersion": "v1.32.4",
                "kubeProxyVersion": "v1.32.4",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    }


def _build_condition(kind: str, state: str, reason: str, message: str, moment: str) -> Object:
    return {
        "type": kind,
        "status": state,
        "lastHeartbeatTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }


def _build_ready_condition(moment: str) -> Object:
    text = "kubelet is posting ready status"
    return _build_condition("Ready", "True", "KubeletReady", text, moment)


def _update_conditions(node: Object, moment: str) -> Iterator[Action]:
    """Set the node ready or unreachable by its annotation: conditions and taints."""
    down = is_down(node)
    conditions = get_status(node).get("conditions") or []
    present = get_condition(conditions, "Ready")
    wanted = _build_ready_condition(moment)
    if down:
        text = "Kubelet stopped posting node status."
        wanted = _build_condition("Ready", "Unknown", "NodeStatusUnknown", text, moment)
    before = get_spec(node).get("taints") or []
    taints = [each for each in before if each["key"] not in _CONDITION_TAINTS]
    if down:
        taints += [
            {"key": UNREACHABLE, "effect": effect, "timeAdded": moment}
            for effect in ("NoSchedule", "NoExecute")
        ]
    is_same = present is not None and present.get("status") == wanted["status"]
    if is_same and _list_taint_keys(taints) == _list_taint_keys(before):
        return
    others = [each for each in conditions if each.get("type") != "Ready"]
    new_spec = {**get_spec(node), "taints": taints}
    if not taints:
        del new_spec["taints"]
    new_status = {**get_status(node), "conditions": [*others, wanted]}
    yield update(NODES, node, spec=new_spec, status=new_status)


def _list_taint_keys(taints: Sequence[Object]) -> set[tuple[object, object]]:
    return {(each.get("key"), each.get("effect")) for each in taints}


def _renew_lease(view: View, node: Object) -> Iterator[Action]:
    if is_down(node):
        return
    lease = view.get(StoreKey(LEASES, LEASE_HOME, get_name(node)))
    now = format_micro(view.now)
    if lease is None:
        yield Create(LEASES, _build_lease(node, now))
        yield Requeue(HEARTBEAT_S)
        return
    renewed = get_spec(lease).get("renewTime")
    age = (view.now - parse(renewed)).total_seconds() if renewed else HEARTBEAT_S
    if age >= HEARTBEAT_S:
        yield update(LEASES, lease, spec={**get_spec(lease), "renewTime": now})
        age = 0.0
    yield Requeue(HEARTBEAT_S - max(0.0, age))


def _build_lease(node: Object, now: str) -> Object:
    return {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {
            "name": get_name(node),
            "namespace": LEASE_HOME,
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": get_name(node), "uid": get_uid(node)}
            ],
        },
        "spec": {
            "holderIdentity": get_name(node),
            "leaseDurationSeconds": _LEASE_S,
            "renewTime": now,
        },
    }
