"""Termination of pods: removes them after their grace period where no kubelet does."""

from collections.abc import Iterator, Sequence

from quarterdeck.server.kinds.simulation import SIMULATED_NODE
from quarterdeck.server.lifecycle.engine.actions import Action, Requeue
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    get_annotations,
    get_spec,
    parse_time,
    remove,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

PODS = "pods"
NODES = "nodes"


class PodTermination:
    """Removes deleted pods without a kubelet when their grace period ends."""

    name = "pod-end"
    manager = "kubelet"
    resources: frozenset[str] | None = frozenset({PODS})
    initial: Sequence[StoreKey] = ()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find pods that are being deleted."""
        if event.after is not None and get_object_meta(event.after).deletion_timestamp is not None:
            yield event.key

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Wait for the end of the grace period, then remove the pod."""
        pod = view.get(key)
        if pod is None or has_kubelet(view, pod):
            return ()
        end = parse_time(pod["metadata"].get("deletionTimestamp"))
        if end is None:
            return ()
        left = (end - view.now).total_seconds()
        return [Requeue(left)] if left > 0 else end_pod(pod)


def has_kubelet(view: View, pod: Object) -> bool:
    """Whether a pod is on an existing node that is not simulated."""
    node = view.get(StoreKey(NODES, "", get_spec(pod).get("nodeName") or ""))
    return node is not None and SIMULATED_NODE not in get_annotations(node)


def end_pod(pod: Object) -> Sequence[Action]:
    """Remove a pod; if finalizers keep it, set its grace period to 0."""
    if not pod["metadata"].get("finalizers"):
        return [remove(PODS, pod)]
    if pod["metadata"].get("deletionGracePeriodSeconds"):
        return [update(PODS, pod, metadata={"deletionGracePeriodSeconds": 0})]
    return ()
