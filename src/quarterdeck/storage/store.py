"""The store: one face over state, history, hub, sequencer and log."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from quarterdeck.storage.compaction import Compactor
from quarterdeck.storage.errors import Closed, Compacted, FutureRevision
from quarterdeck.storage.history import History
from quarterdeck.storage.hub import SLICE, Hub, Watcher
from quarterdeck.storage.log import Log
from quarterdeck.storage.sequencer import Sequencer, Ticket
from quarterdeck.storage.state import Snapshot, State
from quarterdeck.storage.types import ANY, Derive, Encode, Entry, StoreEvent, StoreKey, defer_facts

__all__ = ["Statistics", "Store", "Subscriber"]

Subscriber = Callable[[Sequence[StoreEvent]], None]
"""Called with each committed batch, at once and in order; must not raise or block."""

WATCH_BUFFER = 10_000
READ_PAGE = SLICE
"""Events read from the log at once: the thread that reads them keeps the others from running."""
PAST_SNAPSHOTS = 16


class Statistics(NamedTuple):
    """What a store holds at the moment."""

    revision: int
    compacted: int
    history_events: int
    history_bytes: int
    watchers: int
    watchers_dropped: int
    writes_waiting: int


class Store:
    """A revisioned map from keys to bytes that can be read at a revision and watched after one.

    Belongs to one event loop: all methods are called on its thread. Reads never touch the disk,
    except `snapshot_at` and watches that start before what is kept in memory.
    """

    def __init__(
        self,
        log: Log,
        *,
        state: State,
        history: History,
        revision: int,
        compacted: int,
        retain: int | None = None,
        derive: Derive | None = None,
    ) -> None:
        self._log = log
        self._state = state
        self._history = history
        self._keeps_log = retain is not None
        self._revision = revision
        self._compactor = Compactor(log, compacted=compacted, retain=retain, forget=self._forget)
        self._hub = Hub(revision, history.after)
        self._subscribers: dict[int, Subscriber] = {}
        self._subscriptions = 0
        self._present: Snapshot | None = None
        self._past: OrderedDict[int, Snapshot] = OrderedDict()
        self._is_closed = False
        self._sequencer = Sequencer(
            state, log, revision=revision, facts=defer_facts(derive), publish=self._publish
        )
        self.get_pending: Callable[[StoreKey], Entry | None] = self._sequencer.get
        """Returns the newest decided entry of a key; what the next write will be compared with."""

    @property
    def revision(self) -> int:
        """The last revision that is durable and published."""
        return self._revision

    @property
    def compacted(self) -> int:
        """The oldest revision that can be read at or watched after."""
        if self._keeps_log:
            return self._compactor.target
        return max(self._compactor.target, self._history.floor)

    def get(self, key: StoreKey) -> Entry | None:
        """The durable entry of a key, if there is one."""
        return self._state.get(key)

    def has_pending(self, resource: str) -> bool:
        """Whether a write of a resource is decided and not published yet."""
        return self._sequencer.has_pending(resource)

    def find_waiting(self, revision: int) -> Ticket | None:
        """The write of a revision, if it is decided and not durable yet.

        None also for a write that was undone: revisions are not used again, but left out.
        """
        return self._sequencer.find_waiting(revision)

    def put(
        self, key: StoreKey, encode: Encode, *, facts: object = None, expected: int | None = ANY
    ) -> Ticket:
        """Decide now to create or replace an entry; await the ticket to have it durable.

        `encode` is called at once with the revision of the write. `expected` is the revision the
        key must be at, 0 if it must not exist. Without `facts` they are derived on first use.

        Raises:
            RevisionConflict: if the key is at another revision; nothing was decided.
            Overloaded: if too many writes wait already.
        """
        return self._sequencer.put(key, encode, facts=facts, expected=expected)

    def delete(self, key: StoreKey, encode: Encode, *, expected: int | None = ANY) -> Ticket:
        """Decide now to delete an entry; `encode` gives the last bytes watchers see.

        Raises:
            RevisionConflict: if the key is absent or at another revision.
            Overloaded: if too many writes wait already.
        """
        return self._sequencer.delete(key, encode, expected=expected)

    def transaction(self) -> AbstractContextManager[None]:
        """Make the writes decided inside durable all or none; nothing may be awaited inside."""
        return self._sequencer.transaction()

    def snapshot(self, revision: int | None = None) -> Snapshot:
        """The state now, in O(1), or at a revision whose later events are still in memory.

        Raises:
            Compacted: if the revision is too old; `snapshot_at` may still reach it.
            FutureRevision: if it has not happened yet.
        """
        if revision is None or revision == self._revision:
            if self._present is None:
                self._present = self._state.snapshot(self._revision)
            return self._present
        self._check_readable(revision)
        if revision in self._past:
            self._past.move_to_end(revision)
            return self._past[revision]
        if revision < self._history.floor:
            raise Compacted(revision, self._history.floor)
        return self._rewind(revision, self._history.after(revision))

    async def snapshot_at(self, revision: int) -> Snapshot:
        """The state at any revision that is not compacted; reads the log if necessary.

        Raises:
            Compacted, FutureRevision: as `snapshot` does.
            Closed: if the store is closed while the log is read.
        """
        self._check_readable(revision)
        if revision >= self._history.floor or revision in self._past:
            return self.snapshot(revision)
        older: list[StoreEvent] = []
        while (position := older[-1].revision if older else revision) < self._history.floor:
            self._check_open()
            page = await self._log.read(position, READ_PAGE)
            self._check_readable(revision)
            if not page:
                break
            older.extend(page)
        newest = older[-1].revision if older else revision
        return self._rewind(revision, older + self._history.after(newest))

    def watch(
        self,
        resource: str | None,
        *,
        after: int,
        namespace: str | None = None,
        buffer: int = WATCH_BUFFER,
    ) -> Watcher:
        """All events after a revision, of one resource or of all; it may lie in the future.

        A consumer that falls more than `buffer` events behind is dropped with `SlowWatcher`.

        Raises:
            Compacted: if events after that revision are gone.
        """
        self._check_open()
        if after < self.compacted:
            raise Compacted(after, self.compacted)
        is_old = after < self._history.floor
        watcher = Watcher(
            self._hub,
            resource=resource,
            namespace=namespace,
            after=after,
            buffer=buffer,
            catch_up=self._read_older if is_old else None,
        )
        if not is_old:
            self._hub.attach(watcher)
        return watcher

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Call back with each committed batch, before tickets resolve; returns how to stop."""
        number = self._subscriptions = self._subscriptions + 1
        self._subscribers[number] = callback
        return lambda: self._subscribers.pop(number, None) and None

    async def compact(self, before: int) -> None:
        """Compact the history before a revision; the state at it stays readable.

        Raises:
            FutureRevision: if the revision has not happened yet.
        """
        self._check_open()
        if before > self._revision:
            raise FutureRevision(before, self._revision)
        await self._compactor.compact(before)

    async def close(self) -> None:
        """Let decided writes become durable, end watchers, release all resources."""
        if self._is_closed:
            return
        self._is_closed = True
        self._sequencer.close()
        await self._sequencer.drain()
        self._compactor.close()
        self._hub.close()
        await self._log.close()

    def statistics(self) -> Statistics:
        """Figures for metrics and tests."""
        return Statistics(
            revision=self._revision,
            compacted=self.compacted,
            history_events=len(self._history),
            history_bytes=self._history.bytes,
            watchers=self._hub.watchers,
            watchers_dropped=self._hub.dropped,
            writes_waiting=self._sequencer.waiting,
        )

    def _publish(self, events: Sequence[StoreEvent]) -> None:
        self._revision = events[-1].revision
        self._present = None
        self._history.extend(events)
        self._hub.publish(events)
        for subscriber in list(self._subscribers.values()):
            try:
                subscriber(events)
            except Exception as error:
                # The write is durable: a listener must not undo it or stop the others.
                context = {"message": "a storage subscriber failed", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)
        self._compactor.compact_if_due(self._revision)

    def _forget(self, before: int) -> None:
        self._history.forget(before)
        for revision in [revision for revision in self._past if revision < before]:
            del self._past[revision]

    def _check_open(self) -> None:
        if self._is_closed:
            raise Closed("the store is closed")

    def _check_readable(self, revision: int) -> None:
        if revision > self._revision:
            raise FutureRevision(revision, self._revision)
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)

    def _rewind(self, revision: int, events: Sequence[StoreEvent]) -> Snapshot:
        past = self._state.rewind(events, revision)
        self._past[revision] = past
        while len(self._past) > PAST_SNAPSHOTS:
            self._past.popitem(last=False)
        return past

    async def _read_older(self, position: int) -> list[StoreEvent]:
        if self._is_closed:
            return []
        if position < self.compacted:
            raise Compacted(position, self.compacted)
        if position >= self._history.floor:
            return []
        page = await self._log.read(position, READ_PAGE)
        if position < self.compacted:
            raise Compacted(position, self.compacted)
        return page
