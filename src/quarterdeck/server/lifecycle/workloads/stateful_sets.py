"""The StatefulSet controller: pods with stable names, created and replaced in order."""

from collections.abc import Iterator, Sequence

from quarterdeck.kit.digits import parse_digits
from quarterdeck.server.lifecycle.engine.actions import Action, Create, Requeue
from quarterdeck.server.lifecycle.engine.controller import find_controller_keys
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    get_labels,
    get_name,
    get_namespace,
    get_spec,
    get_status,
    is_deleting,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.pods import (
    BURST,
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
from quarterdeck.server.lifecycle.workloads.replica_sets import get_replicas
from quarterdeck.server.lifecycle.workloads.revisions import (
    HASH_LABEL,
    build_history,
    delete_old_revisions,
)
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

STATEFUL_SETS = "statefulsets.apps"
CLAIMS = "persistentvolumeclaims"
_COMPONENT = "statefulset-controller"


class StatefulSets:
    """Creates and replaces the pods of stateful sets."""

    name = _COMPONENT
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({STATEFUL_SETS, PODS})
    initial: Sequence[StoreKey] = ()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find the set itself, or that of a pod."""
        if event.key.resource == STATEFUL_SETS:
            yield event.key
        else:
            yield from find_controller_keys(
                event, index, kind="StatefulSet", resource=STATEFUL_SETS
            )

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Plan the next pods to create, delete or replace, and the status."""
        stateful = view.get(key)
        selector = None if stateful is None else parse_selector(stateful)
        if stateful is None or selector is None:
            return ()
        pods, actions = claim(view, stateful, PODS, selector)
        if actions:
            return actions
        return list(_Sync(view, stateful, pods).plan())


class _Sync:
    """The plan of one stateful set."""

    def __init__(self, view: View, stateful: Object, pods: list[Object]) -> None:
        self.view = view
        self.stateful = stateful
        self.replicas = get_replicas(stateful)
        self.start = int((get_spec(stateful).get("ordinals") or {}).get("start") or 0)
        self.pods = {
            ordinal: pod for pod in pods if (ordinal := _parse_ordinal(stateful, pod)) is not None
        }
        self.is_ordered = get_spec(stateful).get("podManagementPolicy") != "Parallel"
        self.history = build_history(view, stateful)
        self.target = get_name(self.history.newest)
        self.current = get_status(stateful).get("currentRevision") or self.target
        if self.history.get_template(self.current) is None:
            self.current = self.target
        strategy = get_spec(stateful).get("updateStrategy") or {}
        self.is_rolling = strategy.get("type") != "OnDelete"
        self.partition = int((strategy.get("rollingUpdate") or {}).get("partition") or 0)

    def plan(self) -> Iterator[Action]:
        yield from self.history.actions
        if not is_deleting(self.stateful):
            yield from self._plan_pods()
        yield from self._update_status()
        live = {self.current, self.target} | {_get_revision(pod) for pod in self.pods.values()}
        yield from delete_old_revisions(self.stateful, self.history, live)

    def _plan_pods(self) -> Iterator[Action]:
        ordinals = range(self.start, self.start + self.replicas)
        created = 0
        for ordinal in ordinals:
            pod = self.pods.get(ordinal)
            if pod is None:
                yield from self._create_pod(ordinal)
                created += 1
                if created == BURST:
                    return  # the events of the new pods trigger the next plan
            elif is_finished(pod) and not is_deleting(pod):
                yield from delete_pod(self.stateful, pod, _COMPONENT)
            elif self._is_healthy(pod):
                continue
            if self.is_ordered:
                return
        yield from self._delete_extra_pods(ordinals)

    def _delete_extra_pods(self, ordinals: range) -> Iterator[Action]:
        """Delete pods outside of the ordinals, highest first; if none, replace an outdated one."""
        condemned = sorted((each for each in self.pods if each not in ordinals), reverse=True)
        for ordinal in condemned:
            pod = self.pods[ordinal]
            if not is_deleting(pod):
                yield from delete_pod(self.stateful, pod, _COMPONENT)
            if self.is_ordered:
                return
        if self.is_rolling and not condemned:
            yield from self._replace_outdated_pod(ordinals)

    def _replace_outdated_pod(self, ordinals: range) -> Iterator[Action]:
        """Delete one pod of an older revision, the highest ordinal not below the partition."""
        for ordinal in reversed(ordinals):
            if ordinal < self.start + self.partition:
                return
            pod = self.pods.get(ordinal)
            if pod is None:
                return
            if not self._is_new(pod) and not is_deleting(pod):
                yield from delete_pod(self.stateful, pod, _COMPONENT)
                return
            if not self._is_healthy(pod):
                return

    def _is_healthy(self, pod: Object) -> bool:
        seconds = get_spec(self.stateful).get("minReadySeconds") or 0
        wait = compute_time_to_available(pod, seconds, self.view.now)
        return not is_deleting(pod) and wait == 0

    def _is_new(self, pod: Object) -> bool:
        return _get_revision(pod) == self.target

    def _create_pod(self, ordinal: int) -> Iterator[Action]:
        revision = self.target
        if self.is_rolling and ordinal < self.start + self.partition:
            revision = self.current
        pod_name = f"{get_name(self.stateful)}-{ordinal}"
        for template in get_spec(self.stateful).get("volumeClaimTemplates") or ():
            yield from self._create_claim(template, pod_name)
        template = self.history.get_template(revision) or {}
        yield from create_pod(
            self.stateful, self._build_pod(template, pod_name, ordinal, revision), _COMPONENT
        )

    def _build_pod(self, template: Object, pod_name: str, ordinal: int, revision: str) -> Object:
        template = {member: each for member, each in template.items() if member != "$patch"}
        pod = build_pod(
            self.stateful, template, pod_name, generateName=f"{get_name(self.stateful)}-"
        )
        pod["metadata"]["labels"] = {
            **(pod["metadata"].get("labels") or {}),
            "apps.kubernetes.io/pod-index": str(ordinal),
            HASH_LABEL: revision,
            "statefulset.kubernetes.io/pod-name": pod_name,
        }
        volumes = [
            {
                "name": get_name(each),
                "persistentVolumeClaim": {"claimName": f"{get_name(each)}-{pod_name}"},
            }
            for each in get_spec(self.stateful).get("volumeClaimTemplates") or ()
        ]
        claimed = {each["name"] for each in volumes}
        volumes += [
            each for each in pod["spec"].get("volumes") or () if each["name"] not in claimed
        ]
        pod["spec"] = {
            **pod["spec"],
            "hostname": pod_name,
            "subdomain": get_spec(self.stateful).get("serviceName") or "",
        }
        if volumes:
            pod["spec"]["volumes"] = volumes
        return pod

    def _create_claim(self, template: Object, pod_name: str) -> Iterator[Action]:
        claim_name = f"{get_name(template)}-{pod_name}"
        home = get_namespace(self.stateful)
        if self.view.get_object_meta(StoreKey(CLAIMS, home, claim_name)) is not None:
            return
        matched = (get_spec(self.stateful).get("selector") or {}).get("matchLabels") or {}
        yield Create(
            CLAIMS,
            {
                "kind": "PersistentVolumeClaim",
                "apiVersion": "v1",
                "metadata": {
                    "name": claim_name,
                    "namespace": home,
                    "labels": {**get_labels(template), **matched},
                },
                "spec": get_spec(template),
            },
        )

    def _update_status(self) -> Iterator[Action]:
        pods = [pod for pod in self.pods.values() if not is_finished(pod)]
        alive = [pod for pod in pods if not is_deleting(pod)]
        seconds = get_spec(self.stateful).get("minReadySeconds") or 0
        waits = [compute_time_to_available(pod, seconds, self.view.now) for pod in alive]
        current = sum(_get_revision(pod) == self.current for pod in alive)
        updated = sum(map(self._is_new, alive))
        ready = sum(map(is_ready, alive))
        is_done = updated == self.replicas == ready == len(pods)
        new = {
            "observedGeneration": self.stateful["metadata"].get("generation") or 0,
            "replicas": len(pods),
            "readyReplicas": ready,
            "currentReplicas": updated if is_done else current,
            "updatedReplicas": updated,
            "currentRevision": self.target if is_done else self.current,
            "updateRevision": self.target,
            "collisionCount": get_status(self.stateful).get("collisionCount") or 0,
            "availableReplicas": sum(wait == 0 for wait in waits),
        }
        always = ("replicas", "availableReplicas", "collisionCount", "observedGeneration")
        new = {member: each for member, each in new.items() if each or member in always}
        if new != get_status(self.stateful):
            yield update(STATEFUL_SETS, self.stateful, "status", status=new)
        if pending := [wait for wait in waits if wait]:
            yield Requeue(min(pending))


def _parse_ordinal(stateful: Object, pod: Object) -> int | None:
    """Parse the number at the end of a pod's name, if it is a member of the set."""
    parent, _, number = get_name(pod).rpartition("-")
    return parse_digits(number) if parent == get_name(stateful) else None


def _get_revision(pod: Object) -> str:
    return get_labels(pod).get(HASH_LABEL, "")
