"""The objects of one kind as readers see them: bytes by key, indexes, typed on demand.

Everything is immutable and synchronous, so reads need neither locks nor copies.

An object that does not fit its type, stored under an older definition, is kept but neither indexed
nor listed: it must not stop work on all others. Reading it by its key raises `DecodeError`, so that
the controller of its kind reports it.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import DecodeError, Object
from quarterdeck.runtime.cache.index import Index, IndexFunction
from quarterdeck.runtime.cache.retention import RetentionPolicy
from quarterdeck.runtime.cache.snapshot import Metadata, Snapshot

if TYPE_CHECKING:
    from quarterdeck.wire.label_selector import Selector

T = TypeVar("T", bound=Object)

_MEMO_SIZE = 64


class Indexer(Generic[T]):
    """Stores and finds snapshots; `Cache` decides what is stored."""

    def __init__(self, kind: type[T], retention: RetentionPolicy) -> None:
        self.kind = kind
        self._retention = retention
        self._entries = retention.make_store()
        self._indexes: dict[str, Index[T]] = {}
        self._owners: Index[Metadata] | None = None
        self._memo: dict[Key, tuple[Snapshot, T]] = {}

    @property
    def size_bytes(self) -> int:
        """The size of the stored objects, packed ones as packed."""
        return self._entries.size_bytes

    # --- reading

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[Key]:
        return iter(tuple(self._entries))

    def get(self, key: Key) -> T | None:
        """The newest known state, typed; None if the object is absent."""
        snapshot = self._entries.get(key)
        return None if snapshot is None else self._get_typed(snapshot)

    def snapshot(self, key: Key) -> Snapshot | None:
        """The newest known state, not decoded; None if the object is absent."""
        return self._entries.get(key)

    def snapshots(self) -> Iterable[Snapshot]:
        """All objects undecoded. Do not change the cache while iterating."""
        return self._entries.values()

    def list(
        self,
        *,
        namespace: str | None = None,
        selector: "Selector | None" = None,
        index: tuple[str, str] | None = None,
    ) -> list[T]:
        """Objects of a namespace, matching labels, or found by `index=(name, value)`."""
        found = (self._decode(each) for each in self.select(namespace, selector, index))
        return [each for each in found if each is not None]

    def select(
        self,
        namespace: str | None = None,
        selector: "Selector | None" = None,
        index: tuple[str, str] | None = None,
    ) -> Iterator[Snapshot]:
        """`list` without decoding."""
        for key in self._find_candidates(index):
            snapshot = self._entries.get(key)
            if snapshot is None or (namespace is not None and key.namespace != namespace):
                continue
            if selector is None or selector.matches(snapshot.labels):
                yield snapshot

    def _find_candidates(self, index: tuple[str, str] | None) -> Iterable[Key]:
        if index is None:
            return tuple(self._entries)
        name, value = index
        if name not in self._indexes:
            known = ", ".join(sorted(self._indexes)) or "none"
            raise KeyError(f"{self.kind.__name__} has no index {name!r}; it has: {known}")
        return self._indexes[name].keys(value)

    def _get_typed(self, snapshot: Snapshot) -> T:
        memo = self._memo.get(snapshot.key)
        if memo is not None and memo[0] is snapshot:
            return memo[1]
        typed = snapshot.typed(self.kind)
        if len(self._memo) >= _MEMO_SIZE:
            del self._memo[next(iter(self._memo))]
        self._memo[snapshot.key] = (snapshot, typed)
        return typed

    def _decode(self, snapshot: Snapshot) -> T | None:
        """The typed object; None if it does not fit its type."""
        try:
            return self._get_typed(snapshot)
        except DecodeError:
            return None

    # --- indexes

    def add_index(self, name: str, function: IndexFunction[T]) -> None:
        """Find objects by a value; existing ones are indexed now."""
        if name in self._indexes:
            raise ValueError(f"{self.kind.__name__} already has an index {name!r}")
        index = self._indexes[name] = Index(function)
        for snapshot in self._entries.values():
            _update(index, snapshot.key, self._decode(snapshot))

    def index_owners(self) -> None:
        """Find objects by the UID of their owners; idempotent, and needs no typed decode."""
        if self._owners is None:
            self._owners = Index(_list_owner_uids)
            for snapshot in self._entries.values():
                self._owners.update(snapshot.key, snapshot.metadata)

    def list_owned_by(self, uid: str) -> Iterator[Snapshot]:
        """The objects that name this UID as an owner."""
        if self._owners is None:
            self.index_owners()
        assert self._owners is not None
        for key in self._owners.keys(uid):
            yield self._entries[key]

    # --- stored objects

    def _put(self, snapshot: Snapshot, metadata: Metadata | None = None) -> None:
        """Store a state; its metadata is decoded only if an index needs it and it is not given."""
        key, stored = snapshot.key, self._entries.put(snapshot)
        if self._owners is not None:
            self._owners.update(key, metadata if metadata is not None else snapshot.metadata)
        if self._indexes:
            typed = self._decode(stored)
            for index in self._indexes.values():
                _update(index, key, typed)

    def _drop(self, key: Key) -> None:
        if not self._entries.remove(key):
            return
        self._memo.pop(key, None)
        if self._owners is not None:
            self._owners.remove(key)
        for index in self._indexes.values():
            index.remove(key)


def _update(index: Index[T], key: Key, obj: T | None) -> None:
    if obj is None:
        index.remove(key)
    else:
        index.update(key, obj)


def _list_owner_uids(metadata: Metadata) -> Iterable[str]:
    return [reference.uid for reference in metadata.owner_references or ()]
