"""Decides writes one after the other, and groups them for the disk.

A write is decided in memory at once, against the newest decided state, and gets its revision. It
becomes visible only after the log has made it durable. While one batch is with the log the next
one gathers, so a slow disk makes bigger batches instead of a longer queue, and an idle one commits
a single write immediately. On a fast disk it is the commit that costs: the hand-over between two
threads, the transaction, the publication. So a batch is kept back while the loop adds to it, up to
a size at which one more write saves little. When the log refuses a batch, everything decided since
the last durable revision is undone; revisions already handed out are not used again.
"""

import asyncio
import bisect
import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence

from quarterdeck.storage.errors import (
    Closed,
    CommitFailed,
    Overloaded,
    RevisionConflict,
    StorageError,
)
from quarterdeck.storage.log import Log
from quarterdeck.storage.state import State
from quarterdeck.storage.types import ANY, Encode, Entry, StoreEvent, StoreKey

__all__ = ["Sequencer", "Ticket"]

MAX_BATCH = 1024
"""Writes per commit: bounds how long one commit keeps the next batch waiting."""

BATCH_GOAL = 16
"""A batch of this size is committed at once: waiting for more writes would save little, and with
many clients some writes are decided while others are synced."""

MAX_WAITING = 65_536
"""Writes that may wait for the log."""

MAX_BATCH_BYTES = 8 * 1024 * 1024
MAX_WAITING_BYTES = 256 * 1024 * 1024


class Ticket:
    """A decided write. Await it to know it is durable and published; any number may await it.

    Awaiting gives the new entry, or None for a deletion, and raises `CommitFailed` if the write
    was undone. Cancelling an await does not cancel the write.
    """

    __slots__ = ("_error", "_is_done", "_waiters", "event", "size", "unit")

    def __init__(self, event: StoreEvent, unit: int, size: int) -> None:
        self.event = event
        """The write itself; not yet public."""
        self.size = size
        """How many bytes the write adds."""
        self.unit = unit
        """Writes with the same unit become durable together; 0 means no unit."""
        self._is_done = False
        self._error: StorageError | None = None
        self._waiters: list[asyncio.Future[None]] | None = None

    @property
    def revision(self) -> int:
        """The revision the write has, if it becomes durable."""
        return self.event.revision

    @property
    def is_done(self) -> bool:
        """Whether the write is durable and published, or failed."""
        return self._is_done

    def __await__(self) -> Generator[object, None, Entry | None]:
        if not self._is_done:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            if self._waiters is None:
                self._waiters = []
            self._waiters.append(waiter)
            yield from waiter
        if self._error is not None:
            raise self._error
        return self.event.after

    def call_when_done(self, callback: Callable[[StorageError | None], None]) -> None:
        """Call back in a later turn, with the error if the write was undone; for who cannot wait.

        A write that is durable is published before the call.
        """
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter.add_done_callback(lambda _: callback(self._error))
        if self._is_done:
            waiter.set_result(None)
            return
        if self._waiters is None:
            self._waiters = []
        self._waiters.append(waiter)

    def resolve(self, error: StorageError | None) -> None:
        """Notify all waiters."""
        self._is_done = True
        self._error = error
        for waiter in self._waiters or ():
            if not waiter.done():
                waiter.set_result(None)
        self._waiters = None


