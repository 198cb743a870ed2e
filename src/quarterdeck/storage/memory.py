"""A store without persistence: for tests and for `--in-memory`."""

import asyncio
from collections.abc import Sequence

from quarterdeck.storage.history import History
from quarterdeck.storage.log import CompactDone, Done
from quarterdeck.storage.state import Snapshot, State
from quarterdeck.storage.store import Store
from quarterdeck.storage.types import Derive, StoreEvent

__all__ = ["open_memory"]

HISTORY_EVENTS = 10_000
HISTORY_BYTES = 32 * 1024 * 1024


class MemoryLog:
    """A log that stores nothing: writes count as durable at once, and dropped history is gone."""

    is_costly = False

    def commit(self, events: Sequence[StoreEvent], done: Done) -> None:
        """Report success, but only after the caller has returned to the event loop."""
        asyncio.get_running_loop().call_soon(done, None)

    async def read(self, after: int, limit: int) -> list[StoreEvent]:
        """No event is older than those in memory."""
        return []

    def compact(self, after: int, upto: int, done: CompactDone) -> None:
        """Report success: there are no events to delete."""
        asyncio.get_running_loop().call_soon(done, upto, None)

    async def close(self) -> None:
        """Nothing to release."""


def open_memory(
    *,
    derive: Derive | None = None,
    history_events: int = HISTORY_EVENTS,
    history_bytes: int = HISTORY_BYTES,
    source: Snapshot | None = None,
) -> Store:
    """A store at revision 1 and empty; older events than the given bounds are compacted away.

    With `source` it begins with the entries of that snapshot, at its revision.
    """
    revision, state = 1, State()
    if source is not None:
        entries = [entry for name in source.resources() for entry in source.range(name)]
        revision, state = source.revision, State.load(entries)
    history = History(floor=revision, max_events=history_events, max_bytes=history_bytes)
    return Store(
        MemoryLog(),
        state=state,
        history=history,
        revision=revision,
        compacted=revision,
        derive=derive,
    )
