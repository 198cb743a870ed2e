"""What the sequencer needs of the thing that makes writes durable."""

from collections.abc import Callable, Sequence
from typing import Protocol

from quarterdeck.storage.errors import StorageError
from quarterdeck.storage.types import StoreEvent

__all__ = ["Compacting", "Done", "Log"]

Done = Callable[[StorageError | None], None]
"""Called once on the event loop's thread, with what went wrong if something did."""

Compacting = Callable[[int, StorageError | None], None]
"""The same, with the revision up to which everything superseded is gone now."""


class Log(Protocol):
    """An append-only log of events. Only `commit`, `compact` and `close` change anything."""

    def commit(self, events: Sequence[StoreEvent], done: Done) -> None:
        """Make all of the events durable, or none."""

    async def read(self, after: int, limit: int) -> list[StoreEvent]:
        """Some events after a revision, oldest first; none when there are none."""

    def compact(self, after: int, upto: int, done: Compacting) -> None:
        """Forget a small part of what is superseded after one revision and up to another."""

    async def close(self) -> None:
        """Finish pending work and release all resources."""
