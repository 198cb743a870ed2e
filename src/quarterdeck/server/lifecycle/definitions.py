"""Definitions that end take all of their objects along."""

from collections.abc import Iterator, Sequence

from quarterdeck.server.custom.definition import CLEANUP
from quarterdeck.server.facts import facts_of
from quarterdeck.server.lifecycle.actions import Action, Delete
from quarterdeck.server.lifecycle.index import Index
from quarterdeck.server.lifecycle.objects import stamp, update, with_condition
from quarterdeck.server.lifecycle.view import View
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


class DefinitionCleanup:
    """Deletes the objects of definitions that are being deleted, then lets these go."""

    name = "definition-cleanup"
    manager = "kube-apiserver"
    resources = None
    initial: Sequence[StoreKey] = ()

    def __init__(self) -> None:
        self._terminating: set[str] = set()

    def keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """A definition that ends, also whenever one of its objects changes or goes."""
        key = event.key
        if key.resource == DEFINITIONS:
            if event.after is not None and facts_of(event.after).deletion_timestamp is not None:
                self._terminating.add(key.name)
                yield key
            else:
                self._terminating.discard(key.name)
        elif key.resource in self._terminating:
            yield StoreKey(DEFINITIONS, "", key.resource)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Delete the objects; when none is left, drop the finalizer."""
        value = view.get(key)
        if value is None or not value["metadata"].get("deletionTimestamp"):
            return ()
        finalizers = value["metadata"].get("finalizers") or []
        if CLEANUP not in finalizers:
            return ()
        objects = list(view.entries(key.name))
        if objects:
            fresh = [entry for entry in objects if facts_of(entry).deletion_timestamp is None]
            return [Delete(key=entry.key, uid=facts_of(entry).uid) for entry in fresh]
        kept = [each for each in finalizers if each != CLEANUP]
        done = _completed(value, stamp(view.now))
        return [update(DEFINITIONS, value, metadata={"finalizers": kept or None}, status=done)]


def _completed(value: Object, now: str) -> Object:
    status = value.get("status") or {}
    condition = {
        "type": "Terminating",
        "status": "False",
        "lastTransitionTime": now,
        "reason": "InstanceDeletionCompleted",
        "message": "removed all instances",
    }
    return {**status, "conditions": with_condition(status.get("conditions"), condition)}
