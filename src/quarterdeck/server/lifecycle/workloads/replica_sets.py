"""The ReplicaSet and ReplicationController controllers: keep the number of pods."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from quarterdeck.kit.digits import parse_digits
from quarterdeck.server.lifecycle.engine.actions import Action, Record, Requeue
from quarterdeck.server.lifecycle.engine.controller import find_controller_keys
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    format_moment,
    get_annotations,
    get_condition,
    get_creation_time,
    get_labels,
    get_name,
    get_namespace,
    get_spec,
    get_status,
    is_deleting,
    update,
    update_last,
    with_condition,
)
from quarterdeck.server.lifecycle.engine.round_queue import Later
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.pods import (
    BURST,
    PODS,
    build_pod,
    claim,
    compute_time_to_available,
    create_pod,
    delete_pod,
    get_ready_time,
    is_active,
    is_ready,
    parse_selector,
)
from quarterdeck.server.lifecycle.workloads.resource_quotas import Room, compute_room_for_pods
from quarterdeck.server.registry.name_generator import generate_name
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey
from quarterdeck.wire.label_selector import Selector

REPLICA_SETS = "replicasets.apps"
QUOTAS = "resourcequotas"

_COST = "controller.kubernetes.io/pod-deletion-cost"
_FAILED_RETRY_S = 5.0


class WorkloadType(NamedTuple):
    """What differs between ReplicaSets and ReplicationControllers."""

    resource: str
    kind: str
    component: str
    selector: Callable[[Object], Selector | None]


def _parse_plain_selector(value: Object) -> Selector | None:
    labels = get_spec(value).get("selector")
    return Selector.of(labels) if labels else None


REPLICA_SET = WorkloadType(REPLICA_SETS, "ReplicaSet", "replicaset-controller", parse_selector)
REPLICATION_CONTROLLER = WorkloadType(
    "replicationcontrollers",
    "ReplicationController",
    "replication-controller",
    _parse_plain_selector,
)


class ReplicaSets:
    """Creates and deletes the pods of replica sets or replication controllers."""

    manager = "kube-controller-manager"
    initial: Sequence[StoreKey] = ()

    def __init__(self, workload_type: WorkloadType = REPLICA_SET) -> None:
        self._workload_type = workload_type
        self.name = workload_type.component
        self.resources: frozenset[str] | None = frozenset({workload_type.resource, PODS})

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey | Later]:
        """Find a written replica set, or that of a pod.

        A new pod is written again soon, so the plan of its replica set may wait.
        """
        workload_type = self._workload_type
        if event.key.resource == workload_type.resource:
            yield event.key
            return
        found = find_controller_keys(
            event, index, kind=workload_type.kind, resource=workload_type.resource
        )
        yield from found if event.after is None else map(Later, found)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Create or delete pods; update the status when their number is right or limited."""
        replica_set = view.get(key)
        workload_type = self._workload_type
        selector = None if replica_set is None else workload_type.selector(replica_set)
        if replica_set is None or selector is None:
            return ()
        owned, actions = claim(view, replica_set, PODS, selector)
        if actions:
            return actions  # their events trigger the next plan
        pods = [pod for pod in owned if is_active(pod)]
        room: Room | None = None
        if not is_deleting(replica_set):
            surplus = len(pods) - get_replicas(replica_set)
            if surplus > 0:
                return list(
                    _delete_pods(workload_type, replica_set, pods, number=min(surplus, BURST))
                )
            if surplus < 0:
                template = get_spec(replica_set).get("template") or {}
                room = compute_room_for_pods(view, get_namespace(replica_set), template)
                number = min(-surplus, BURST, room.pods)
                actions = list(_create_pods(view, workload_type, replica_set, number=number))
                if room.pods >= -surplus:
                    return actions
                actions += [
                    _build_refusal_event(workload_type, replica_set, room),
                    Requeue(_FAILED_RETRY_S),
                ]
        return [*actions, *_report(view, workload_type, replica_set, pods=pods, refused=room)]


