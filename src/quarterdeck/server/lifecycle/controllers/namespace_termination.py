"""Termination of namespaces: deletes their contents and reports what remains in conditions."""

from collections import Counter
from collections.abc import Iterator, Sequence

from quarterdeck.server.lifecycle.engine.actions import Action, Delete
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import format_moment, update, with_condition
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Entry, StoreEvent, StoreKey

NAMESPACES = "namespaces"
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_FINALIZER = "kubernetes"
_MAX_DELETIONS = 500
"""How many objects one plan deletes; the events of the deletions trigger the next plan."""


class NamespaceTermination:
    """Deletes the objects in terminating namespaces, then removes the finalizer `kubernetes`."""

    name = "namespace-controller"
    manager = "kube-controller-manager"
    resources = None
    initial: Sequence[StoreKey] = ()

    def __init__(self) -> None:
        self._terminating: set[str] = set()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find namespaces that are terminating, also when something in them changes.

        A definition that changes may no longer serve what they hold.
        """
        key = event.key
        if key.resource == NAMESPACES:
            if (
                event.after is not None
                and get_object_meta(event.after).deletion_timestamp is not None
            ):
                self._terminating.add(key.name)
                yield key
            else:
                self._terminating.discard(key.name)
        elif key.namespace in self._terminating:
            yield StoreKey(NAMESPACES, "", key.namespace)
        elif key.resource == _DEFINITIONS:
            for name in sorted(self._terminating):
                yield StoreKey(NAMESPACES, "", name)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Delete the objects of a namespace; when none is left, remove the finalizer."""
        value = view.get(key)
        if value is None or not value["metadata"].get("deletionTimestamp"):
            return ()
        finalizers = (value.get("spec") or {}).get("finalizers") or []
        if _FINALIZER not in finalizers:
            return ()
        contents, fresh = _list_contents(view, key.name)
        if not contents:
            kept = [each for each in finalizers if each != _FINALIZER]
            spec = {**value["spec"], "finalizers": kept}
            return [update(NAMESPACES, value, "finalize", spec=spec)]
        if fresh:
            return _delete_all(fresh)
        unserved = _find_unserved(view, contents)[:_MAX_DELETIONS]
        return [*_delete_all(unserved), *_explain(value, contents, format_moment(view.now))]


def _delete_all(entries: Sequence[Entry]) -> list[Action]:
    return [
        Delete(key=entry.key, uid=get_object_meta(entry).uid, with_unserved=True)
        for entry in entries
    ]


def _find_unserved(view: View, contents: Sequence[Entry]) -> list[Entry]:
    """Find what may be of kinds that are not served: their finalizers keep it for ever.

    One object of each kind is read. If another version than its own is served, a deletion changes
    nothing, because it has begun already.
    """
    is_served: dict[str, bool] = {}
    for entry in contents:
        if entry.key.resource not in is_served:
            value = view.get(entry.key) or {}
            found = view.serves(value.get("apiVersion") or "", value.get("kind") or "")
            is_served[entry.key.resource] = found is not None
    return [entry for entry in contents if not is_served[entry.key.resource]]


def _list_contents(view: View, namespace: str) -> tuple[list[Entry], list[Entry]]:
    """List the objects in a namespace, and the first few that are not being deleted yet."""
    contents: list[Entry] = []
    fresh: list[Entry] = []
    for resource in view.list_resources():
        for entry in view.list_entries(resource, namespace):
            contents.append(entry)
            if get_object_meta(entry).deletion_timestamp is None:
                fresh.append(entry)
                if len(fresh) >= _MAX_DELETIONS:
                    return contents, fresh
    return contents, fresh


def _explain(value: Object, contents: Sequence[Entry], now: str) -> Sequence[Action]:
    status = value.get("status") or {}
    conditions = status.get("conditions") or []
    for new in _build_conditions(contents):
        conditions = with_condition(conditions, {**new, "lastTransitionTime": now})
    if conditions == status.get("conditions"):
        return ()
    changed = {**status, "conditions": conditions}
    return [update(NAMESPACES, value, "status", status=changed)]


def _build_conditions(contents: Sequence[Entry]) -> Iterator[Object]:
    resources = Counter(entry.key.resource for entry in contents)
    finalizers = Counter(
        finalizer for entry in contents for finalizer in get_object_meta(entry).finalizers or ()
    )
    yield _build_condition(
        "NamespaceDeletionDiscoveryFailure",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    )
    yield _build_condition(
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    )
    yield _build_condition(
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    )
    remaining = ", ".join(
        f"{_format_resource(name)} has {number} resource instances"
        for name, number in sorted(resources.items())
    )
    yield _build_condition(
        "NamespaceContentRemaining",
        "SomeResourcesRemain",
        f"Some resources are remaining: {remaining}",
        is_true=True,
    )
    if not finalizers:
        text = "All content-preserving finalizers finished"
        yield _build_condition("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", text)
        return
    holding = ", ".join(
        f"{name} in {number} resource instances" for name, number in sorted(finalizers.items())
    )
    yield _build_condition(
        "NamespaceFinalizersRemaining",
        "SomeFinalizersRemain",
        f"Some content in the namespace has finalizers remaining: {holding}",
        is_true=True,
    )


def _format_resource(resource: str) -> str:
    """Resources of the core group end in a dot here, as Kubernetes prints them."""
    return resource if "." in resource else f"{resource}."


def _build_condition(kind: str, reason: str, message: str, *, is_true: bool = False) -> Object:
    status = "True" if is_true else "False"
    return {"type": kind, "status": status, "reason": reason, "message": message}
