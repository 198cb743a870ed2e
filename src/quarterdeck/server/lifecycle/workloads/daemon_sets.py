"""The DaemonSet controller: one pod on every eligible node."""

from collections.abc import Iterator, Sequence

from quarterdeck.server.lifecycle.controllers.pod_termination import NODES
from quarterdeck.server.lifecycle.engine.actions import Action, Requeue
from quarterdeck.server.lifecycle.engine.controller import find_controller_keys
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    get_creation_time,
    get_labels,
    get_name,
    get_spec,
    get_status,
    is_deleting,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.pods import (
    PODS,
    build_pod,
    claim,
    compute_time_to_available,
    create_pod,
    delete_pod,
    is_finished,
    is_ready,
    parse_selector,
)
from quarterdeck.server.lifecycle.workloads.revisions import (
    HASH_LABEL,
    build_history,
    delete_old_revisions,
    get_hash,
)
from quarterdeck.server.lifecycle.workloads.rollout import compute_bounds
from quarterdeck.server.lifecycle.workloads.scheduler import explain_misfit
from quarterdeck.server.registry.name_generator import generate_name
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

DAEMON_SETS = "daemonsets.apps"
_COMPONENT = "daemonset-controller"
_GENERATION = "pod-template-generation"
_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)


class DaemonSets:
    """Creates and replaces the pods of daemon sets."""

    name = _COMPONENT
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({DAEMON_SETS, PODS, NODES})
    initial: Sequence[StoreKey] = ()

    def __init__(self) -> None:
        self._known: dict[StoreKey, None] = {}

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find a written daemon set, or that of a pod; all of them when a node changes."""
        if event.key.resource == DAEMON_SETS:
            if event.after is None:
                self._known.pop(event.key, None)
            else:
                self._known[event.key] = None
            yield event.key
        elif event.key.resource == NODES:
            yield from tuple(self._known)
        else:
            yield from find_controller_keys(event, index, kind="DaemonSet", resource=DAEMON_SETS)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Create and delete pods, node by node; update the status when no pod changes."""
        daemons = view.get(key)
        selector = None if daemons is None else parse_selector(daemons)
        if daemons is None or selector is None:
            return ()
        pods, actions = claim(view, daemons, PODS, selector)
        return actions or list(_Sync(view, daemons, pods).plan())


