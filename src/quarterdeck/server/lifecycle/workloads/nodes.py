"""Nodes that exist on paper only: registered once, alive by a Lease."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.kit.rfc3339 import format_micro, parse
from quarterdeck.server.lifecycle.controllers.pod_termination import NODES, SIMULATED_NODE
from quarterdeck.server.lifecycle.engine.actions import Action, Create, Requeue
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    annotations,
    condition,
    is_deleting,
    name,
    spec,
    stamp,
    status,
    uid,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

LEASES = "leases.coordination.k8s.io"
LEASE_HOME = "kube-node-lease"
DOWN = "simulate.quarterdeck.dev/down"
"""The annotation that makes a node lose contact."""
HEARTBEAT_S = 10.0
_LEASE_S = 40
UNREACHABLE = "node.kubernetes.io/unreachable"
_CONDITION_TAINTS = frozenset({UNREACHABLE, "node.kubernetes.io/not-ready"})
"""Taints that follow the condition; a node is born with the second one."""
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
    """Registers nodes and keeps them alive."""

    name = "node-lifecycle"
    manager = "kubelet"
    resources: frozenset[str] | None = frozenset({NODES})

    def __init__(self, number: int) -> None:
        self.initial = tuple(
            StoreKey(NODES, "", f"quarterdeck-node-{index}") for index in range(number)
        )
        self._missing = set(self.initial)

    def keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Every node that is there."""
        if event.after is not None:
            yield event.key

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Register a node, keep its condition, renew its lease."""
        node = view.get(key)
        if node is None:
            if key not in self._missing:
                return ()
            self._missing.discard(key)
            return [Create(NODES, new_node(key.name, self._number(key), view.now))]
        self._missing.discard(key)
        if SIMULATED_NODE not in annotations(node) or is_deleting(node):
            return ()
        return [*_condition(node, stamp(view.now)), *_heartbeat(view, node)]

    def _number(self, key: StoreKey) -> int:
        return self.initial.index(key) if key in self.initial else 0


def is_down(node: Object) -> bool:
    """Whether a node has lost contact."""
    return DOWN in annotations(node) and annotations(node)[DOWN] != "false"


def is_node_ready(node: Object) -> bool:
    """Whether pods may be sent to a node."""
    found = condition(status(node).get("conditions"), "Ready")
    return found is not None and found.get("status") == "True"


def address_of(node: Object) -> str:
    """The address of a node."""
    for each in status(node).get("addresses") or ():
        if each.get("type") == "InternalIP":
            return str(each.get("address"))
    return "10.0.0.1"


def new_node(node_name: str, number: int, now: datetime) -> Object:
    """A node that is ready for anything."""
    moment = stamp(now)
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
                    _state(kind, "False", reason, text, moment)
                    for kind, (reason, text) in _PRESSURES.items()
                ),
                _alive(moment),
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


def _state(kind: str, state: str, reason: str, message: str, moment: str) -> Object:
    return {
        "type": kind,
        "status": state,
        "lastHeartbeatTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }


def _alive(moment: str) -> Object:
    text = "kubelet is posting ready status"
    return _state("Ready", "True", "KubeletReady", text, moment)


def _condition(node: Object, moment: str) -> Iterator[Action]:
    """Ready or unreachable, as the node is told to be; conditions and taints go together."""
    down = is_down(node)
    conditions = status(node).get("conditions") or []
    present = condition(conditions, "Ready")
    wanted = _alive(moment)
    if down:
        text = "Kubelet stopped posting node status."
        wanted = _state("Ready", "Unknown", "NodeStatusUnknown", text, moment)
    before = spec(node).get("taints") or []
    taints = [each for each in before if each["key"] not in _CONDITION_TAINTS]
    if down:
        taints += [
            {"key": UNREACHABLE, "effect": effect, "timeAdded": moment}
            for effect in ("NoSchedule", "NoExecute")
        ]
    is_same = present is not None and present.get("status") == wanted["status"]
    if is_same and _names(taints) == _names(before):
        return
    others = [each for each in conditions if each.get("type") != "Ready"]
    new_spec = {**spec(node), "taints": taints}
    if not taints:
        del new_spec["taints"]
    new_status = {**status(node), "conditions": [*others, wanted]}
    yield update(NODES, node, spec=new_spec, status=new_status)


def _names(taints: Sequence[Object]) -> set[tuple[object, object]]:
    return {(each.get("key"), each.get("effect")) for each in taints}


def _heartbeat(view: View, node: Object) -> Iterator[Action]:
    if is_down(node):
        return
    lease = view.get(StoreKey(LEASES, LEASE_HOME, name(node)))
    now = format_micro(view.now)
    if lease is None:
        yield Create(LEASES, _new_lease(node, now))
        yield Requeue(HEARTBEAT_S)
        return
    renewed = spec(lease).get("renewTime")
    age = (view.now - parse(renewed)).total_seconds() if renewed else HEARTBEAT_S
    if age >= HEARTBEAT_S:
        yield update(LEASES, lease, spec={**spec(lease), "renewTime": now})
        age = 0.0
    yield Requeue(HEARTBEAT_S - max(0.0, age))


def _new_lease(node: Object, now: str) -> Object:
    return {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {
            "name": name(node),
            "namespace": LEASE_HOME,
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": name(node), "uid": uid(node)}
            ],
        },
        "spec": {
            "holderIdentity": name(node),
            "leaseDurationSeconds": _LEASE_S,
            "renewTime": now,
        },
    }