def get_replicas(value: Object) -> int:
    """Return how many replicas a workload should have."""
    replicas = get_spec(value).get("replicas")
    return 1 if replicas is None else int(replicas)


def _create_pods(
    view: View, workload_type: WorkloadType, owner: Object, *, number: int
) -> Iterator[Action]:
    template = get_spec(owner).get("template") or {}
    prefix = f"{get_name(owner)}-"
    for _ in range(number):
        pod_name = generate_name(prefix, view.random)
        yield from create_pod(
            owner,
            build_pod(owner, template, pod_name, generateName=prefix),
            workload_type.component,
        )


def _delete_pods(
    workload_type: WorkloadType, owner: Object, pods: list[Object], *, number: int
) -> Iterator[Action]:
    for pod in rank_for_deletion(pods)[:number]:
        yield from delete_pod(owner, pod, workload_type.component)


def rank_for_deletion(pods: list[Object]) -> list[Object]:
    """Sort pods in the order of deletion, as Kubernetes ranks them: least useful ones first."""
    crowd = Counter(get_spec(pod).get("nodeName") or "" for pod in pods)
    phases = {"Pending": 0, "Unknown": 1, "Running": 2}

    def rank(pod: Object) -> tuple[object, ...]:
        since, made = get_ready_time(pod), get_creation_time(pod)
        restarts = sum(
            each.get("restartCount") or 0 for each in get_status(pod).get("containerStatuses") or ()
        )
        return (
            bool(get_spec(pod).get("nodeName")),
            phases.get(get_status(pod).get("phase") or "Pending", 0),
            is_ready(pod),
            _get_deletion_cost(pod),
            -crowd[get_spec(pod).get("nodeName") or ""],
            -(since.timestamp() if since else 0.0),
            -restarts,
            -(made.timestamp() if made else 0.0),
            get_name(pod),
        )

    return sorted(pods, key=rank)


def _get_deletion_cost(pod: Object) -> int:
    text = get_annotations(pod).get(_COST, "0")
    cost = parse_digits(text.removeprefix("-")) or 0
    return -cost if text.startswith("-") else cost


def _build_refusal_event(workload_type: WorkloadType, owner: Object, room: Room) -> Record:
    return Record(
        about=owner,
        reason="FailedCreate",
        message=f'Error creating: pods "{get_name(owner)}-" is forbidden: {room.refusal}',
        component=workload_type.component,
        is_warning=True,
    )


# status ------------------------------------------------------------------------------------------


def _report(
    view: View,
    workload_type: WorkloadType,
    owner: Object,
    *,
    pods: list[Object],
    refused: Room | None,
) -> Iterator[Action]:
    template_labels = ((get_spec(owner).get("template") or {}).get("metadata") or {}).get("labels")
    waits = [
        compute_time_to_available(pod, get_spec(owner).get("minReadySeconds") or 0, view.now)
        for pod in pods
    ]
    numbers = {
        "replicas": len(pods),
        "fullyLabeledReplicas": sum(
            get_labels(pod).items() >= (template_labels or {}).items() for pod in pods
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
    if conditions := _build_conditions(owner, refused, format_moment(view.now)):
        new["conditions"] = conditions
    if new != get_status(owner):
        write = update if refused else update_last
        yield write(workload_type.resource, owner, "status", status=new)
    if pending := [wait for wait in waits if wait]:
        yield Requeue(min(pending))


def _build_conditions(owner: Object, refused: Room | None, now: str) -> list[Object]:
    conditions = list(get_status(owner).get("conditions") or ())
    if refused is None:
        return [each for each in conditions if each.get("type") != "ReplicaFailure"]
    if get_condition(conditions, "ReplicaFailure") is not None:
        return conditions
    failure = {
        "type": "ReplicaFailure",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "FailedCreate",
        "message": f'pods "{get_name(owner)}-" is forbidden: {refused.refusal}',
    }
    return with_condition(conditions, failure)