class _Sync:
    """The plan of one daemon set."""

    def __init__(self, view: View, daemons: Object, pods: list[Object]) -> None:
        self.view = view
        self.daemons = daemons
        self.history = build_history(view, daemons)
        self.hash = get_hash(self.history.newest)
        self.nodes = {get_name(node): node for node in view.list_few(NODES)}
        self.placed: dict[str, list[Object]] = {}
        for pod in pods:
            self.placed.setdefault(_get_node_name(pod), []).append(pod)
        self.wanted = [
            each for each, node in self.nodes.items() if not explain_misfit(self._probe, node)
        ]

    @property
    def _probe(self) -> Object:
        """A pod of the template, to test which nodes it fits."""
        template = get_spec(self.daemons).get("template") or {}
        return _add_tolerations(build_pod(self.daemons, template, "probe"))

    def plan(self) -> Iterator[Action]:
        yield from self.history.actions
        changed = False
        if not is_deleting(self.daemons):
            for action in (*self._create_pods(), *self._replace_pods()):
                changed = True
                yield action
        if not changed:
            yield from self._update_status()
            every = [pod for pods in self.placed.values() for pod in pods]
            live = {f"{get_name(self.daemons)}-{get_labels(pod).get(HASH_LABEL)}" for pod in every}
            yield from delete_old_revisions(self.daemons, self.history, live)

    def _create_pods(self) -> Iterator[Action]:
        for node in self.wanted:
            pods = self.placed.get(node, [])
            for pod in pods:
                if is_finished(pod) and not is_deleting(pod):
                    yield from delete_pod(self.daemons, pod, _COMPONENT)
            active = [pod for pod in pods if not is_finished(pod)]
            if not active:
                yield from self._create_pod(node)
            for pod in sorted(active, key=_get_age_key)[1:]:
                if not is_deleting(pod):
                    yield from delete_pod(self.daemons, pod, _COMPONENT)
        for node, pods in self.placed.items():
            if node not in self.wanted:
                for pod in pods:
                    if not is_deleting(pod):
                        yield from delete_pod(self.daemons, pod, _COMPONENT)

    def _create_pod(self, node: str) -> Iterator[Action]:
        template = get_spec(self.daemons).get("template") or {}
        prefix = f"{get_name(self.daemons)}-"
        pod_name = generate_name(prefix, self.view.random)
        pod = _add_tolerations(build_pod(self.daemons, template, pod_name, generateName=prefix))
        number = self.daemons["metadata"].get("generation") or 1
        pod["metadata"]["labels"] = {
            **(pod["metadata"].get("labels") or {}),
            HASH_LABEL: self.hash,
            _GENERATION: str(number),
        }
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        pod["spec"]["affinity"] = {
            **(pod["spec"].get("affinity") or {}),
            "nodeAffinity": required,
        }
        yield from create_pod(self.daemons, pod, _COMPONENT)

    def _replace_pods(self) -> Iterator[Action]:
        """Delete pods of an older template, as many as may be unavailable at once."""
        strategy = get_spec(self.daemons).get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        rolling = strategy.get("rollingUpdate") or {}
        most = compute_bounds(len(self.wanted), 0, rolling.get("maxUnavailable", 1)).unavailable
        away = 0
        old: list[tuple[bool, Object]] = []
        for node in self.wanted:
            pods = [pod for pod in self.placed.get(node, ()) if not is_finished(pod)]
            is_away = not any(self._is_available(pod) for pod in pods)
            away += is_away
            old += [(not is_away, pod) for pod in pods if self._is_old(pod)]
        for counts, pod in sorted(old, key=lambda each: each[0]):
            if counts and away >= most:
                return
            away += counts
            yield from delete_pod(self.daemons, pod, _COMPONENT)

    def _is_old(self, pod: Object) -> bool:
        return get_labels(pod).get(HASH_LABEL) != self.hash and not is_deleting(pod)

    def _is_available(self, pod: Object) -> bool:
        seconds = get_spec(self.daemons).get("minReadySeconds") or 0
        return not is_deleting(pod) and compute_time_to_available(pod, seconds, self.view.now) == 0

    def _update_status(self) -> Iterator[Action]:
        seconds = get_spec(self.daemons).get("minReadySeconds") or 0
        first = [
            min(self.placed[node], key=_get_age_key) for node in self.wanted if node in self.placed
        ]
        waits = [compute_time_to_available(pod, seconds, self.view.now) for pod in first]
        available = sum(wait == 0 for wait in waits)
        updated = sum(get_labels(pod).get(HASH_LABEL) == self.hash for pod in first)
        new = {
            "currentNumberScheduled": len(first),
            "numberMisscheduled": sum(node not in self.wanted for node in self.placed),
            "desiredNumberScheduled": len(self.wanted),
            "numberReady": sum(map(is_ready, first)),
            "observedGeneration": self.daemons["metadata"].get("generation") or 0,
            "updatedNumberScheduled": updated,
            "numberAvailable": available,
            "numberUnavailable": len(self.wanted) - available,
        }
        optional = ("updatedNumberScheduled", "numberAvailable", "numberUnavailable")
        new = {member: each for member, each in new.items() if each or member not in optional}
        if new != get_status(self.daemons):
            yield update(DAEMON_SETS, self.daemons, "status", status=new)
        if pending := [wait for wait in waits if wait]:
            yield Requeue(min(pending))


def _get_age_key(pod: Object) -> tuple[bool, float, str]:
    made = get_creation_time(pod)
    return (is_deleting(pod), made.timestamp() if made else 0.0, get_name(pod))


def _add_tolerations(pod: Object) -> Object:
    extra = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in _TOLERATED]
    given = pod["spec"].get("tolerations") or []
    return {**pod, "spec": {**pod["spec"], "tolerations": [*given, *extra]}}


def _get_node_name(pod: Object) -> str:
    """Return the node of a pod, or the one that its node affinity names."""
    if host := get_spec(pod).get("nodeName"):
        return str(host)
    affinity = (get_spec(pod).get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return ""
