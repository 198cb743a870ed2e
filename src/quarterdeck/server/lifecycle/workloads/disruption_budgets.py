"""The PodDisruptionBudget controller: computes how many disruptions are allowed now."""

from collections.abc import Iterator, Sequence

from quarterdeck.server.lifecycle.engine.actions import Action
from quarterdeck.server.lifecycle.engine.controller import list_metas
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    format_moment,
    get_controller,
    get_spec,
    get_status,
    is_deleting,
    update,
    with_condition,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.pods import (
    PODS,
    is_active,
    is_finished,
    is_ready,
    parse_selector,
)
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

BUDGETS = "poddisruptionbudgets.policy"
_SCALED = {
    "ReplicaSet": "replicasets.apps",
    "StatefulSet": "statefulsets.apps",
    "ReplicationController": "replicationcontrollers",
}


class DisruptionBudgets:
    """Keeps the status of PodDisruptionBudgets up to date."""

    name = "disruption-controller"
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({BUDGETS, PODS})
    initial: Sequence[StoreKey] = ()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find the budget itself, and those that select a pod."""
        if event.key.resource == BUDGETS:
            yield event.key
            return
        for object_meta in list_metas(event):
            yield from index.find_selecting(BUDGETS, event.key.namespace, object_meta.labels)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Update the status of one budget."""
        budget = view.get(key)
        selector = None if budget is None else parse_selector(budget)
        if budget is None or selector is None or is_deleting(budget):
            return ()
        pods = [pod for pod in view.select(PODS, key.namespace, selector) if not is_finished(pod)]
        expected, desired = _compute_expectation(view, budget, pods)
        healthy = sum(is_ready(pod) and is_active(pod) for pod in pods)
        allowed = max(0, healthy - desired) if expected else 0
        new = {
            **{k: v for k, v in get_status(budget).items() if k == "disruptedPods"},
            "observedGeneration": budget["metadata"].get("generation") or 0,
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "conditions": with_condition(
                get_status(budget).get("conditions"),
                _build_condition(budget, allowed, format_moment(view.now)),
            ),
        }
        return [] if new == get_status(budget) else [update(BUDGETS, budget, "status", status=new)]


def _build_condition(budget: Object, allowed: int, now: str) -> Object:
    return {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "observedGeneration": budget["metadata"].get("generation") or 0,
        "lastTransitionTime": now,
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
    }


def _compute_expectation(view: View, budget: Object, pods: list[Object]) -> tuple[int, int]:
    """Compute `expectedPods` and `desiredHealthy`."""
    most, least = get_spec(budget).get("maxUnavailable"), get_spec(budget).get("minAvailable")
    if most is None and not isinstance(least, str):
        return len(pods), int(1 if least is None else least)
    expected = _sum_replicas(view, pods)
    if most is not None:
        return expected, max(0, expected - _resolve_percentage(most, expected))
    return expected, _resolve_percentage(least or 0, expected)


def _resolve_percentage(value: int | str, total: int) -> int:
    """Resolve a number, or a percentage rounded up."""
    if isinstance(value, str) and value.endswith("%"):
        return -(-int(value[:-1]) * total // 100)
    return int(value)


def _sum_replicas(view: View, pods: list[Object]) -> int:
    """Sum the replicas of the pods' controllers; a pod without a scalable one counts as 1."""
    total, seen = 0, set()
    for pod in pods:
        owner = get_controller(pod)
        resource = _SCALED.get(owner.get("kind") or "") if owner is not None else None
        if owner is None or resource is None:
            total += 1
            continue
        if owner.get("uid") in seen:
            continue
        seen.add(owner.get("uid"))
        home = pod["metadata"].get("namespace") or ""
        found = view.get(StoreKey(resource, home, owner.get("name") or ""))
        total += 0 if found is None else int(get_spec(found).get("replicas") or 0)
    return total
