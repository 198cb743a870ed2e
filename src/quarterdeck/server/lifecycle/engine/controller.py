"""The interface of a controller, and functions that map writes to keys."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from quarterdeck.server.lifecycle.engine.actions import Action
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import get_controller_key
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.object_meta import ObjectMeta, get_object_meta
from quarterdeck.storage import StoreEvent, StoreKey


class Controller(Protocol):
    """A controller: maps writes to keys, and plans actions for a key."""

    @property
    def name(self) -> str:
        """For reports."""
        ...

    @property
    def manager(self) -> str:
        """Who its writes are attributed to in `managedFields`."""
        ...

    @property
    def resources(self) -> frozenset[str] | None:
        """The resources whose writes concern it; None for all."""
        ...

    @property
    def initial(self) -> Sequence[StoreKey]:
        """What to look at once, when the server starts."""
        ...

    def find_keys(self, event: StoreEvent, index: Index) -> Iterable[StoreKey]:
        """Whose plan a committed write calls for; must be cheap, it is asked for every write."""
        ...

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """What to do about one key. Pure: the same view gives the same answer."""
        ...


def list_metas(event: StoreEvent) -> Iterator[ObjectMeta]:
    """List the facts after and before a write, where they differ in who may be concerned."""
    after = get_object_meta(event.after) if event.after is not None else None
    before = get_object_meta(event.before) if event.before is not None else None
    if after is not None:
        yield after
    if before is not None and (
        after is None
        or before.labels != after.labels
        or before.owner_references != after.owner_references
    ):
        yield before


def find_controller_keys(
    event: StoreEvent, index: Index, *, kind: str, resource: str
) -> Iterator[StoreKey]:
    """Find the controller of a written object, or those that may adopt it."""
    namespace = event.key.namespace
    for object_meta in list_metas(event):
        owner = get_controller_key(object_meta, kind, resource, namespace)
        if owner is not None:
            yield owner
        elif not any(each.controller for each in object_meta.owner_references or ()):
            yield from index.find_selecting(resource, namespace, object_meta.labels)
