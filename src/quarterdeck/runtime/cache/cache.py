"""The local copy of one kind, kept equal to the server, and the handlers notified of changes.

Three promises, all kept without locks because everything here is synchronous:

- **Order.** Per key, handlers see a subsequence of the server's states, never one older than the
  last (R1 of `runtime.informer`), and each net deletion exactly once, also when it happened while
  nobody watched. An object deleted and created again under one name is a deletion and an addition.
- **Read your own writes.** `record_write` stores the answer of a write at once, so that the next
  read sees it; the event that follows is compared with it. Until that event comes, the state that
  handlers know (`_notified`) is older than the state that readers see, on purpose.
- **Own events are known.** An event that is exactly our write, directly after the state of which
  handlers were notified last, carries its author: that reconcile learns nothing from it. While a
  write is under way, events of its key are parked, so that the answer always comes first.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, TypeVar

from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.delta import Delta, Progress, Remove, Replace, Upsert
from quarterdeck.runtime.cache.event import Author, Change, Event, Handler
from quarterdeck.runtime.cache.indexer import Indexer
from quarterdeck.runtime.cache.pending_writes import PendingWrites
from quarterdeck.runtime.cache.retention import RetentionPolicy
from quarterdeck.runtime.cache.snapshot import UNORDERED, Metadata, Snapshot, read_head

T = TypeVar("T", bound=Object)

_MAX_PARKED = 64
_NEWEST = 2**64
_ADDED, _MODIFIED, _DELETED = Change.ADDED, Change.MODIFIED, Change.DELETED
"""Looked up once: a look-up in an enum takes as long as three calls."""


class Cache(Indexer[T]):
    """All objects of one kind within one scope."""

    def __init__(
        self,
        kind: type[T],
        *,
        in_scope: Callable[[Metadata], bool | None] | None = None,
        retention: RetentionPolicy | None = None,
    ) -> None:
        """`in_scope` decides whether an object that we wrote matches the scope of this cache.

        It returns None if only the server can tell; the object then stays visible or hidden.
        """
        super().__init__(kind, retention if retention is not None else RetentionPolicy())
        self._in_scope = in_scope
        self._notified: dict[Key, Snapshot | None] = {}  # where handlers know another state
        self._pending_writes = PendingWrites()
        self._parked: dict[Key, list[Upsert | Remove]] = {}
        self._writers: dict[Key, int] = {}
        self._versions: dict[str, int] = {}
        self._handlers: tuple[Handler, ...] = ()
        self._deferred_events: list[Event] | None = None  # events of a replacement, sent at its end
        self.own_events = 0

    def version(self, namespace: str = "") -> int:
        """The version up to which a namespace has been received; 0 before the first list."""
        return self._versions.get(namespace, self._versions.get("", 0))

    def add_handler(self, handler: Handler) -> None:
        """Notify a handler of all objects, as additions, and of each change from now on."""
        self._handlers = (*self._handlers, handler)
        for key in self._entries.keys() | self._notified.keys():
            notified = self._notified.get(key, self._entries.get(key))
            if notified is not None:
                handler(Event(_ADDED, None, notified, self.kind, is_initial=True))

    # --- events of the watch

    def apply(self, delta: Delta, namespace: str = "") -> None:
        """Apply what a reflector received for one namespace, or for all."""
        match delta:
            case Upsert() | Remove():
                if delta.snapshot.key in self._parked:
                    self._park(delta)
                else:
                    self._apply_change(delta)
                version, known = delta.snapshot.version, self._versions.get(namespace, 0)
                if version > known:
                    self._versions[namespace] = version
                else:
                    version = known
                if self._pending_writes and self._pending_writes.may_be_overdue(version):
                    self._revert_lost_writes()
                return
            case Progress(version):
                self._versions[namespace] = version
            case Replace():
                self._replace(delta, namespace)
        self._revert_lost_writes()

    def _park(self, delta: Upsert | Remove) -> None:
        parked = self._parked[delta.snapshot.key]
        parked.append(delta)
        if len(parked) > _MAX_PARKED:
            self._release_parked(delta.snapshot.key)

    def _apply_change(self, delta: Upsert | Remove) -> None:
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
        """Apply a state. `floor` is the version of a full list, which is right up to there."""
        key = snapshot.key
        stored = self._entries.get(key)
        notified = self._notified.get(key, stored)
        if notified is not None and snapshot.is_before(notified) and notified.version > floor:
            return  # R1
        has_pending = key in self._pending_writes
        author = self._find_author(snapshot) if has_pending else None
        if (
            stored is not notified
            and stored is not None
            and snapshot.is_before(stored)
            and stored.version > floor
        ):
            self._notified[key] = snapshot  # our own write is newer: readers keep that
        elif has_pending and self._pending_writes.hides(snapshot):
            self._notified[key] = snapshot  # we deleted it
        else:
            self._clear_pending(key)
            if stored is None or floor == _NEWEST or not snapshot.is_same(stored):
                self._put(snapshot, metadata)
        if notified is None:
            self._notify(_ADDED, None, snapshot, metadata, is_initial=is_initial, author=author)
        elif notified.uid != snapshot.uid:
            self._notify(_DELETED, notified, notified)
            self._notify(_ADDED, None, snapshot, metadata, is_initial=is_initial)
        elif notified.version != snapshot.version or snapshot.is_unordered:
            self._notify(
                _MODIFIED, notified, snapshot, metadata, is_initial=is_initial, author=author
            )

    def _remove(self, snapshot: Snapshot, metadata: Metadata) -> None:
        key = snapshot.key
        stored = self._entries.get(key)
        notified = self._notified.get(key, stored)
        author = self._pending_writes.find_deleter(snapshot)
        if self._pending_writes.is_older_than_deletion(snapshot):
            self._notified[key] = None  # a later object of this name, which we deleted, is to come
        elif stored is None or stored.uid == snapshot.uid or snapshot.version > stored.version:
            self._clear_pending(key)
            self._drop(key)
        else:
            self._notified[key] = None  # ours is a newer object of the same name
        if notified is not None and notified.uid != snapshot.uid:
            self._notify(_DELETED, notified, notified)  # its own deletion was missed
        elif notified is not None:
            self._notify(_DELETED, notified, snapshot, metadata, author=author)

    # --- full lists

    def _replace(self, replace: Replace, namespace: str) -> None:
        """R2: readers see the whole new state before any handler is notified."""
        is_initial = namespace not in self._versions
        if replace.is_reset:
            self._pending_writes.clear()  # made in a history that was dropped
        self._versions[namespace] = replace.version
        for key in self._parked:
            self._release_parked(key)
        self._pending_writes.mark_unprovable()
        known = self._list_known_keys(namespace)
        if not known and not self._pending_writes:
            self._fill_empty(replace, is_initial=is_initial)
            return
        floor = _NEWEST if replace.is_reset else replace.version
        fresh = {snapshot.key: snapshot for snapshot in replace.snapshots}
        self._deferred_events = []
        for key in known:
            if key not in fresh:
                self._remove_missing(key, floor)
        for snapshot in fresh.values():
            self._upsert(snapshot, is_initial=is_initial, floor=floor)
        notified, self._deferred_events = self._deferred_events, None
        for event in notified:
            self._deliver(event)

    def _fill_empty(self, replace: Replace, *, is_initial: bool) -> None:
        """Store the first list of an empty cache, without comparing it with stored states."""
        for snapshot in replace.snapshots:
            self._put(snapshot)
        for snapshot in replace.snapshots if self._handlers else ():
            if (
                self._entries[snapshot.key].version == snapshot.version
            ):  # else a later page had it again
                self._deliver(Event(_ADDED, None, snapshot, self.kind, None, is_initial))

    def _list_known_keys(self, namespace: str) -> tuple[Key, ...]:
        keys = self._entries.keys() | self._notified.keys()
        return tuple(key for key in keys if not namespace or key.namespace == namespace)

    def _remove_missing(self, key: Key, floor: int) -> None:
        """Remove an object that is missing from a full list: its deletion was not received."""
        stored = self._entries.get(key)
        notified = self._notified.get(key, stored)
        if stored is not None and stored.version > floor:
            self._notified[key] = None  # we wrote it after the list was made
        else:
            self._clear_pending(key)
            self._drop(key)
        if notified is not None:
            self._notify(_DELETED, notified, notified)

    # --- own writes

    def hold_events(self, key: Key) -> AbstractContextManager[None]:
        """Hold events of `key` while a write of it is under way, so that its answer comes first."""
        return _EventHold(self, key)

    def begin_write(self, key: Key) -> None:
        """Park events of a key; writes at the same time are counted."""
        self._writers[key] = self._writers.get(key, 0) + 1
        self._parked.setdefault(key, [])

    def end_write(self, key: Key) -> None:
        """Apply the parked events when this was the last write of the key."""
        self._writers[key] -= 1
        if not self._writers[key]:
            del self._writers[key]
            if self._parked[key]:
                self._release_parked(key)
            del self._parked[key]

    def _release_parked(self, key: Key) -> None:
        parked = self._parked[key]
        waiting = parked[:]
        parked.clear()
        for delta in waiting:
            self._apply_change(delta)

    def record_write(self, raw: bytes, author: Author | None = None) -> Snapshot:
        """Store the answer of a write for readers, unless the watch has a later state already."""
        metadata = read_head(raw).metadata
        snapshot = self._find_parked(metadata) or self._retention.make_written(raw, metadata)
        if not self._is_newer(snapshot):
            return snapshot
        matches = True if self._in_scope is None else self._in_scope(metadata)
        if matches is None and not self._is_visible(snapshot):
            return snapshot  # the watch adds it if it matches
        if matches is False:
            # the selector does not match it any more: the watch will report its deletion
            self.record_deletion(snapshot.key, snapshot.uid)
            return snapshot
        key = snapshot.key
        self._notified.setdefault(key, self._entries.get(key))
        self._pending_writes.add_write(snapshot, author)
        self._put(snapshot, metadata)
        return snapshot

    def _is_visible(self, snapshot: Snapshot) -> bool:
        """Whether readers see an earlier state of the same object."""
        stored = self._entries.get(snapshot.key)
        return stored is not None and stored.uid == snapshot.uid

    def _find_parked(self, metadata: Metadata) -> Snapshot | None:
        """The parked state of an answer, if its event was received before the answer."""
        for each in self._parked.get(Key(metadata.namespace, metadata.name)) or ():
            if (
                each.metadata.resource_version == metadata.resource_version
                and each.metadata.uid == metadata.uid
            ):
                return each.snapshot
        return None

    def _is_newer(self, snapshot: Snapshot) -> bool:
        """Whether this written state is later than the one readers see."""
        key, stored = snapshot.key, self._entries.get(snapshot.key)
        if not self._versions or snapshot.is_unordered:
            return False
        if stored is not None and stored.version >= snapshot.version:
            return False
        if self._pending_writes.hides(snapshot):
            return False  # deleted after this write, whose answer came late
        # otherwise its event has come already, and it was changed or deleted since
        return bool(self._parked.get(key)) or self.version(key.namespace) < snapshot.version

    def record_deletion(self, key: Key, uid: str, author: Author | None = None) -> None:
        """Hide an object that we deleted until the watch reports it."""
        stored = self._entries.get(key)
        if stored is None or stored.uid != uid:
            return
        self._notified.setdefault(key, stored)
        self._pending_writes.add_deletion(stored, author)
        self._drop(key)

    def _revert_lost_writes(self) -> None:
        """Revert writes whose event never came although the watch is past them.

        That happens only when a server lost history after it had answered us.
        """
        for key, newest in self._pending_writes.list_last_versions():
            if key in self._parked or key not in self._entries:
                continue
            if UNORDERED < newest < self.version(key.namespace):
                notified = self._notified.get(key)
                self._clear_pending(key)
                if notified is None:
                    self._drop(key)
                else:
                    self._put(notified)

    def _find_author(self, snapshot: Snapshot) -> Author | None:
        """The author of an event that our write caused; None if others may have written before."""
        write = self._pending_writes.find_proven(snapshot)
        if write is None:
            return None
        self.own_events += 1
        return write.author

    def _clear_pending(self, key: Key) -> None:
        """Forget pending writes of a key: handlers have been notified of the state readers see."""
        if key in self._notified:
            del self._notified[key]
        if key in self._pending_writes:
            del self._pending_writes[key]

    # --- notification

    def _notify(
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
        event = Event(change, old, new, self.kind, metadata, is_initial, author)
        if self._deferred_events is not None:
            self._deferred_events.append(event)
        else:
            self._deliver(event)

    def _deliver(self, event: Event) -> None:
        for handler in self._handlers:
            handler(event)


class _EventHold:
    """Parks the events of a key inside a `with` block, while a write is under way."""

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
