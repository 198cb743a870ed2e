"""An event of the cache: one change of one object, and its author."""

import enum
from collections.abc import Callable
from typing import NamedTuple

from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.snapshot import Metadata, Snapshot


class Change(enum.Enum):
    """What happened to an object."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


class Author(NamedTuple):
    """The author of a write: a controller, while it reconciled a key."""

    controller: str
    key: Key


class Event:
    """One change; handlers are notified after the cache has stored it.

    `old` is the state of the last notification; for a deletion `new` is the last state
    known. The metadata is decoded on first use: most handlers need only the key.
    """

    __slots__ = ("_metadata", "author", "change", "is_initial", "key", "kind", "new", "old")

    def __init__(
        self,
        change: Change,
        old: Snapshot | None,
        new: Snapshot,
        kind: type[Object],
        *,
        metadata: Metadata | None = None,
        is_initial: bool = False,
        author: Author | None = None,
    ) -> None:
        self.change = change
        self.key = new.key
        self.old = old
        self.new = new
        self.kind = kind
        self.is_initial = is_initial
        self.author = author
        self._metadata = metadata

    @property
    def metadata(self) -> Metadata:
        """The metadata of `new`."""
        if self._metadata is None:
            self._metadata = self.new.metadata
        return self._metadata

    def __repr__(self) -> str:
        return f"Event({self.change.value}, {self.kind.__name__} {self.key}, {self.new.version})"


Handler = Callable[[Event], None]
"""Called with each event, on the watch path: it must return quickly and never block."""
