"""The local copy of one kind, kept equal to the server, and handlers that are told each change.

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
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, TypeVar

from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.delta import Delta, Progress, Remove, Replace, Upsert
from quarterdeck.runtime.cache.event import Author, Change, Event, Handler
from quarterdeck.runtime.cache.indexer import Shelf
from quarterdeck.runtime.cache.pending_writes import Ledger
from quarterdeck.runtime.cache.retention import Keep
from quarterdeck.runtime.cache.snapshot import UNORDERED, Metadata, Snapshot, read_head

T = TypeVar("T", bound=Object)

_MAX_PARKED = 64
_NEWEST = 2**64


class Cache(Shelf[T]):
    """All objects of one kind within one scope."""

    def __init__(
        self,
        kind: type[T],
        *,
        in_scope: Callable[[Metadata], bool] | None = None,
        keep: Keep | None = None,
    ) -> None:
        """`in_scope`: whether an object we wrote belongs here."""
        super().__init__(kind, keep if keep is not None else Keep())
        self._in_scope = in_scope
        self._told: dict[Key, Snapshot | None] = {}  # where handlers' view differs from readers'
        self._ledger = Ledger()
        self._parked: dict[Key, list[Upsert | Remove]] = {}
        self._writers: dict[Key, int] = {}
        self._versions: dict[str, int] = {}
        self._handlers: list[Handler] = []
        self._outbox: list[Event] | None = None  # events of a replacement, told at its end
        self.own_events = 0

    def version(self, namespace: str = "") -> int:
        """How far the watch has told the state of a namespace; 0 before the first list."""
        return self._versions.get(namespace, self._versions.get("", 0))

    def add_handler(self, handler: Handler) -> None:
        """Tell a handler all that is there, as additions, and each change from now on."""
        self._handlers.append(handler)
        for key in self._entries.keys() | self._told.keys():
            told = self._told.get(key, self._entries.get(key))
            if told is not None:
                handler(Event(Change.ADDED, None, told, self.kind, is_initial=True))

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
                if self._ledger.may_be_overdue(version):
                    self._take_back()
                return
            case Progress(version):
                self._versions[namespace] = version
            case Replace():
                self._replace(delta, namespace)
        self._take_back()

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
        metadata: Metadata | None = None,
        *,
        is_initial: bool = False,
        floor: int = UNORDERED,
    ) -> None:
        """Take in a state. `floor` is the version of a full list: up to it the list is right."""
        key = snapshot.key
        stored = self._entries.get(key)
        told = self._told.get(key, stored)
        if told is not None and snapshot.is_before(told) and told.version > floor:
            return  # R1
        author = self._author(snapshot)
        if stored is not None and snapshot.is_before(stored) and stored.version > floor:
            self._told[key] = snapshot  # our own write is newer: readers keep that
        elif self._ledger.hides(snapshot):
            self._told[key] = snapshot  # we deleted it
        else:
            self._settle(key)
            if stored is None or floor == _NEWEST or not snapshot.is_same(stored):
                self._put(snapshot, metadata)
        if told is None:
            self._tell(Change.ADDED, None, snapshot, metadata, is_initial=is_initial, author=author)
        elif told.uid != snapshot.uid:
            self._tell(Change.DELETED, told, told)
            self._tell(Change.ADDED, None, snapshot, metadata, is_initial=is_initial)
        elif told.version != snapshot.version or snapshot.is_unordered:
            self._tell(
                Change.MODIFIED, told, snapshot, metadata, is_initial=is_initial, author=author
            )

    def _remove(self, snapshot: Snapshot, metadata: Metadata) -> None:
        key = snapshot.key
        stored = self._entries.get(key)
        told = self._told.get(key, stored)
        author = self._ledger.deleter(snapshot)
        if self._ledger.outlives(snapshot):
            self._told[key] = None  # a later object of this name, which we deleted, is to come
        elif stored is None or stored.uid == snapshot.uid or snapshot.version > stored.version:
            self._settle(key)
            self._drop(key)
        else:
            self._told[key] = None  # ours is a newer object of the same name
        if told is not None and told.uid != snapshot.uid:
            self._tell(Change.DELETED, told, told)  # its own deletion was missed
        elif told is not None:
            self._tell(Change.DELETED, told, snapshot, metadata, author=author)

    # --- what a full list says

    def _replace(self, replace: Replace, namespace: str) -> None:
        """R2: readers see the whole new state before any handler is told."""
        is_initial = namespace not in self._versions
        if replace.is_reset:
            self._ledger.clear()  # made in a history that is no more
        self._versions[namespace] = replace.version
        for key in self._parked:
            self._unpark(key)
        self._ledger.doubt()
        known = self._known(namespace)
        if not known and not self._ledger:
            self._fill(replace, is_initial=is_initial)
            return
        floor = _NEWEST if replace.is_reset else replace.version
        fresh = {snapshot.key: snapshot for snapshot in replace.snapshots}
        self._outbox = []
        for key in known:
            if key not in fresh:
                self._forget(key, floor)
        for snapshot in fresh.values():
            self._upsert(snapshot, is_initial=is_initial, floor=floor)
        told, self._outbox = self._outbox, None
        for event in told:
            self._deliver(event)

    def _fill(self, replace: Replace, *, is_initial: bool) -> None:
        """The first list of an empty cache: nothing to compare with."""
        for snapshot in replace.snapshots:
            self._put(snapshot)
        for snapshot in replace.snapshots:
            if (
                self._entries[snapshot.key].version == snapshot.version
            ):  # else a later page had it again
                self._tell(Change.ADDED, None, snapshot, is_initial=is_initial)

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
            self._tell(Change.DELETED, told, told)

    # --- what we write

    def writing(self, key: Key) -> AbstractContextManager[None]:
        """While a write of `key` is under way its events wait, so that its answer comes first."""
        return _Writing(self, key)

    def begin_write(self, key: Key) -> None:
        """Hold back what the watch says of a key; several writes at a time are counted."""
        self._writers[key] = self._writers.get(key, 0) + 1
        self._parked.setdefault(key, [])

    def end_write(self, key: Key) -> None:
        """Take in what was held back, when this was the last write of the key."""
        self._writers[key] -= 1
        if not self._writers[key]:
            del self._writers[key]
            self._unpark(key)
            del self._parked[key]

    def _unpark(self, key: Key) -> None:
        parked = self._parked[key]
        waiting = parked[:]
        parked.clear()
        for delta in waiting:
            self._take(delta)

    def wrote(self, raw: bytes, author: Author | None = None) -> Snapshot:
        """Show the answer of a write to readers now, unless the watch is further already."""
        metadata = read_head(raw).metadata
        snapshot = self._keep.passing(raw, metadata)
        if not self._is_news(snapshot):
            return snapshot
        if self._in_scope is not None and not self._in_scope(metadata):
            self.deleted(snapshot.key, snapshot.uid)  # it left our selector: the watch will say so
            return snapshot
        key = snapshot.key
        self._told.setdefault(key, self._entries.get(key))
        self._ledger.wrote(snapshot, author)
        self._put(snapshot, metadata)
        return snapshot

    def _is_news(self, snapshot: Snapshot) -> bool:
        """Whether readers do not know this state of ours, or a later one, already."""
        key, stored = snapshot.key, self._entries.get(snapshot.key)
        if not self._versions or snapshot.is_unordered:
            return False
        if stored is not None and stored.version >= snapshot.version:
            return False
        if self._ledger.hides(snapshot):
            return False  # deleted after this write, whose answer came late
        # else it was told already, and changed or deleted since
        return bool(self._parked.get(key)) or self.version(key.namespace) < snapshot.version

    def deleted(self, key: Key, uid: str, author: Author | None = None) -> None:
        """Hide an object that we deleted until the watch says so."""
        stored = self._entries.get(key)
        if stored is None or stored.uid != uid:
            return
        self._told.setdefault(key, stored)
        self._ledger.deleted(stored, author)
        self._drop(key)

    def _take_back(self) -> None:
        """Drop writes whose event never came although the watch is past them.

        That happens only when a server lost history after it had answered us.
        """
        for key, newest in self._ledger.newest():
            if key in self._parked or key not in self._entries:
                continue
            if UNORDERED < newest < self.version(key.namespace):
                told = self._told.get(key)
                self._settle(key)
                if told is None:
                    self._drop(key)
                else:
                    self._put(told)

    def _author(self, snapshot: Snapshot) -> Author | None:
        """The author, if this event is our write and nothing foreign lies before it."""
        write = self._ledger.proves(snapshot)
        if write is None:
            return None
        self.own_events += 1
        return write.author

    def _settle(self, key: Key) -> None:
        """Readers and handlers agree again."""
        self._told.pop(key, None)
        self._ledger.settle(key)

    # --- telling

    def _tell(
        self,
        change: Change,
        old: Snapshot | None,
        new: Snapshot,
        metadata: Metadata | None = None,
        *,
        is_initial: bool = False,
        author: Author | None = None,
    ) -> None:
        if not self._handlers:
            return
        event = Event(
            change, old, new, self.kind, metadata=metadata, is_initial=is_initial, author=author
        )
        if self._outbox is not None:
            self._outbox.append(event)
        else:
            self._deliver(event)

    def _deliver(self, event: Event) -> None:
        for handler in tuple(self._handlers):
            handler(event)


class _Writing:
    """A write under way."""

    __slots__ = ("_cache", "_key")

    def __init__(self, cache: Cache[Any], key: Key) -> None:
        self._cache = cache
        self._key = key

    def __enter__(self) -> None:
        self._cache.begin_write(self._key)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cache.end_write(self._key)
