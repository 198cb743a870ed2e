"""An event of the cache: one change of one object, and its author."""

import enum
from collections.abc import Callable

import msgspec

from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.snapshot import Metadata, Snapshot


class Change(enum.Enum):
    """What happened to an object."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


class Author(msgspec.Struct, frozen=True, gc=False):
    """The author of a write: a controller, while it reconciled a key."""

    controller: str
    key: Key


class Event(msgspec.Struct, eq=False, gc=False):
    """One change; handlers are notified after the cache has stored it.

    `old` is the state of the last notification; for a deletion `new` is the last state
    known. The metadata is decoded on first use: most handlers need only the key.
    """

    change: Change
    old: Snapshot | None
    new: Snapshot
    kind: type[Object]
    decoded: Metadata | None = None
    """The metadata, if it is decoded already."""
    is_initial: bool = False
    author: Author | None = None

    @property
    def key(self) -> Key:
        """Namespace and name of the object."""
        return self.new.key

    @property
    def metadata(self) -> Metadata:
        """The metadata of `new`."""
        if self.decoded is None:
            self.decoded = self.new.metadata
        return self.decoded

    def __repr__(self) -> str:
        return f"Event({self.change.value}, {self.kind.__name__} {self.key}, {self.new.version})"


Handler = Callable[[Event], None]
"""Called with each event, on the watch path: it must return quickly and never block."""
