"""ReplicaSets, and their predecessors: as many pods of a template as are wanted."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from quarterdeck.server.lifecycle.engine.actions import Action, Record, Requeue
from quarterdeck.server.lifecycle.engine.controller import keys_of_controller
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    annotations,
    condition,
    created_at,
    is_deleting,
    labels,
    name,
    namespace,
    spec,
    stamp,
    status,
    update,
    with_condition,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.pods import (
    PODS,
    available_in,
    claim,
    create_pod,
    delete_pod,
    is_active,
    is_ready,
    new_pod,
    random_suffix,
    ready_since,
    selector_of,
)
from quarterdeck.server.lifecycle.workloads.resource_quotas import Room, room_for_pods
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey
from quarterdeck.wire.label_selector import Selector

REPLICA_SETS = "replicasets.apps"
QUOTAS = "resourcequotas"
BURST = 500
"""Pods that are made or deleted at once."""

_COST = "controller.kubernetes.io/pod-deletion-cost"
_FAILED_RETRY_S = 5.0


class Flavour(NamedTuple):
    """What tells the two kinds apart."""

    resource: str
    kind: str
    component: str
    selector: Callable[[Object], Selector | None]


def _plain_selector(value: Object) -> Selector | None:
    labels = spec(value).get("selector")
    return Selector.of(labels) if labels else None


REPLICA_SET = Flavour(REPLICA_SETS, "ReplicaSet", "replicaset-controller", selector_of)
REPLICATION_CONTROLLER = Flavour(
    "replicationcontrollers", "ReplicationController", "replication-controller", _plain_selector
)


class ReplicaSets:
    """Makes and deletes the pods of replica sets."""

    manager = "kube-controller-manager"
    initial: Sequence[StoreKey] = ()

    def __init__(self, flavour: Flavour = REPLICA_SET) -> None:
        self._flavour = flavour
        self.name = flavour.component
        self.resources: frozenset[str] | None = frozenset({flavour.resource, PODS})

    def keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """The set itself, or that of a pod."""
        flavour = self._flavour
        if event.key.resource == flavour.resource:
            yield event.key
        else:
            yield from keys_of_controller(
                event, index, kind=flavour.kind, resource=flavour.resource
            )

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Make or delete pods; when their number is right, say how they are."""
        replica_set = view.get(key)
        flavour = self._flavour
        selector = None if replica_set is None else flavour.selector(replica_set)
        if replica_set is None or selector is None:
            return ()
        owned, actions = claim(view, replica_set, PODS, selector)
        if actions:
            return actions  # their events bring us back
        pods = [pod for pod in owned if is_active(pod)]
        room: Room | None = None
        if not is_deleting(replica_set):
            surplus = len(pods) - wanted(replica_set)
            if surplus > 0:
                return list(_fewer(flavour, replica_set, pods, number=min(surplus, BURST)))
            if surplus < 0:
                template = spec(replica_set).get("template") or {}
                room = room_for_pods(view, namespace(replica_set), template)
                number = min(-surplus, BURST, room.pods)
                actions = list(_more(view, flavour, replica_set, number=number))
                if room.pods >= -surplus:
                    return actions
                actions += [_refused(flavour, replica_set, room), Requeue(_FAILED_RETRY_S)]
        return [*actions, *_report(view, flavour, replica_set, pods=pods, refused=room)]


def wanted(value: Object) -> int:
    """How many replicas a workload should have."""
    replicas = spec(value).get("replicas")
    return 1 if replicas is None else int(replicas)


def _more(view: View, flavour: Flavour, owner: Object, *, number: int) -> Iterator[Action]:
    template = spec(owner).get("template") or {}
    prefix = f"{name(owner)}-"
    for _ in range(number):
        pod_name = prefix[:58] + random_suffix(view.random)
        yield from create_pod(
            owner, new_pod(owner, template, pod_name, generateName=prefix), flavour.component
        )


def _fewer(flavour: Flavour, owner: Object, pods: list[Object], *, number: int) -> Iterator[Action]:
    for pod in rank_for_deletion(pods)[:number]:
        yield from delete_pod(owner, pod, flavour.component)


def rank_for_deletion(pods: list[Object]) -> list[Object]:
    """Pods in the order in which they are given up: those that do least first."""
    crowd = Counter(spec(pod).get("nodeName") or "" for pod in pods)
    phases = {"Pending": 0, "Unknown": 1, "Running": 2}

    def rank(pod: Object) -> tuple[object, ...]:
        since, made = ready_since(pod), created_at(pod)
        restarts = sum(
            each.get("restartCount") or 0 for each in status(pod).get("containerStatuses") or ()
        )
        return (
            bool(spec(pod).get("nodeName")),
            phases.get(status(pod).get("phase") or "Pending", 0),
            is_ready(pod),
            _cost(pod),
            -crowd[spec(pod).get("nodeName") or ""],
            -(since.timestamp() if since else 0.0),
            -restarts,
            -(made.timestamp() if made else 0.0),
            name(pod),
        )

    return sorted(pods, key=rank)


def _cost(pod: Object) -> int:
    text = annotations(pod).get(_COST, "0")
    return int(text) if text.lstrip("-").isdigit() else 0


def _refused(flavour: Flavour, owner: Object, room: Room) -> Record:
    return Record(
        about=owner,
        reason="FailedCreate",
        message=f'Error creating: pods "{name(owner)}-" is forbidden: {room.refusal}',
        component=flavour.component,
        is_warning=True,
    )


# status ------------------------------------------------------------------------------------------


def _report(
    view: View, flavour: Flavour, owner: Object, *, pods: list[Object], refused: Room | None
) -> Iterator[Action]:
    template_labels = ((spec(owner).get("template") or {}).get("metadata") or {}).get("labels")
    waits = [available_in(pod, spec(owner).get("minReadySeconds") or 0, view.now) for pod in pods]
    numbers = {
        "replicas": len(pods),
        "fullyLabeledReplicas": sum(
            labels(pod).items() >= (template_labels or {}).items() for pod in pods
        ),
        "readyReplicas": sum(map(is_ready, pods)),
        "availableReplicas": sum(wait == 0 for wait in waits),
        "observedGeneration": owner["metadata"].get("generation") or 0,
    }
    new: Object = {
        member: number
        for member, number in numbers.items()
        if number or member in ("replicas", "observedGeneration")
    }
    if conditions := _conditions(owner, refused, stamp(view.now)):
        new["conditions"] = conditions
    if new != status(owner):
        yield update(flavour.resource, owner, "status", status=new)
    if pending := [wait for wait in waits if wait]:
        yield Requeue(min(pending))


def _conditions(owner: Object, refused: Room | None, now: str) -> list[Object]:
    conditions = list(status(owner).get("conditions") or ())
    if refused is None:
        return [each for each in conditions if each.get("type") != "ReplicaFailure"]
    if condition(conditions, "ReplicaFailure") is not None:
        return conditions
    failure = {
        "type": "ReplicaFailure",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "FailedCreate",
        "message": f'pods "{name(owner)}-" is forbidden: {refused.refusal}',
    }
    return with_condition(conditions, failure)
