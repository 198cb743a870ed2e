"""Resource quotas: how many pods may still be made, and how many objects are used."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quarterdeck.kit.quantity import Quantity, QuantityError
from quarterdeck.server.facts import facts_of
from quarterdeck.server.lifecycle.actions import Action
from quarterdeck.server.lifecycle.index import Index
from quarterdeck.server.lifecycle.objects import is_deleting, name, spec, status, update
from quarterdeck.server.lifecycle.view import View
from quarterdeck.server.lifecycle.workloads.pods import PODS, is_finished
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

QUOTAS = "resourcequotas"
_COUNTED = {
    "pods": PODS,
    "services": "services",
    "secrets": "secrets",
    "configmaps": "configmaps",
    "persistentvolumeclaims": "persistentvolumeclaims",
    "replicationcontrollers": "replicationcontrollers",
    "resourcequotas": QUOTAS,
}
UNLIMITED = 1_000_000


class Room(NamedTuple):
    """How many pods fit into a namespace, and what a quota says to one too many."""

    pods: int
    refusal: str = ""


def room_for_pods(view: View, namespace: str) -> Room:
    """The room that the quotas of a namespace leave for pods."""
    room = Room(UNLIMITED)
    used: int | None = None
    for quota in view.few(QUOTAS, namespace):
        for member in ("pods", "count/pods"):
            limit = _limit(quota, member)
            if limit is None:
                continue
            if used is None:
                used = _used(view, namespace, PODS)
            if limit - used < room.pods:
                text = f"exceeded quota: {name(quota)}, requested: {member}=1, used: {member}="
                full = max(used, limit)  # what will be used when somebody is refused
                room = Room(max(0, limit - used), f"{text}{full}, limited: {member}={limit}")
    return room


class Quotas:
    """Keeps the numbers in the status of quotas."""

    name = "resourcequota-controller"
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({*_COUNTED.values()})
    initial: Sequence[StoreKey] = ()

    def keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """The quotas of a namespace in which something was made or ended."""
        if event.key.resource == QUOTAS:
            yield event.key
        elif event.key.resource == PODS or event.before is None or event.after is None:
            yield from index.listed(QUOTAS, event.key.namespace)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Count what the quota limits."""
        quota = view.get(key)
        if quota is None or is_deleting(quota):
            return ()
        hard = spec(quota).get("hard") or {}
        used = dict(status(quota).get("used") or {})
        for member in hard:
            resource = _COUNTED.get(member.removeprefix("count/"))
            used[member] = "0" if resource is None else str(_used(view, key.namespace, resource))
        new = {"hard": hard, "used": {member: used[member] for member in hard}}
        return [] if new == status(quota) else [update(QUOTAS, quota, "status", status=new)]


def _limit(quota: Object, member: str) -> int | None:
    text = (spec(quota).get("hard") or {}).get(member)
    if text is None:
        return None
    try:
        return Quantity.parse(str(text)).as_int()
    except QuantityError:
        return None


def _used(view: View, namespace: str, resource: str) -> int:
    if resource != PODS:
        return sum(1 for _ in view.entries(resource, namespace))
    return sum(
        1
        for entry in view.entries(PODS, namespace)
        if facts_of(entry).deletion_timestamp is not None or not _is_over(view, entry.key)
    )


def _is_over(view: View, key: StoreKey) -> bool:
    pod = view.get(key)
    return pod is None or is_finished(pod)
