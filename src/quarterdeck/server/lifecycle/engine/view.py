"""The view of a plan: stored objects at one moment, found through indexes.

Objects are shared between plans and must not be changed; a plan makes a new dict instead.
"""

import random
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple, Protocol

from quarterdeck.kit import json as kit_json
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.registry.object_meta import ObjectMeta, get_object_meta
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Entry, Store, StoreKey
from quarterdeck.wire.label_selector import Selector

CACHED_OBJECTS = 1024
"""How many decoded objects are cached."""


class ServedResource(NamedTuple):
    """The stored resource of a kind, and its scope."""

    resource: str
    """The name of the resource in storage."""
    namespaced: bool


class Source(Protocol):
    """Reads stored objects for a view."""

    def get(self, key: StoreKey) -> Entry | None:
        """Return one entry."""
        ...

    def range(self, resource: str, namespace: str | None) -> Iterable[Entry]:
        """The entries of a resource, in order."""
        ...

    def resources(self) -> Iterable[str]:
        """The resources that have any entries."""
        ...


class StoreSource:
    """The committed state of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.get = store.get

    def range(self, resource: str, namespace: str | None) -> Iterable[Entry]:
        """The entries of a resource, in order."""
        return self._store.snapshot().range(resource, namespace)

    def resources(self) -> Iterable[str]:
        """The resources that have any entries."""
        return self._store.snapshot().resources()


Large = dict[StoreKey, tuple[int, Object]]
"""Large objects that were decoded for one plan, with their revisions."""


class LargeObject(Exception):
    """Raised when a plan reads an object that must be decoded in a thread first."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(str(entry.key))
        self.entry = entry


class DecodedObjects:
    """A cache of decoded objects by key and revision.

    Objects over `large_bytes` are not cached, because they take ten times their size in memory.
    """

    def __init__(self, limit: int = CACHED_OBJECTS, *, large_bytes: int = sys.maxsize) -> None:
        self._limit = limit
        self._large_bytes = large_bytes
        self._objects: dict[StoreKey, tuple[int, Object]] = {}
        self.large: Large = {}
        """The large objects that were decoded for the running plan."""

    def find(self, entry: Entry) -> Object | None:
        """Return the object of an entry if it is decoded already; it must not be changed."""
        known = (self.large if self._is_large(entry) else self._objects).get(entry.key)
        return known[1] if known is not None and known[0] == entry.revision else None

    def get(self, entry: Entry) -> Object:
        """Return the object of an entry.

        Raises:
            LargeObject: if it is large and not decoded yet.
        """
        if (known := self.find(entry)) is not None:
            return known
        if self._is_large(entry):
            raise LargeObject(entry)
        value: Object = kit_json.decode(entry.value)
        self._objects.pop(entry.key, None)
        self._objects[entry.key] = (entry.revision, value)
        if len(self._objects) > self._limit:
            del self._objects[next(iter(self._objects))]
        return value

    def forget(self, key: StoreKey) -> None:
        """Drop a deleted object."""
        self._objects.pop(key, None)

    def _is_large(self, entry: Entry) -> bool:
        return len(entry.value) > self._large_bytes


class View:
    """The stored objects, the time and the random generator that a plan may use."""

    def __init__(
        self,
        source: Source,
        index: Index,
        *,
        decoded: DecodedObjects,
        serves: Callable[[str, str], ServedResource | None],
        now: datetime,
        rng: random.Random,
    ) -> None:
        self.now = now
        self.random = rng
        self.index = index
        self._source = source
        self._decoded = decoded
        self._serves = serves

    def get(self, key: StoreKey) -> Object | None:
        """Return an object; None if it does not exist."""
        entry = self._source.get(key)
        return None if entry is None else self._decoded.get(entry)

    def get_object_meta(self, key: StoreKey) -> ObjectMeta | None:
        """Return the metadata of an object without decoding all of it; None if it is absent."""
        entry = self._source.get(key)
        return None if entry is None else get_object_meta(entry)

    def get_size(self, key: StoreKey) -> int:
        """Return the stored size of an object in bytes; 0 if it does not exist."""
        entry = self._source.get(key)
        return 0 if entry is None else len(entry.value)

    def get_revision(self, key: StoreKey) -> int:
        """Return the revision of an object; 0 if it does not exist."""
        entry = self._source.get(key)
        return 0 if entry is None else entry.revision

    def serves(self, api_version: str, kind: str) -> ServedResource | None:
        """Find the resource that serves a kind; None for an unknown kind."""
        return self._serves(api_version, kind)

    def list_owned(self, uid: str, resource: str) -> list[Object]:
        """List the objects of a resource that name a uid as owner, by name."""
        keys = sorted(key for key in self.index.list_owned(uid) if key.resource == resource)
        return [value for key in keys if (value := self.get(key)) is not None]

    def select(self, resource: str, namespace: str, selector: Selector) -> list[Object]:
        """Select the objects that match a selector, in the order of their names."""
        keys = self.index.find_candidates(resource, namespace, selector)
        if keys is None:
            entries = list(self._source.range(resource, namespace))
        else:
            found = (self._source.get(key) for key in sorted(keys))
            entries = [entry for entry in found if entry is not None]
        return [
            self._decoded.get(entry)
            for entry in entries
            if selector.matches(get_object_meta(entry).labels or {})
        ]

    def list_few(self, resource: str, namespace: str = "") -> Iterator[Object]:
        """List all objects of one of `index.LISTED_RESOURCES` in a namespace."""
        for key in self.index.list_resource(resource, namespace):
            if (value := self.get(key)) is not None:
                yield value

    def list(self, resource: str, namespace: str | None = None) -> Iterator[Object]:
        """List all objects of a resource."""
        for entry in self._source.range(resource, namespace):
            yield self._decoded.get(entry)

    def list_entries(self, resource: str, namespace: str | None = None) -> Iterable[Entry]:
        """List all entries of a resource, not decoded."""
        return self._source.range(resource, namespace)

    def list_resources(self) -> Iterable[str]:
        """List the resources that have stored objects."""
        return self._source.resources()
