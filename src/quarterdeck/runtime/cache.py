"""The local copy of one kind: bytes by key, indexes, and handlers that are told each change.

Three promises, all kept without locks because everything here is synchronous:

- **Order.** Per key, handlers see a subsequence of the server's states, never one older than the
  last (R1), and each net deletion exactly once, also when it happened while nobody watched. An
  object deleted and created again under one name is a deletion and an addition.
- **Read your own writes.** `wrote` puts the answer of a write in place at once, so that the next
  read sees it; the event that follows is compared with it. Until that event comes, handlers'
  view (`_told`) lags behind readers' view on purpose.
- **Own events are known.** An event that is exactly our write, directly after the state that
  was told before it, carries its author: that reconcile has nothing to learn from it. While a
  write is under way, events of its key are parked, so the answer is always there first.
"""

import contextlib
import enum
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.index import Index, IndexFunction
from quarterdeck.runtime.reflector import Delta, Progress, Remove, Replace, Upsert
from quarterdeck.runtime.snapshot import UNORDERED, Metadata, Snapshot, read_head
from quarterdeck.wire.labels import Selector

T = TypeVar("T", bound=Object)

_MEMO_SIZE = 256
_MAX_PARKED = 64
_MAX_WRITES = 8
_NEWEST = 2**64


