"""Failure of nodes: their pods become not ready, and are evicted after their toleration seconds.

Pods of deleted nodes are deleted at once.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.kit import duration
from quarterdeck.server.kinds.simulation import SIMULATED_NODE
from quarterdeck.server.lifecycle.controllers.pod_termination import NODES
from quarterdeck.server.lifecycle.engine.actions import Action, Record, Requeue
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    delete,
    format_moment,
    get_annotations,
    get_condition,
    get_name,
    get_namespace,
    get_spec,
    get_status,
    is_deleting,
    parse_time,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.nodes import UNREACHABLE, is_down
from quarterdeck.server.lifecycle.workloads.pods import PODS, is_finished, is_ready
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

_DEFAULT_TOLERATION_S = 300


class NodeFailure:
    """Evicts pods of unreachable nodes, and restores pods of nodes that are reachable again."""

    name = "node-down"
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({NODES})
    initial: Sequence[StoreKey] = ()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find nodes that changed or were deleted."""
        if event.before is not None:
            yield event.key

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Plan the pods of one node: delete or restore them as the node is lost or returns."""
        node = view.get(key)
        pods = [pod for pod in view.list(PODS) if get_spec(pod).get("nodeName") == key.name]
        if node is None:
            return [delete(PODS, pod, grace_s=0) for pod in pods]
        if is_down(node) or _has_lost_contact(node):
            return list(_plan_pod_loss(view, node, pods))
        if SIMULATED_NODE not in get_annotations(node):
            return ()  # its kubelet restores them
        return [action for pod in pods for action in _restore_pod(pod, format_moment(view.now))]


def _has_lost_contact(node: Object) -> bool:
    """Whether a node that is not simulated has the taint `unreachable` with NoExecute."""
    taints = get_spec(node).get("taints") or ()
    return SIMULATED_NODE not in get_annotations(node) and any(
        (each.get("key"), each.get("effect")) == (UNREACHABLE, "NoExecute") for each in taints
    )


def _plan_pod_loss(view: View, node: Object, pods: list[Object]) -> Iterator[Action]:
    found = get_condition(get_status(node).get("conditions"), "Ready") or {}
    since = parse_time(found.get("lastTransitionTime")) or view.now
    waits = []
    for pod in pods:
        if is_finished(pod) or is_deleting(pod):
            continue
        patience = _get_toleration_seconds(pod)
        end = None if patience is None else since + duration.from_seconds(patience)
        if end is not None and end <= view.now:
            yield delete(PODS, pod)
            yield Record(
                about=pod,
                reason="TaintManagerEviction",
                message=f"Marking for deletion Pod {get_namespace(pod)}/{get_name(pod)}",
                component="taint-eviction-controller",
            )
        else:
            if is_ready(pod):
                yield _set_ready(pod, "False", format_moment(view.now))
                yield _build_not_ready_event(pod)
            if end is not None:
                waits.append(_compute_seconds_left(end, view.now))
    if waits:
        yield Requeue(min(waits))


def _restore_pod(pod: Object, now: str) -> Iterator[Action]:
    """Set a pod of a node that is reachable again ready; delete it if it was being deleted."""
    found = get_condition(get_status(pod).get("conditions"), "ContainersReady")
    if is_deleting(pod):
        yield delete(PODS, pod, grace_s=0)
    elif found is not None and found.get("status") == "True" and not is_ready(pod):
        yield _set_ready(pod, "True", now)


def _set_ready(pod: Object, state: str, now: str) -> Action:
    conditions = [
        {**each, "status": state, "lastTransitionTime": now}
        if each.get("type") == "Ready"
        else each
        for each in get_status(pod).get("conditions") or ()
    ]
    return update(PODS, pod, "status", status={**get_status(pod), "conditions": conditions})


def _build_not_ready_event(pod: Object) -> Record:
    return Record(
        about=pod,
        reason="NodeNotReady",
        message="Node is not ready",
        component="node-controller",
        is_warning=True,
    )


def _get_toleration_seconds(pod: Object) -> int | None:
    """Return how long a pod tolerates an unreachable node; None for ever."""
    for each in get_spec(pod).get("tolerations") or ():
        if each.get("key") in (UNREACHABLE, None, "") and each.get("effect") in (
            "NoExecute",
            None,
            "",
        ):
            seconds = each.get("tolerationSeconds")
            return None if seconds is None else int(seconds)
    return _DEFAULT_TOLERATION_S


def _compute_seconds_left(end: datetime, now: datetime) -> float:
    return max(0.0, (end - now).total_seconds())