class Sequencer:
    """Assigns revisions and drives the log; the only writer there is."""

    def __init__(
        self,
        state: State,
        log: Log,
        *,
        revision: int,
        facts: object,
        publish: Callable[[Sequence[StoreEvent]], None],
    ) -> None:
        self._state = state
        self._log = log
        self._publish = publish
        self._facts = facts
        self._next = revision + 1
        self._pending: dict[StoreKey, StoreEvent] = {}
        self._gathering: list[Ticket] = []
        self._committing: list[Ticket] = []
        self._bytes = 0
        self._is_scheduled = False
        self._previous_count = 0
        """How many writes had gathered when a commit was last put off."""
        self._last_batch = 0
        self._is_closed = False
        self._units = 0
        self._unit = 0
        self._idle: list[asyncio.Future[None]] = []

    @property
    def waiting(self) -> int:
        """How many writes are decided and not durable yet."""
        return len(self._gathering) + len(self._committing)

    def get(self, key: StoreKey) -> Entry | None:
        """The newest decided entry of a key, durable or not."""
        event = self._pending.get(key)
        return self._state.get(key) if event is None else event.after

    def has_pending(self, resource: str) -> bool:
        """Whether a write of a resource is decided and not durable yet."""
        return any(key.resource == resource for key in self._pending)

    def find_waiting(self, revision: int) -> Ticket | None:
        """The write of a revision, if it is decided and not durable yet."""
        for tickets in (self._committing, self._gathering):
            at = bisect.bisect_left(tickets, revision, key=lambda each: each.revision)
            if at < len(tickets) and tickets[at].revision == revision:
                return tickets[at]
        return None

    def put(self, key: StoreKey, encode: Encode, *, facts: object, expected: int | None) -> Ticket:
        """Decide to create or replace."""
        before = self._check(key, expected)
        revision = self._next
        value = encode(revision)
        created = before.created_revision if before is not None else revision
        entry = Entry(key, revision, created, value, self._facts if facts is None else facts)
        return self._append(StoreEvent(revision, key, before, entry), len(value))

    def delete(self, key: StoreKey, encode: Encode, *, expected: int | None) -> Ticket:
        """Decide to delete what is there."""
        before = self._check(key, expected)
        if before is None:
            raise RevisionConflict(key, expected, 0)
        tombstone = encode(self._next)
        event = StoreEvent(self._next, key, before=before, after=None, tombstone=tombstone)
        return self._append(event, len(tombstone))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the writes decided inside, without a wait between them, durable all or none."""
        self._units += 1
        self._unit = self._units
        try:
            yield
        finally:
            self._unit = 0

    async def drain(self) -> None:
        """Wait until all that was decided is durable or failed."""
        while self.waiting:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle.append(waiter)
            await waiter

    def close(self) -> None:
        """Refuse further writes; those decided go on."""
        self._is_closed = True

    def _check(self, key: StoreKey, expected: int | None) -> Entry | None:
        if self._is_closed:
            raise Closed("cannot write: the store is closed")
        if len(self._gathering) >= MAX_WAITING or self._bytes >= MAX_WAITING_BYTES:
            raise Overloaded(
                f"too many pending writes ({self.waiting}, {self._bytes} bytes): try again later"
            )
        event = self._pending.get(key)
        before = self._state.get(key) if event is None else event.after
        current = 0 if before is None else before.revision
        if expected is not ANY and expected != current:
            raise RevisionConflict(key, expected, current)
        return before

    def _append(self, event: StoreEvent, size: int) -> Ticket:
        # `encode` ran before this line: if it failed, no revision was used.
        ticket = Ticket(event, self._unit, size)
        self._next = event.revision + 1
        self._pending[event.key] = event
        self._gathering.append(ticket)
        self._bytes += size
        if not self._committing:
            if len(self._gathering) >= BATCH_GOAL and self._log.is_costly and not self._unit:
                self._commit()
            elif not self._is_scheduled:
                self._is_scheduled = True
                asyncio.get_running_loop().call_soon(self._commit_unless_growing)
        return ticket

    def _commit_unless_growing(self) -> None:
        """Commit the gathered writes, unless more have arrived since the last call."""
        self._is_scheduled = False
        count = len(self._gathering)
        if self._committing or not count:
            return
        is_alone = count == 1 and self._last_batch <= 1
        is_enough = count >= BATCH_GOAL or not self._log.is_costly
        if is_alone or is_enough or count == self._previous_count:
            self._commit()
            return
        # Requests that have arrived already are decided in the next turn: check again after it.
        self._previous_count = count
        self._is_scheduled = True
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._commit_unless_growing)

    def _commit(self) -> None:
        count = self._measure_batch()
        self._committing = self._gathering[:count]
        del self._gathering[:count]
        self._previous_count, self._last_batch = 0, count
        self._log.commit([ticket.event for ticket in self._committing], self._on_committed)

    def _measure_batch(self) -> int:
        size = 0
        for number, ticket in enumerate(self._gathering[:MAX_BATCH], start=1):
            size += ticket.size
            if size >= MAX_BATCH_BYTES:
                return self._find_unit_end(number)
        return self._find_unit_end(min(MAX_BATCH, len(self._gathering)))

    def _find_unit_end(self, count: int) -> int:
        """The length of a batch that does not cut through a unit."""
        unit = self._gathering[count - 1].unit
        while unit and count < len(self._gathering) and self._gathering[count].unit == unit:
            count += 1
        return count

    def _on_committed(self, error: StorageError | None) -> None:
        batch = self._committing
        if error is None:
            self._accept([ticket.event for ticket in batch])
        else:
            # Later writes were decided on top of this batch, so they fail too.
            batch = batch + self._gathering
            self._gathering = []
            self._pending.clear()
        self._committing = []
        self._bytes -= sum([ticket.size for ticket in batch])
        for number, ticket in enumerate(batch):
            ticket.resolve(_copy(error) if number and error else error)
        if self._gathering:
            self._commit_unless_growing()
        if not self.waiting:
            waiters, self._idle = self._idle, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def _accept(self, events: Sequence[StoreEvent]) -> None:
        for event in events:
            if event.after is None:
                self._state.remove(event.key)
            else:
                self._state.put(event.after)
            if self._pending.get(event.key) is event:
                del self._pending[event.key]
        self._publish(events)


def _copy(error: StorageError) -> StorageError:
    """A copy of the error for each ticket, so that tracebacks do not accumulate on one object."""
    fresh = type(error)(*error.args) if isinstance(error, CommitFailed) else error
    fresh.__cause__ = error.__cause__
    return fresh
