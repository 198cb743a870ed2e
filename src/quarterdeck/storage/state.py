"""The current state: sorted, in memory, copied on write.

The entries of a resource are a sorted list of chunks of at most `CHUNK`. Dict, list and chunk
each carry the token of the state that may change them in place. Taking a snapshot hands the
present tree to the snapshot and gives the state a new token, so the next write copies what it
touches (one chunk and two short lists of pointers) and the snapshot stays as it was. A snapshot
therefore costs O(1), a consistent page is a read of a snapshot, and the state at an older revision
is a copy of the tree on which the events since then are undone.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from quarterdeck.storage.types import Entry, StoreEvent, StoreKey

__all__ = ["Snapshot", "State"]

CHUNK = 128
SPARSE = CHUNK // 8


class _Chunk:
    __slots__ = ("entries", "keys", "owner")

    def __init__(self, owner: object, keys: list[StoreKey], entries: list[Entry]) -> None:
        self.owner = owner
        self.keys = keys
        self.entries = entries


class _SortedEntries:
    """The entries of one resource."""

    __slots__ = ("chunks", "firsts", "owner", "size")

    def __init__(
        self, owner: object, *, firsts: list[StoreKey], chunks: list[_Chunk], size: int
    ) -> None:
        self.owner = owner
        self.firsts = firsts
        self.chunks = chunks
        self.size = size

    @classmethod
    def of(cls, owner: object, entries: list[Entry]) -> "_SortedEntries":
        """Take over entries that are sorted already."""
        parts = [entries[i : i + CHUNK] for i in range(0, len(entries), CHUNK)]
        chunks = [_Chunk(owner, [entry.key for entry in part], part) for part in parts]
        firsts = [chunk.keys[0] for chunk in chunks]
        return cls(owner, firsts=firsts, chunks=chunks, size=len(entries))

    def copy_for(self, owner: object) -> "_SortedEntries":
        if self.owner is owner:
            return self
        return _SortedEntries(
            owner, firsts=self.firsts.copy(), chunks=self.chunks.copy(), size=self.size
        )

    def get(self, key: StoreKey) -> Entry | None:
        index = bisect_right(self.firsts, key) - 1
        if index < 0:
            return None
        chunk = self.chunks[index]
        at = bisect_left(chunk.keys, key)
        if at < len(chunk.keys) and chunk.keys[at] == key:
            return chunk.entries[at]
        return None

    def rank(self, key: StoreKey) -> int:
        """How many entries sort before the key."""
        index = bisect_right(self.firsts, key) - 1
        if index < 0:
            return 0
        before = sum(len(chunk.keys) for chunk in self.chunks[:index])
        return before + bisect_left(self.chunks[index].keys, key)

    def put(self, entry: Entry) -> None:
        key = entry.key
        index = max(0, bisect_right(self.firsts, key) - 1)
        if not self.chunks:
            self.chunks.append(_Chunk(self.owner, [], []))
            self.firsts.append(key)
        chunk = self._own(index)
        at = bisect_left(chunk.keys, key)
        if at < len(chunk.keys) and chunk.keys[at] == key:
            chunk.keys[at] = key
            chunk.entries[at] = entry
            if at == 0:
                self.firsts[index] = key
            return
        chunk.keys.insert(at, key)
        chunk.entries.insert(at, entry)
        self.size += 1
        if at == 0:
            self.firsts[index] = key
        if len(chunk.keys) > CHUNK:
            self._split(index, appended=at == CHUNK and index == len(self.chunks) - 1)

    def remove(self, key: StoreKey) -> None:
        index = bisect_right(self.firsts, key) - 1
        if index < 0:
            return
        chunk = self._own(index)
        at = bisect_left(chunk.keys, key)
        if at >= len(chunk.keys) or chunk.keys[at] != key:
            return
        del chunk.keys[at]
        del chunk.entries[at]
        self.size -= 1
        if not chunk.keys:
            del self.chunks[index]
            del self.firsts[index]
        elif len(chunk.keys) < SPARSE and index > 0:
            self._merge(index)
        elif at == 0:
            self.firsts[index] = chunk.keys[0]

    def iterate_from(self, start: StoreKey) -> Iterator[Entry]:
        """All entries at or after a key, in order. The entries must not change meanwhile."""
        index = max(0, bisect_right(self.firsts, start) - 1)
        for number in range(index, len(self.chunks)):
            chunk = self.chunks[number]
            if number > index:
                yield from chunk.entries
            else:
                yield from chunk.entries[bisect_left(chunk.keys, start) :]

    def _own(self, index: int) -> _Chunk:
        chunk = self.chunks[index]
        if chunk.owner is not self.owner:
            chunk = _Chunk(self.owner, chunk.keys.copy(), chunk.entries.copy())
            self.chunks[index] = chunk
        return chunk

    def _split(self, index: int, *, appended: bool) -> None:
        # Keys that arrive in order leave full chunks behind; others leave two halves.
        chunk = self.chunks[index]
        at = CHUNK if appended else CHUNK // 2
        right = _Chunk(self.owner, chunk.keys[at:], chunk.entries[at:])
        del chunk.keys[at:]
        del chunk.entries[at:]
        self.chunks.insert(index + 1, right)
        self.firsts.insert(index + 1, right.keys[0])

    def _merge(self, index: int) -> None:
        if len(self.chunks[index - 1].keys) > CHUNK - SPARSE:
            self.firsts[index] = self.chunks[index].keys[0]
            return
        left, right = self._own(index - 1), self.chunks[index]
        left.keys.extend(right.keys)
        left.entries.extend(right.entries)
        del self.chunks[index]
        del self.firsts[index]


class Snapshot:
    """The immutable state at one revision."""

    __slots__ = ("_resources", "revision")

    def __init__(self, by_resource: dict[str, _SortedEntries], revision: int) -> None:
        self._resources = by_resource
        self.revision = revision

    def get(self, key: StoreKey) -> Entry | None:
        """The entry of a key, if there is one."""
        entries = self._resources.get(key.resource)
        return None if entries is None else entries.get(key)

    def resources(self) -> list[str]:
        """The resources that have entries."""
        return sorted(name for name, entries in self._resources.items() if entries.size)

    def range(
        self,
        resource: str,
        namespace: str | None = None,
        *,
        after: tuple[str, str] | None = None,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        """Entries of a resource in (namespace, name) order, lazily: stop or pause at will.

        `namespace` None means all; `after` is the (namespace, name) of the last entry of the page
        before, itself left out.
        """
        entries = self._resources.get(resource)
        if entries is None or limit == 0:
            return
        left = entries.size if limit is None else limit
        for entry in entries.iterate_from(_find_start(resource, namespace, after=after)):
            if namespace is not None and entry.key.namespace != namespace:
                return
            yield entry
            left -= 1
            if left <= 0:
                return

    def count(
        self, resource: str, namespace: str | None = None, *, after: tuple[str, str] | None = None
    ) -> int:
        """How many entries `range` would give without a limit; does not walk them."""
        entries = self._resources.get(resource)
        if entries is None:
            return 0
        end = entries.size
        if namespace is not None:
            end = entries.rank(StoreKey(resource, _find_successor(namespace), ""))
        return max(0, end - entries.rank(_find_start(resource, namespace, after=after)))


class State:
    """The newest state; changes with every committed event."""

    __slots__ = ("_owner", "_resources", "_resources_owner")

    def __init__(self, by_resource: dict[str, _SortedEntries] | None = None) -> None:
        self._owner: object = object()
        self._resources: dict[str, _SortedEntries] = by_resource or {}
        self._resources_owner: object = None if by_resource else self._owner

    @classmethod
    def load(cls, entries: Iterable[Entry]) -> "State":
        """A state of entries in any order, one per key."""
        state = cls()
        grouped: dict[str, list[tuple[str, Entry]]] = {}
        for entry in entries:
            key = entry.key
            rows = grouped.get(key.resource)
            if rows is None:
                rows = grouped[key.resource] = []
            rows.append((f"{key.namespace}\0{key.name}", entry))
        for resource, rows in grouped.items():
            rows.sort()
            state._resources[resource] = _SortedEntries.of(
                state._owner, [entry for _, entry in rows]
            )
        return state

    def get(self, key: StoreKey) -> Entry | None:
        """The entry of a key, if there is one."""
        entries = self._resources.get(key.resource)
        return None if entries is None else entries.get(key)

    def put(self, entry: Entry) -> None:
        """Add an entry, or replace the one its key had."""
        self._get_entries_to_write(entry.key.resource).put(entry)

    def remove(self, key: StoreKey) -> None:
        """Remove a key."""
        self._get_entries_to_write(key.resource).remove(key)

    def snapshot(self, revision: int) -> Snapshot:
        """Freeze the present tree; later writes copy what they touch."""
        self._owner = object()
        return Snapshot(self._resources, revision)

    def rewind(self, events: Iterable[StoreEvent], revision: int) -> Snapshot:
        """The state before some events, the newest of which is the last one applied here."""
        firsts: dict[StoreKey, Entry | None] = {}
        for event in events:
            firsts.setdefault(event.key, event.before)
        past = State(self.snapshot(revision)._resources)
        for key, before in firsts.items():
            if before is None:
                past.remove(key)
            else:
                past.put(before)
        return past.snapshot(revision)

    def _get_entries_to_write(self, resource: str) -> _SortedEntries:
        owner = self._owner
        if self._resources_owner is not owner:
            self._resources = self._resources.copy()
            self._resources_owner = owner
        entries = self._resources.get(resource)
        if entries is None:
            entries = _SortedEntries(owner, firsts=[], chunks=[], size=0)
        elif entries.owner is not owner:
            entries = entries.copy_for(owner)
        else:
            return entries
        self._resources[resource] = entries
        return entries


def _find_successor(text: str) -> str:
    """The smallest string after a given one."""
    return text + "\0"


def _find_start(resource: str, namespace: str | None, *, after: tuple[str, str] | None) -> StoreKey:
    """The first key a range may contain."""
    start = StoreKey(resource, namespace or "", "")
    if after is None:
        return start
    return max(start, StoreKey(resource, after[0], _find_successor(after[1])))
