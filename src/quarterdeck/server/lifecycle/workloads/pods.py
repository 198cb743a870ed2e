"""What the workloads ask of pods, and how they make them."""

import functools
import random
from collections.abc import Iterable
from datetime import datetime, timedelta

from quarterdeck.server.lifecycle.engine.actions import Action, Create, Record
from quarterdeck.server.lifecycle.engine.objects import (
    condition,
    controller_of,
    delete,
    is_controlled_by,
    is_deleting,
    is_true,
    labels,
    name,
    namespace,
    owner_reference,
    spec,
    status,
    time_of,
    uid,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.resource import Object
from quarterdeck.wire.label_selector import Selector, SelectorError

PODS = "pods"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def is_finished(pod: Object) -> bool:
    """Whether a pod has run to its end."""
    return status(pod).get("phase") in ("Succeeded", "Failed")


def is_active(pod: Object) -> bool:
    """Whether a pod counts as one of its workload's."""
    return not is_finished(pod) and not is_deleting(pod)


def is_ready(pod: Object) -> bool:
    """Whether a pod serves."""
    return is_true(status(pod).get("conditions"), "Ready")


def ready_since(pod: Object) -> datetime | None:
    """Since when a pod serves; None if it does not."""
    found = condition(status(pod).get("conditions"), "Ready")
    if found is None or found.get("status") != "True":
        return None
    return time_of(found.get("lastTransitionTime"))


def available_in(pod: Object, seconds: int, now: datetime) -> float | None:
    """How long until a ready pod has been so for some seconds; None if it is not ready."""
    if not is_ready(pod):
        return None
    since = ready_since(pod)
    if not seconds or since is None:
        return 0.0
    return max(0.0, (since + timedelta(seconds=seconds) - now).total_seconds())


def random_suffix(rng: random.Random) -> str:
    """The end of a made-up name."""
    return "".join(rng.choices(_ALPHABET, k=5))


def new_pod(owner: Object, template: Object, pod_name: str, **members: object) -> Object:
    """A pod of a workload; `members` are further metadata."""
    given = template.get("metadata") or {}
    metadata: Object = {"name": pod_name, "namespace": namespace(owner)}
    for member in ("labels", "annotations", "finalizers"):
        if given.get(member):
            metadata[member] = given[member]
    metadata["ownerReferences"] = [owner_reference(owner)]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": metadata | members,
        "spec": template.get("spec") or {},
    }


def create_pod(owner: Object, pod: Object, component: str) -> list[Action]:
    """Make a pod and say so."""
    text = f"Created pod: {pod['metadata']['name']}"
    news = Record(about=owner, reason="SuccessfulCreate", message=text, component=component)
    return [Create(PODS, pod), news]


def delete_pod(owner: Object, pod: Object, component: str) -> list[Action]:
    """Stop a pod and say so."""
    text = f"Deleted pod: {name(pod)}"
    news = Record(about=owner, reason="SuccessfulDelete", message=text, component=component)
    return [delete(PODS, pod), news]


def selector_of(value: Object) -> Selector | None:
    """The selector of a workload; None for one that makes no sense."""
    selector = spec(value).get("selector") or {}
    if not selector.get("matchExpressions"):
        return _by_labels(tuple(sorted((selector.get("matchLabels") or {}).items())))
    try:
        return Selector.from_label_selector(selector)
    except (SelectorError, ValueError):
        return None


@functools.lru_cache(maxsize=4096)
def _by_labels(labels: tuple[tuple[str, str], ...]) -> Selector:
    return Selector.of(dict(labels))


def claim(
    view: View, owner: Object, resource: str, selector: Selector
) -> tuple[list[Object], list[Action]]:
    """The objects that belong to an owner, and what makes it so.

    Orphans that match are adopted, own ones that do not match any more are let go.
    """
    mine: list[Object] = []
    actions: list[Action] = []
    for value in view.owned(uid(owner), resource):
        if not is_controlled_by(value, owner):
            continue
        if selector.matches(labels(value)) or is_deleting(value):
            mine.append(value)
        else:
            kept = [
                each
                for each in value["metadata"].get("ownerReferences") or ()
                if each.get("uid") != uid(owner)
            ]
            actions.append(update(resource, value, metadata={"ownerReferences": kept or None}))
    if is_deleting(owner):
        return mine, actions
    for value in _orphans(view, resource, namespace(owner), selector):
        references = value["metadata"].get("ownerReferences") or []
        adopted = [*references, owner_reference(owner)]
        actions.append(update(resource, value, metadata={"ownerReferences": adopted}))
    return mine, actions


def _orphans(view: View, resource: str, home: str, selector: Selector) -> Iterable[Object]:
    for value in view.select(resource, home, selector):
        if controller_of(value) is None and not is_deleting(value):
            yield value
