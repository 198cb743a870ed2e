"""Pods of workloads: readiness, selection, adoption and creation."""

import functools
from collections.abc import Iterable
from datetime import datetime, timedelta

from quarterdeck.server.lifecycle.engine.actions import Action, Create, Record
from quarterdeck.server.lifecycle.engine.objects import (
    build_owner_reference,
    delete,
    get_condition,
    get_controller,
    get_labels,
    get_name,
    get_namespace,
    get_spec,
    get_status,
    get_uid,
    is_controlled_by,
    is_deleting,
    is_true,
    parse_time,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.resource import Object
from quarterdeck.wire.label_selector import Selector, SelectorError

PODS = "pods"
BURST = 500
"""How many pods one plan creates or deletes."""


def is_finished(pod: Object) -> bool:
    """Whether a pod has succeeded or failed."""
    return get_status(pod).get("phase") in ("Succeeded", "Failed")


def is_active(pod: Object) -> bool:
    """Whether a pod counts as a replica: not finished and not being deleted."""
    return not is_finished(pod) and not is_deleting(pod)


def is_ready(pod: Object) -> bool:
    """Whether the condition Ready of a pod is true."""
    return is_true(get_status(pod).get("conditions"), "Ready")


def get_ready_time(pod: Object) -> datetime | None:
    """Return since when a pod is ready; None if it is not."""
    found = get_condition(get_status(pod).get("conditions"), "Ready")
    if found is None or found.get("status") != "True":
        return None
    return parse_time(found.get("lastTransitionTime"))


def compute_time_to_available(pod: Object, seconds: int, now: datetime) -> float | None:
    """Compute how long until a pod has been ready for some seconds; None if it is not ready."""
    if not is_ready(pod):
        return None
    since = get_ready_time(pod)
    if not seconds or since is None:
        return 0.0
    return max(0.0, (since + timedelta(seconds=seconds) - now).total_seconds())


def build_pod(owner: Object, template: Object, pod_name: str, **members: object) -> Object:
    """Build a pod of a workload; `members` are further metadata."""
    given = template.get("metadata") or {}
    metadata: Object = {"name": pod_name, "namespace": get_namespace(owner)}
    for member in ("labels", "annotations", "finalizers"):
        if given.get(member):
            metadata[member] = given[member]
    metadata["ownerReferences"] = [build_owner_reference(owner)]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": metadata | members,
        "spec": template.get("spec") or {},
    }


def create_pod(owner: Object, pod: Object, component: str) -> list[Action]:
    """Return the actions that create a pod and record an event."""
    text = f"Created pod: {pod['metadata']['name']}"
    event = Record(about=owner, reason="SuccessfulCreate", message=text, component=component)
    return [Create(PODS, pod), event]


def delete_pod(owner: Object, pod: Object, component: str) -> list[Action]:
    """Return the actions that delete a pod and record an event."""
    text = f"Deleted pod: {get_name(pod)}"
    event = Record(about=owner, reason="SuccessfulDelete", message=text, component=component)
    return [delete(PODS, pod), event]


def parse_selector(value: Object) -> Selector | None:
    """Parse the selector of a workload; None for an invalid one."""
    selector = get_spec(value).get("selector") or {}
    if not selector.get("matchExpressions"):
        return _build_selector(tuple(sorted((selector.get("matchLabels") or {}).items())))
    try:
        return Selector.from_label_selector(selector)
    except (SelectorError, ValueError):
        return None


@functools.lru_cache(maxsize=4096)
def _build_selector(labels: tuple[tuple[str, str], ...]) -> Selector:
    return Selector.of(dict(labels))


def claim(
    view: View, owner: Object, resource: str, selector: Selector
) -> tuple[list[Object], list[Action]]:
    """Return the objects of an owner, and the actions that adopt or release objects.

    Orphans that match the selector are adopted; owned objects that no longer match are released.
    """
    mine: list[Object] = []
    actions: list[Action] = []
    for value in view.list_owned(get_uid(owner), resource):
        if not is_controlled_by(value, owner):
            continue
        if selector.matches(get_labels(value)) or is_deleting(value):
            mine.append(value)
        else:
            kept = [
                each
                for each in value["metadata"].get("ownerReferences") or ()
                if each.get("uid") != get_uid(owner)
            ]
            actions.append(update(resource, value, metadata={"ownerReferences": kept or None}))
    if is_deleting(owner):
        return mine, actions
    for value in _list_orphans(view, resource, get_namespace(owner), selector):
        references = value["metadata"].get("ownerReferences") or []
        adopted = [*references, build_owner_reference(owner)]
        actions.append(update(resource, value, metadata={"ownerReferences": adopted}))
    return mine, actions


def _list_orphans(view: View, resource: str, home: str, selector: Selector) -> Iterable[Object]:
    for value in view.select(resource, home, selector):
        if get_controller(value) is None and not is_deleting(value):
            yield value
