"""Health of nodes: without heartbeats conditions become Unknown, and taints follow conditions.

A heartbeat is a renewed lease or a Ready condition with a new time. The time at which it is seen
counts, not the time in it, because clocks of nodes differ. While no node is ready, no pod is
evicted: then it is more likely that the control plane is disconnected.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from quarterdeck.server.kinds.simulation import SIMULATED_NODE
from quarterdeck.server.lifecycle.controllers.pod_termination import NODES
from quarterdeck.server.lifecycle.engine.actions import Action, Record, Requeue
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    format_moment,
    get_annotations,
    get_condition,
    get_creation_time,
    get_name,
    get_spec,
    get_status,
    is_true,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.nodes import (
    LEASE_HOME,
    LEASES,
    UNREACHABLE,
    is_node_ready,
)
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Entry, StoreEvent, StoreKey

_STARTUP_GRACE = timedelta(seconds=60)
"""How long a new node may take to report for the first time."""
_MONITOR_GRACE = timedelta(seconds=50)
"""How long a node may be without a heartbeat after that."""
_KUBELET_CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_NOT_READY = "node.kubernetes.io/not-ready"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_PRESSURE_TAINTS = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
}
_OWN_TAINTS = frozenset({_NOT_READY, UNREACHABLE, _UNSCHEDULABLE, *_PRESSURE_TAINTS.values()})


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, frozen=True):
    conditions: list[_Condition] | None = None


class _Node(msgspec.Struct, frozen=True):
    status: _Status = _Status()


_decode = msgspec.json.Decoder(_Node).decode


class _Heartbeat(NamedTuple):
    """The last heartbeat of a node."""

    reported: str | None
    """The time in the Ready condition."""
    renewed: str | None
    """The time in the lease."""
    noticed: datetime


class NodeHealth:
    """Watches the nodes of external kubelets; simulated ones are always healthy."""

    name = "node-health"
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({NODES, LEASES})
    initial: Sequence[StoreKey] = ()

    def __init__(self) -> None:
        self._heartbeats: dict[StoreKey, _Heartbeat] = {}

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find a node that changed, or whose lease did."""
        if event.key.resource == NODES:
            if event.after is None:
                self._heartbeats.pop(event.key, None)
            if _is_entry_ready(event.before) != _is_entry_ready(event.after):
                yield from index.list_resource(NODES, "")  # perhaps the first one, or the last
            elif event.after is not None:
                yield event.key
        elif event.key.namespace == LEASE_HOME:
            yield StoreKey(NODES, "", event.key.name)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Set the conditions of a node without heartbeat to Unknown, and update its taints."""
        node = view.get(key)
        if node is None or SIMULATED_NODE in get_annotations(node):
            return ()
        conditions: list[Object] = get_status(node).get("conditions") or []
        has_reported = get_condition(conditions, "Ready") is not None
        noticed = self._record_heartbeat(view, key, node)
        left = noticed + (_MONITOR_GRACE if has_reported else _STARTUP_GRACE) - view.now
        if left <= timedelta():
            return list(_update_node(view, node, _mark_unknown(node, conditions, view.now)))
        return [*_update_node(view, node, conditions), Requeue(left.total_seconds())]

    def _record_heartbeat(self, view: View, key: StoreKey, node: Object) -> datetime:
        """Record the heartbeat times of a node; return when they last changed."""
        ready = get_condition(get_status(node).get("conditions"), "Ready")
        reported = None if ready is None else ready.get("lastHeartbeatTime") or ""
        lease = view.get(StoreKey(LEASES, LEASE_HOME, key.name))
        renewed = None if lease is None else get_spec(lease).get("renewTime")
        known = self._heartbeats.get(key)
        if known is None and ready is None and renewed is None:
            noticed = get_creation_time(node) or view.now
        elif known is None or (reported, renewed) != (known.reported, known.renewed):
            noticed = view.now
        else:
            noticed = known.noticed
        self._heartbeats[key] = _Heartbeat(reported, renewed, noticed)
        return noticed


def _is_entry_ready(entry: Entry | None) -> bool:
    return entry is not None and any(
        (each.type, each.status) == ("Ready", "True")
        for each in _decode(entry.value).status.conditions or ()
    )


def _mark_unknown(node: Object, conditions: list[Object], now: datetime) -> list[Object]:
    """Return the conditions of a node without heartbeats: those of the kubelet are Unknown."""
    moment = format_moment(now)
    missing = [each for each in _KUBELET_CONDITIONS if get_condition(conditions, each) is None]
    return [
        *(
            {
                **each,
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": moment,
            }
            if each.get("type") in _KUBELET_CONDITIONS and each.get("status") != "Unknown"
            else each
            for each in conditions
        ),
        *(
            {
                "type": kind,
                "status": "Unknown",
                "lastHeartbeatTime": node["metadata"].get("creationTimestamp"),
                "lastTransitionTime": moment,
                "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
            }
            for kind in missing
        ),
    ]


def _update_node(view: View, node: Object, conditions: list[Object]) -> Iterator[Action]:
    """Write conditions and taints if they differ; record an event if the node was ready."""
    before = get_spec(node).get("taints") or []
    evicts = any(is_node_ready(each) for each in view.list_few(NODES) if each is not node)
    wanted = _list_taints(node, conditions, evicts=evicts)
    kept = [
        each
        for each in before
        if each.get("key") not in _OWN_TAINTS or (each["key"], each.get("effect")) in wanted
    ]
    present = {(each.get("key"), each.get("effect")) for each in kept}
    added = [
        {"key": key, "effect": effect, "timeAdded": format_moment(view.now)}
        for key, effect in wanted
        if (key, effect) not in present
    ]
    was_ready = is_true(get_status(node).get("conditions"), "Ready")
    if was_ready and not is_true(conditions, "Ready"):
        yield _build_event(node)
    if [*kept, *added] == before and conditions == (get_status(node).get("conditions") or []):
        return
    spec = {name: each for name, each in get_spec(node).items() if name != "taints"}
    if taints := [*kept, *added]:
        spec["taints"] = taints
    status = {**get_status(node), "conditions": conditions} if conditions else get_status(node)
    yield update(NODES, node, spec=spec, status=status)


def _list_taints(
    node: Object, conditions: Sequence[Object], *, evicts: bool
) -> list[tuple[str, str]]:
    """List the taints that follow from the conditions of a node: key and effect."""
    states = {each.get("type"): each.get("status") for each in conditions}
    contact = {"False": _NOT_READY, "Unknown": UNREACHABLE}.get(states.get("Ready") or "")
    effects = ("NoSchedule", "NoExecute") if evicts else ("NoSchedule",)
    wanted = [(contact, effect) for effect in effects] if contact else []
    wanted += [
        (taint, "NoSchedule")
        for kind, taint in _PRESSURE_TAINTS.items()
        if states.get(kind) == "True"
    ]
    if get_spec(node).get("unschedulable"):
        wanted.append((_UNSCHEDULABLE, "NoSchedule"))
    return wanted


def _build_event(node: Object) -> Record:
    return Record(
        about=node,
        reason="NodeNotReady",
        message=f"Node {get_name(node)} status is now: NodeNotReady",
        component="node-controller",
    )
