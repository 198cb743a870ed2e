"""The interface of a controller, and functions that map writes to keys."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from quarterdeck.server.lifecycle.engine.actions import Action
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import get_controller_key
from quarterdeck.server.lifecycle.engine.round_queue import Later
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.object_meta import ObjectMeta, get_object_meta
from quarterdeck.storage import StoreEvent, StoreKey


class Controller(Protocol):
    """A controller: maps writes to keys, and plans actions for a key."""

    @property
    def name(self) -> str:
        """The name of the controller, for error reports and `--controllers`."""
        ...

    @property
    def manager(self) -> str:
        """The field manager of its writes in `managedFields`."""
        ...

    @property
    def resources(self) -> frozenset[str] | None:
        """The resources whose writes are passed to `find_keys`; None for all."""
        ...

    @property
    def initial(self) -> Sequence[StoreKey]:
        """The keys to plan when the server starts."""
        ...

    def find_keys(self, event: StoreEvent, index: Index) -> Iterable[StoreKey | Later]:
        """Find the keys to plan after a committed write; called for every write, must be cheap."""
        ...

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Plan the actions for one key. Pure: the same view gives the same actions."""
        ...


def list_metas(event: StoreEvent) -> Iterator[ObjectMeta]:
    """Yield the metadata after a write, and that before if labels or owners differ."""
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
    """Find the controlling owner of a written object, or those whose selector matches it."""
    namespace = event.key.namespace
    for object_meta in list_metas(event):
        owner = get_controller_key(object_meta, kind, resource, namespace)
        if owner is not None:
            yield owner
        elif not any(each.controller for each in object_meta.owner_references or ()):
            yield from index.find_selecting(resource, namespace, object_meta.labels)
