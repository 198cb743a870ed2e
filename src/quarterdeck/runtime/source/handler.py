"""Event handlers: they map an event to the keys that have to be reconciled.

A handler is called with the old and the new state, so that both owners are reconciled when an
object changes its owner. Handlers are synchronous, because they run for every watch event.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

import msgspec

from quarterdeck.meta.identity import GroupKind, Key
from quarterdeck.meta.objects import DecodeError, Object
from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.runtime.cache.snapshot import Metadata, Snapshot
from quarterdeck.runtime.source.predicate import Predicate

T = TypeVar("T", bound=Object)

MapEvent = Callable[[Event], Iterable[Key]]
"""Maps an event to keys of the reconciled kind."""


class Lister(Protocol):
    """Synchronous reads from the caches, for functions that map objects to keys."""

    def get(self, kind: type[T], key: Key) -> T | None:
        """Return the object from the cache; None if it is absent. The kind must be watched."""
        ...

    def list(
        self,
        kind: type[T],
        *,
        namespace: str | None = None,
        labels: str = "",
        index: tuple[str, str] | None = None,
    ) -> list[T]:
        """List objects from the cache. The kind must be watched."""
        ...


class Owns(msgspec.Struct, frozen=True):
    """A kind of owned objects: when one changes, its owner is reconciled."""

    kind: type[Object]
    predicates: tuple[Predicate, ...] = ()
    only_controller: bool = True
    """Whether only the owner reference with `controller: true` counts."""


class Watch(msgspec.Struct, frozen=True):
    """Another kind whose changes cause reconciles, mapped to keys by a function."""

    kind: type[Object]
    to: Callable[[Any, Lister], Iterable[Key]]
    """Maps an object to keys of the reconciled kind; called with the old and the new object."""
    predicates: tuple[Predicate, ...] = ()


def enqueue_object(event: Event) -> Iterable[Key]:
    """Enqueue the key of the object itself."""
    return (event.key,)


def enqueue_owner(owner: GroupKind, *, is_namespaced: bool, only_controller: bool) -> MapEvent:
    """Enqueue the owners of an object that are of one group and kind, in any version."""

    def list_owners(metadata: Metadata) -> Iterable[Key]:
        for reference in metadata.owner_references or ():
            if only_controller and not reference.controller:
                continue
            if reference.kind == owner.kind and reference.group_kind == owner:
                yield Key(metadata.namespace if is_namespaced else "", reference.name)

    def map_event(event: Event) -> Iterable[Key]:
        keys = dict.fromkeys(list_owners(event.metadata))
        if event.old is not None and event.change is Change.MODIFIED:
            keys |= dict.fromkeys(list_owners(event.old.metadata))
        return keys

    return map_event


def enqueue_mapped(
    function: Callable[[Any, Lister], Iterable[Key]], kind: type[Object], lister: Lister
) -> MapEvent:
    """Enqueue the keys that a function returns for the new and the old state.

    A state that cannot be decoded has no keys.
    """

    def map_event(event: Event) -> Iterable[Key]:
        keys = dict.fromkeys(list_keys(event.new))
        if event.old is not None and event.change is Change.MODIFIED:
            keys |= dict.fromkeys(list_keys(event.old))
        return keys

    def list_keys(state: Snapshot) -> Iterable[Key]:
        try:
            obj = state.typed(kind)
        except DecodeError:
            return ()
        return function(obj, lister)

    return map_event
