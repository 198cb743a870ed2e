"""The ResourceQuota controller: counts usage, and computes how many more pods fit."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quarterdeck.kit.quantity import Quantity
from quarterdeck.server.admission.quota.check import compute_remaining_pods
from quarterdeck.server.admission.quota.scopes import matches_scopes
from quarterdeck.server.admission.quota.usage import (
    Amounts,
    add,
    list_resources,
    measure_usage,
    select_members,
)
from quarterdeck.server.lifecycle.engine.actions import Action
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import get_spec, get_status, is_deleting, update
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.pods import PODS
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

QUOTAS = "resourcequotas"
UNLIMITED = 1_000_000
_CHANGING = frozenset({PODS, "services", "persistentvolumeclaims"})
"""Resources whose objects can change their usage after they were created."""


class Room(NamedTuple):
    """How many pods fit into a namespace, and the message of the quota that refuses one more."""

    pods: int
    refusal: str = ""


def compute_room_for_pods(view: View, namespace: str, pod: Object) -> Room:
    """Compute the room that the quotas of a namespace leave for pods like this one."""
    found = compute_remaining_pods(
        pod, (_recount_quota(view, quota) for quota in view.list_few(QUOTAS, namespace))
    )
    return Room(UNLIMITED) if found is None else Room(*found)


class ResourceQuotas:
    """Keeps the status of quotas up to date."""

    name = "resourcequota-controller"
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = None
    initial: Sequence[StoreKey] = ()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find the quotas of a namespace whose usage may have changed."""
        resource = event.key.resource
        if resource == QUOTAS:
            yield event.key
        if resource in _CHANGING or event.before is None or event.after is None:
            yield from index.list_resource(QUOTAS, event.key.namespace)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Update the usage in the status of one quota."""
        quota = view.get(key)
        if quota is None or is_deleting(quota):
            return ()
        new = _recount_quota(view, quota)["status"]
        return [] if new == get_status(quota) else [update(QUOTAS, quota, "status", status=new)]


def _recount_quota(view: View, quota: Object) -> Object:
    """Return the quota with its usage counted from the stored objects."""
    hard = get_spec(quota).get("hard") or {}
    used = {**(get_status(quota).get("used") or {})}
    for resource in list_resources(hard):
        members = select_members(resource, hard)
        totals = _sum_usage(view, quota, resource, members=members)
        used.update({member: str(totals.get(member, Quantity.of(0))) for member in members})
    new = {"hard": hard, "used": {member: used[member] for member in hard if member in used}}
    return {**quota, "status": new}


def _sum_usage(view: View, quota: Object, resource: str, *, members: Sequence[str]) -> Amounts:
    namespace = quota["metadata"]["namespace"]
    if resource not in _CHANGING:  # objects that only count need not be read
        number = Quantity.of(sum(1 for _ in view.list_entries(resource, namespace)))
        return dict.fromkeys(
            members, number if matches_scopes(quota, resource, {}) else Quantity.of(0)
        )
    total: Amounts = {}
    for value in view.list(resource, namespace):
        if matches_scopes(quota, resource, value):
            total = add(total, measure_usage(resource, value, view.now))
    return total
