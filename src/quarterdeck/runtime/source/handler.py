"""Event handlers: they map an event to the keys that have to be reconciled.

A mapping sees the old and the new state, so that an object with a new owner wakes both owners. All
are synchronous: they run on the watch path.
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
"""From an event to the keys of the reconciled kind it concerns."""


class Lookup(Protocol):
    """Synchronous reads from the caches, for mappings."""

    def get(self, kind: type[T], key: Key) -> T | None:
        """The newest known state; None if absent. The kind must be watched."""
        ...

    def list(
        self,
        kind: type[T],
        *,
        namespace: str | None = None,
        labels: str = "",
        index: tuple[str, str] | None = None,
    ) -> list[T]:
        """Objects from the cache. The kind must be watched."""
        ...


class Owns(msgspec.Struct, frozen=True):
    """A kind whose objects the reconciled object owns: their changes wake the owner."""

    kind: type[Object]
    predicates: tuple[Predicate, ...] = ()
    only_controller: bool = True
    """Look at the managing owner reference alone."""


class Watch(msgspec.Struct, frozen=True):
    """Any other kind whose changes concern the reconciled one."""

    kind: type[Object]
    to: Callable[[Any, Lookup], Iterable[Key]]
    """From an object (old and new are both asked) to keys of the reconciled kind."""
    predicates: tuple[Predicate, ...] = ()


def enqueue_object(event: Event) -> Iterable[Key]:
    """The key of the object itself."""
    return (event.key,)


def enqueue_owner(owner: GroupKind, *, is_namespaced: bool, only_controller: bool) -> MapEvent:
    """The owners of a kind that the object names; its group and kind count, not its version."""

    def owners(metadata: Metadata) -> Iterable[Key]:
        for reference in metadata.owner_references or ():
            if only_controller and not reference.controller:
                continue
            if reference.kind == owner.kind and reference.group_kind == owner:
                yield Key(metadata.namespace if is_namespaced else "", reference.name)

    def mapping(event: Event) -> Iterable[Key]:
        keys = dict.fromkeys(owners(event.metadata))
        if event.old is not None and event.change is Change.MODIFIED:
            keys |= dict.fromkeys(owners(event.old.metadata))
        return keys

    return mapping


def enqueue_mapped(
    function: Callable[[Any, Lookup], Iterable[Key]], kind: type[Object], lookup: Lookup
) -> MapEvent:
    """The keys that a function returns for the new and the old state.

    A state that cannot be decoded maps to no keys.
    """

    def mapping(event: Event) -> Iterable[Key]:
        keys = dict.fromkeys(find(event.new))
        if event.old is not None and event.change is Change.MODIFIED:
            keys |= dict.fromkeys(find(event.old))
        return keys

    def find(state: Snapshot) -> Iterable[Key]:
        try:
            obj = state.typed(kind)
        except DecodeError:
            return ()
        return function(obj, lookup)

    return mapping
