"""What the sequencer needs of the thing that makes writes durable."""

from collections.abc import Callable, Sequence
from typing import Protocol

from quarterdeck.storage.errors import StorageError
from quarterdeck.storage.types import StoreEvent

__all__ = ["Done", "Log"]

Done = Callable[[StorageError | None], None]
"""Called once on the event loop's thread, with what went wrong if something did."""


class Log(Protocol):
    """An append-only log of events. Only `commit`, `compact` and `close` change anything."""

    def commit(self, events: Sequence[StoreEvent], done: Done) -> None:
        """Make all of the events durable, or none."""

    async def read(self, after: int, limit: int) -> list[StoreEvent]:
        """Some events after a revision, oldest first; none when there are none."""

    async def compact(self, after: int, upto: int) -> int:
        """Forget a small part of what is superseded after one revision and up to another.

        Returns the revision up to which all is forgotten now.
        """

    async def close(self) -> None:
        """Finish what was asked for and let go of everything."""
