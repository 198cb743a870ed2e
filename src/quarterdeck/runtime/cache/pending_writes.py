"""Our writes whose events were not received yet: the states they hide, the events they cause."""

from collections.abc import Iterator

import msgspec

from quarterdeck.meta.identity import Key
from quarterdeck.runtime.cache.event import Author
from quarterdeck.runtime.cache.snapshot import UNORDERED, Snapshot

_MAX_WRITES = 8


class _Write(msgspec.Struct, frozen=True):
    author: Author | None
    version: int  # UNORDERED for a deletion
    uid: str
    is_provable: bool = True
    floor: int = UNORDERED
    """The last version of the object that we deleted: older states of its name are hidden."""

    def is_deletion_of(self, snapshot: Snapshot) -> bool:
        return self.version == UNORDERED and self.uid == snapshot.uid

    def is_later_than(self, snapshot: Snapshot) -> bool:
        """For a deletion: whether the deleted object is not older than a state of its name."""
        return UNORDERED < snapshot.version <= self.floor


class PendingWrites(dict[Key, tuple[_Write, ...]]):
    """The last writes by key, until the watch has reported them."""

    __slots__ = ()

    def add_write(self, snapshot: Snapshot, author: Author | None) -> None:
        """Add a written state."""
        self._add(snapshot.key, _Write(author, snapshot.version, snapshot.uid))

    def add_deletion(self, snapshot: Snapshot, author: Author | None) -> None:
        """Add the deletion of an object; the snapshot is its last state."""
        write = _Write(author, UNORDERED, snapshot.uid, floor=snapshot.version)
        self._add(snapshot.key, write)

    def _add(self, key: Key, write: _Write) -> None:
        known = self.get(key)
        self[key] = (write,) if known is None else (*known, write)[-_MAX_WRITES:]

    def mark_unprovable(self) -> None:
        """Mark all writes after a full list: it may hide writes of others between them."""
        for key, writes in self.items():
            self[key] = tuple(msgspec.structs.replace(write, is_provable=False) for write in writes)

    def may_be_overdue(self, version: int) -> bool:
        """Whether a watch at `version` should have reported the first of them. Cheap."""
        for writes in self.values():
            return writes[-1].version < version
        return False

    def list_last_versions(self) -> Iterator[tuple[Key, int]]:
        """Each key with the version of its last write; `UNORDERED` for a deletion."""
        for key, writes in tuple(self.items()):
            yield key, writes[-1].version

    def find_proven(self, snapshot: Snapshot) -> _Write | None:
        """The write that caused this event; None if others may have written before it."""
        for write in self.get(snapshot.key, ()):
            if write.is_provable and write.version == snapshot.version:
                return write
        return None

    def find_deleter(self, snapshot: Snapshot) -> Author | None:
        """The author that deleted this object."""
        for write in self.get(snapshot.key, ()):
            if write.is_deletion_of(snapshot):
                return write.author
        return None

    def hides(self, snapshot: Snapshot) -> bool:
        """Whether readers must not see this state: we deleted it, or a later state."""
        for write in self.get(snapshot.key, ()):
            if write.version == UNORDERED and (
                write.uid == snapshot.uid or write.is_later_than(snapshot)
            ):
                return True
        return False

    def is_older_than_deletion(self, snapshot: Snapshot) -> bool:
        """Whether we deleted a later object of the same name."""
        return any(
            write.version == UNORDERED
            and write.uid != snapshot.uid
            and write.is_later_than(snapshot)
            for write in self.get(snapshot.key, ())
        )
