"""The last changes of applications, numbered, in a bounded ring for any number of readers.

Each reader keeps its own position. A reader that is too slow finds its entries dropped and starts
over from the current state, so the writer never waits.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from quarterdeck.kit import json
from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.runtime.cache.snapshot import Snapshot

MAX_BYTES = 16 * 1024 * 1024
"""Limit of the bytes in the ring: a thousand large objects would be a hundred times as many."""
_TYPES = {Change.ADDED: "ADDED", Change.MODIFIED: "MODIFIED", Change.DELETED: "DELETED"}


class Entry:
    """One change. Its frame is encoded once, for the first reader."""

    __slots__ = ("_frame", "labels_before", "position", "snapshot", "type")

    def __init__(
        self,
        position: int,
        type_: str,
        snapshot: Snapshot,
        labels_before: Mapping[str, str] | None = None,
    ) -> None:
        self.position = position
        self.type = type_
        self.snapshot = snapshot
        self.labels_before = labels_before
        """Labels before a modification: a selector may have matched them."""
        self._frame = b""

    @property
    def frame(self) -> bytes:
        """The change as a Server-Sent Event."""
        if not self._frame:
            self._frame = encode_frame(
                self.type, drop_managed_fields(self.snapshot), self.snapshot.version
            )
        return self._frame


def drop_managed_fields(snapshot: Snapshot) -> object:
    """An object without `metadata.managedFields`."""
    document = snapshot.document
    document.get("metadata", {}).pop("managedFields", None)
    return document


def encode_frame(type_: str, document: object, version: int | None = None) -> bytes:
    """A Server-Sent Event of the default type, whose id is the resource version."""
    data = json.encode({"type": type_, "object": document})
    head = b"" if version is None else b"id: %d\n" % version
    return head + b"data: " + data + b"\n\n"


class Ring:
    """Entries by position; the oldest are dropped when it is full."""

    def __init__(self, size: int, *, max_bytes: int = MAX_BYTES) -> None:
        self._entries: deque[Entry] = deque()
        self._size = size
        self._max_bytes = max_bytes
        self._bytes = 0
        self._next = 0
        self._floor: int | None = None
        """The lowest version after which nothing is missing; None before the first change."""
        self._highest = 0
        """The highest version of an object that was seen."""
        self._subscribers: set[asyncio.Event] = set()

    @property
    def end(self) -> int:
        """The position of the next entry."""
        return self._next

    @property
    def subscribers(self) -> int:
        """The number of subscribers."""
        return len(self._subscribers)

    def record(self, event: Event, *, synced: int = 0) -> None:
        """Record a change; the initial state of the cache is not one.

        Changes that the cache finds in a new list do not come in the order of their versions, and
        an object that is missing there has an old one. A reader that has seen `synced`, the version
        of the cache, has seen them; of readers with lower versions this is not known.
        """
        version, is_late = event.new.version, event.new.version <= self._highest
        self._highest = max(self._highest, version)
        if event.is_initial:
            return
        if self._floor is None:
            self._floor = version - 1
        if is_late:
            self._floor = max(self._floor, self._highest + 1, synced)
        before = event.old.labels if event.old is not None else None
        self._entries.append(Entry(self._next, _TYPES[event.change], event.new, before))
        self._bytes += len(event.new.data)
        self._next += 1
        while len(self._entries) > self._size or (
            self._bytes > self._max_bytes and len(self._entries) > 1
        ):
            gone = self._entries.popleft().snapshot
            self._bytes -= len(gone.data)
            self._floor = max(self._floor, gone.version)
        for wake in self._subscribers:
            wake.set()

    def list_from(self, position: int) -> list[Entry] | None:
        """List the entries from a position on; None if some of them were dropped."""
        missing = self._next - position
        if missing > len(self._entries):
            return None
        return [self._entries[-index] for index in range(missing, 0, -1)]

    def find_position(self, version: int, *, synced: int) -> int | None:
        """Find the position after a resource version; None if later entries were dropped.

        `synced` is the version the cache is at: before the first change nothing older is known.
        """
        if version < (synced if self._floor is None else self._floor):
            return None
        for entry in self._entries:
            if entry.snapshot.version > version:
                return entry.position
        return self._next

    def subscribe(self, wake: asyncio.Event) -> None:
        """Set an event whenever an entry is added."""
        self._subscribers.add(wake)

    def unsubscribe(self, wake: asyncio.Event) -> None:
        """Remove a subscriber."""
        self._subscribers.discard(wake)

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries))


def encode_initial(snapshots: Iterable[Snapshot]) -> Iterator[bytes]:
    """The current state as ADDED events, in order of their versions.

    A reader that is interrupted resumes after the last version, and gets the rest as changes.
    """
    for snapshot in sorted(snapshots, key=lambda each: (each.version, each.key)):
        yield encode_frame("ADDED", drop_managed_fields(snapshot), snapshot.version)