class Change(enum.Enum):
    """What happened to an object."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


class Author(NamedTuple):
    """Who wrote: a controller, while it reconciled a key."""

    controller: str
    key: Key


class Event(NamedTuple):
    """One change, told to handlers after the cache has it.

    `old` is what was told before; for a deletion `new` is the last state known.
    """

    change: Change
    key: Key
    old: Snapshot | None
    new: Snapshot
    metadata: Metadata
    kind: type[Object]
    is_initial: bool = False
    author: Author | None = None


Handler = Callable[[Event], None]
"""Told each change, on the watch path: decide quickly, and never block."""


class _Write(NamedTuple):
    """Our last write of a key whose event has not come yet."""

    author: Author | None
    version: int  # UNORDERED for a deletion
    uid: str
    is_provable: bool = True
    floor: int = UNORDERED
    """The last version of what we deleted: older states of its name are history to readers."""


class Cache(Generic[T]):
    """All objects of one kind within one scope."""

    def __init__(
        self,
        kind: type[T],
        *,
        in_scope: Callable[[Metadata], bool] | None = None,
        transform: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """`in_scope`: whether an object we wrote belongs here; `transform` shrinks what is kept."""
        self.kind = kind
        self._in_scope = in_scope
        self._transform = transform
        self._entries: dict[Key, Snapshot] = {}
        self._told: dict[Key, Snapshot | None] = {}  # where handlers' view differs from readers'
        self._writes: dict[Key, tuple[_Write, ...]] = {}  # those whose event has not come
        self._parked: dict[Key, list[Upsert | Remove]] = {}
        self._writing: dict[Key, int] = {}
        self._versions: dict[str, int] = {}
        self._indexes: dict[str, Index[T]] = {}
        self._owners: Index[Metadata] | None = None
        self._handlers: list[Handler] = []
        self._memo: dict[Key, tuple[Snapshot, T]] = {}
        self._outbox: list[Event] | None = None  # events of a replacement, told at its end
        self.size_bytes = 0
        self.own_events = 0

    # --- reading

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def get(self, key: Key) -> T | None:
        """The newest known state, typed; None if the object is absent."""
        snapshot = self._entries.get(key)
        return None if snapshot is None else self._typed(snapshot)

    def snapshot(self, key: Key) -> Snapshot | None:
        """The same undecoded."""
        return self._entries.get(key)

    def snapshots(self) -> Iterable[Snapshot]:
        """All objects undecoded. Do not change the cache while iterating."""
        return self._entries.values()

    def __iter__(self) -> Iterator[Key]:
        return iter(tuple(self._entries))

    def list(
        self,
        *,
        namespace: str | None = None,
        selector: Selector | None = None,
        index: tuple[str, str] | None = None,
    ) -> list[T]:
        """Objects of a namespace, matching labels, or found by `index=(name, value)`."""
        return [self._typed(snapshot) for snapshot in self.select(namespace, selector, index)]

    def select(
        self,
        namespace: str | None = None,
        selector: Selector | None = None,
        index: tuple[str, str] | None = None,
    ) -> Iterator[Snapshot]:
        """`list` without decoding."""
        for key in self._candidates(index):
            snapshot = self._entries.get(key)
            if snapshot is None or (namespace is not None and key.namespace != namespace):
                continue
            if selector is None or selector.matches(snapshot.labels):
                yield snapshot

    def _candidates(self, index: tuple[str, str] | None) -> Iterable[Key]:
        if index is None:
            return tuple(self._entries)
        name, value = index
        if name not in self._indexes:
            known = ", ".join(sorted(self._indexes)) or "none"
            raise KeyError(f"{self.kind.__name__} has no index {name!r}; it has: {known}")
        return self._indexes[name].keys(value)

    def version(self, namespace: str = "") -> int:
        """How far the watch has told the state of a namespace; 0 before the first list."""
        return self._versions.get(namespace, self._versions.get("", 0))

    def _typed(self, snapshot: Snapshot) -> T:
        memo = self._memo.get(snapshot.key)
        if memo is not None and memo[0] is snapshot:
            return memo[1]
        typed = snapshot.typed(self.kind)
        if len(self._memo) >= _MEMO_SIZE:
            del self._memo[next(iter(self._memo))]
        self._memo[snapshot.key] = (snapshot, typed)
        return typed

    # --- indexes and handlers

    def add_index(self, name: str, function: IndexFunction[T]) -> None:
        """Find objects by a value; existing ones are indexed now."""
        if name in self._indexes:
            raise ValueError(f"{self.kind.__name__} already has an index {name!r}")
        index = self._indexes[name] = Index(function)
        for snapshot in self._entries.values():
            index.update(snapshot.key, self._typed(snapshot))

    def index_owners(self) -> None:
        """Find objects by the UID of their owners; idempotent, and needs no typed decode."""
        if self._owners is None:
            self._owners = Index(_owner_uids)
            for snapshot in self._entries.values():
                self._owners.update(snapshot.key, snapshot.metadata)

    def owned_by(self, uid: str) -> Iterator[Snapshot]:
        """The objects that name this UID as an owner."""
        if self._owners is None:
            self.index_owners()
        assert self._owners is not None
        for key in self._owners.keys(uid):
            yield self._entries[key]

    def add_handler(self, handler: Handler) -> None:
        """Tell a handler all that is there, as additions, and each change from now on."""
        self._handlers.append(handler)
        for key in self._entries.keys() | self._told.keys():
            told = self._told.get(key, self._entries.get(key))
            if told is not None:
                handler(
                    Event(Change.ADDED, key, None, told, told.metadata, self.kind, is_initial=True)
                )

    def remove_handler(self, handler: Handler) -> None:
        """Tell it no more; unknown handlers are fine."""
        with contextlib.suppress(ValueError):
            self._handlers.remove(handler)

    # --- what the watch says

    def apply(self, delta: Delta, namespace: str = "") -> None:
        """Take in what a reflector of a namespace (or of all) learnt."""
        match delta:
            case Upsert() | Remove():
                self._change(delta)
                version = max(self._versions.get(namespace, 0), delta.snapshot.version)
                self._versions[namespace] = version
            case Progress(version):
                self._versions[namespace] = version
            case Replace():
                self._replace(delta, namespace)
        if self._writes:
            self._expire_writes()

    def _change(self, delta: Upsert | Remove) -> None:
        parked = self._parked.get(delta.snapshot.key)
        if parked is None:
            self._take(delta)
            return
        parked.append(delta)
        if len(parked) > _MAX_PARKED:
            self._unpark(delta.snapshot.key)

    def _take(self, delta: Upsert | Remove) -> None:
        if isinstance(delta, Upsert):
            self._upsert(delta.snapshot, delta.metadata)
        else:
            self._remove(delta.snapshot, delta.metadata)

    def _upsert(
        self,
        snapshot: Snapshot,
        metadata: Metadata,
        *,
        is_initial: bool = False,
        floor: int = UNORDERED,
    ) -> None:
        """Take in a state. `floor` is the version of a full list: up to it the list is right."""
        key = snapshot.key
        if self._transform is not None:
            snapshot = Snapshot(self._transform(snapshot.raw), metadata)
        stored = self._entries.get(key)
        told = self._told.get(key, stored)
        if told is not None and _is_older(snapshot, told) and told.version > floor:
            return  # R1
        author = self._author(snapshot)
        if stored is not None and _is_older(snapshot, stored) and stored.version > floor:
            self._told[key] = snapshot  # our own write is newer: readers keep that
        elif self._is_hidden(snapshot):
            self._told[key] = snapshot  # we deleted it
        else:
            self._settle(key)
            self._put(snapshot, metadata)
        if told is None:
            self._tell(Change.ADDED, None, snapshot, metadata, is_initial=is_initial, author=author)
        elif told.uid != snapshot.uid:
            self._tell(Change.DELETED, told, told, told.metadata)
            self._tell(Change.ADDED, None, snapshot, metadata, is_initial=is_initial)
        elif told.version != snapshot.version or _unordered(snapshot):
            self._tell(
                Change.MODIFIED, told, snapshot, metadata, is_initial=is_initial, author=author
            )

    def _remove(self, snapshot: Snapshot, metadata: Metadata) -> None:
        key = snapshot.key
        stored = self._entries.get(key)
        told = self._told.get(key, stored)
        author = next(
            (w.author for w in self._writes.get(key, ()) if _is_deletion(w, snapshot)), None
        )
        if self._is_outlived(snapshot):
            self._told[key] = None  # a later object of this name, which we deleted, is to come
        elif stored is None or stored.uid == snapshot.uid or snapshot.version > stored.version:
            self._settle(key)
            self._drop(key)
        else:
            self._told[key] = None  # ours is a newer object of the same name
        if told is not None and told.uid != snapshot.uid:
            self._tell(Change.DELETED, told, told, told.metadata)  # its own deletion was missed
        elif told is not None:
            self._tell(Change.DELETED, told, snapshot, metadata, author=author)

    def _replace(self, replace: Replace, namespace: str) -> None:
        """R2: readers see the whole new state before any handler is told."""
        is_initial = namespace not in self._versions
        floor = _NEWEST if replace.is_reset else replace.version
        if replace.is_reset:
            self._writes.clear()  # made in a history that is no more
        self._versions[namespace] = replace.version
        for key in self._parked:
            self._unpark(key)
        for key, writes in self._writes.items():  # what lies between is unknown now
            self._writes[key] = tuple(write._replace(is_provable=False) for write in writes)
        fresh = {snapshot.key: snapshot for snapshot in replace.snapshots}
        gone = [key for key in self._known(namespace) if key not in fresh]
        self._outbox = []
        for key in gone:
            self._forget(key, floor)
        for snapshot in fresh.values():
            self._upsert(snapshot, snapshot.metadata, is_initial=is_initial, floor=floor)
        told, self._outbox = self._outbox, None
        for event in told:
            self._deliver(event)

    def _known(self, namespace: str) -> tuple[Key, ...]:
        keys = self._entries.keys() | self._told.keys()
        return tuple(key for key in keys if not namespace or key.namespace == namespace)

    def _forget(self, key: Key, floor: int) -> None:
        """An object is missing from a full list: it was deleted while nobody watched."""
        stored = self._entries.get(key)
        told = self._told.get(key, stored)
        if stored is not None and stored.version > floor:
            self._told[key] = None  # we wrote it after the list was made
        else:
            self._settle(key)
            self._drop(key)
        if told is not None:
            self._tell(Change.DELETED, told, told, told.metadata)

    # --- what we write

    @contextlib.contextmanager
    def writing(self, key: Key) -> Iterator[None]:
        """While a write of `key` is under way its events wait, so that its answer comes first."""
        self._writing[key] = self._writing.get(key, 0) + 1
        self._parked.setdefault(key, [])
        try:
            yield
        finally:
            self._writing[key] -= 1
            if not self._writing[key]:
                del self._writing[key]
                self._unpark(key)
                del self._parked[key]

    def _unpark(self, key: Key) -> None:
        parked = self._parked[key]
        waiting = parked[:]
        parked.clear()
        for delta in waiting:
            self._take(delta)

    def wrote(self, raw: bytes, author: Author | None = None) -> None:
        """Show the answer of a write to readers now, unless the watch is further already."""
        metadata = read_head(raw).metadata
        snapshot = Snapshot(raw, metadata)
        key, stored = snapshot.key, self._entries.get(snapshot.key)
        if not self._versions or _unordered(snapshot):
            return
        if stored is not None and stored.version >= snapshot.version:
            return
        if self._is_hidden(snapshot):
            return  # deleted after this write, whose answer came late
        if not self._parked.get(key) and self.version(key.namespace) >= snapshot.version:
            return  # told already, and changed or deleted since
        if self._in_scope is not None and not self._in_scope(metadata):
            self.deleted(key, snapshot.uid)  # it left our selector: the watch will say so
            return
        if self._transform is not None:
            snapshot = Snapshot(self._transform(raw), metadata)
        self._told.setdefault(key, stored)
        self._remember(key, _Write(author, snapshot.version, snapshot.uid))
        self._put(snapshot, metadata)

    def deleted(self, key: Key, uid: str, author: Author | None = None) -> None:
        """Hide an object that we deleted until the watch says so."""
        stored = self._entries.get(key)
        if stored is None or stored.uid != uid:
            return
        self._told.setdefault(key, stored)
        self._remember(key, _Write(author, UNORDERED, uid, floor=stored.version))
        self._drop(key)

    def _remember(self, key: Key, write: _Write) -> None:
        self._writes[key] = (*self._writes.get(key, ()), write)[-_MAX_WRITES:]

    def _expire_writes(self) -> None:
        """Take back writes whose event never came although the watch is past them.

        That happens only when a server lost history after it had answered us.
        """
        for key, writes in tuple(self._writes.items()):
            if key in self._parked or key not in self._entries:
                continue
            newest = writes[-1].version
            if UNORDERED < newest < self.version(key.namespace):
                told = self._told.get(key)
                self._settle(key)
                if told is None:
                    self._drop(key)
                else:
                    self._put(told)

    def _is_hidden(self, snapshot: Snapshot) -> bool:
        """Whether readers know that this state is over: we deleted it, or what came after it."""
        return self._is_outlived(snapshot) or any(
            _is_deletion(write, snapshot) for write in self._writes.get(snapshot.key, ())
        )

    def _is_outlived(self, snapshot: Snapshot) -> bool:
        """Whether we deleted a later object of the same name."""
        return not _unordered(snapshot) and any(
            write.version == UNORDERED
            and write.uid != snapshot.uid
            and snapshot.version <= write.floor
            for write in self._writes.get(snapshot.key, ())
        )

    def _author(self, snapshot: Snapshot) -> Author | None:
        """The author, if this event is our write and nothing foreign lies before it."""
        for write in self._writes.get(snapshot.key, ()):
            if write.is_provable and write.version == snapshot.version:
                self.own_events += 1
                return write.author
        return None

    def _settle(self, key: Key) -> None:
        """Readers and handlers agree again."""
        self._told.pop(key, None)
        self._writes.pop(key, None)

    # --- inside

    def _put(self, snapshot: Snapshot, metadata: Metadata | None = None) -> None:
        old = self._entries.get(snapshot.key)
        self.size_bytes += len(snapshot.raw) - (len(old.raw) if old is not None else 0)
        self._entries[snapshot.key] = snapshot
        if self._owners is not None:
            self._owners.update(
                snapshot.key, metadata if metadata is not None else snapshot.metadata
            )
        if self._indexes:
            typed = self._typed(snapshot)
            for index in self._indexes.values():
                index.update(snapshot.key, typed)

    def _drop(self, key: Key) -> None:
        old = self._entries.pop(key, None)
        if old is None:
            return
        self.size_bytes -= len(old.raw)
        self._memo.pop(key, None)
        if self._owners is not None:
            self._owners.remove(key)
        for index in self._indexes.values():
            index.remove(key)

    def _tell(
        self,
        change: Change,
        old: Snapshot | None,
        new: Snapshot,
        metadata: Metadata,
        *,
        is_initial: bool = False,
        author: Author | None = None,
    ) -> None:
        if not self._handlers:
            return
        event = Event(change, new.key, old, new, metadata, self.kind, is_initial, author)
        if self._outbox is not None:
            self._outbox.append(event)
        else:
            self._deliver(event)

    def _deliver(self, event: Event) -> None:
        for handler in tuple(self._handlers):
            handler(event)


def _owner_uids(metadata: Metadata) -> Iterable[str]:
    return [reference.uid for reference in metadata.owner_references or ()]


def _unordered(snapshot: Snapshot) -> bool:
    return snapshot.version == UNORDERED


def _is_deletion(write: _Write, snapshot: Snapshot) -> bool:
    return write.version == UNORDERED and write.uid == snapshot.uid


def _is_older(new: Snapshot, known: Snapshot) -> bool:
    return not _unordered(new) and new.version < known.version
