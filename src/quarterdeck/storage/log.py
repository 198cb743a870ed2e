"""The interface of the log, which makes the writes of the sequencer durable."""

from collections.abc import Callable, Sequence
from typing import Protocol

from quarterdeck.storage.errors import StorageError
from quarterdeck.storage.types import StoreEvent

__all__ = ["CompactDone", "Done", "Log"]

Done = Callable[[StorageError | None], None]
"""Called once on the event loop's thread, with the error or None."""

CompactDone = Callable[[int, StorageError | None], None]
"""As `Done`, with the revision up to which superseded events have been deleted."""


class Log(Protocol):
    """An append-only log of events. Only `commit`, `compact` and `close` change anything."""

    @property
    def is_costly(self) -> bool:
        """Whether a commit costs so much that it is worth waiting for more writes."""
        ...

    def commit(self, events: Sequence[StoreEvent], done: Done) -> None:
        """Make all of the events durable, or none."""

    async def read(self, after: int, limit: int) -> list[StoreEvent]:
        """A page of events after a revision, oldest first; empty if there are no more."""

    def compact(self, after: int, upto: int, done: CompactDone) -> None:
        """Delete a small part of the events superseded after one revision and up to another."""

    async def close(self) -> None:
        """Finish pending work and release all resources."""
