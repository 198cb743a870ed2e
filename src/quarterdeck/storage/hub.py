"""Fan-out of committed events to watchers.

Publishing never waits: a watcher has a bounded buffer, and is dropped if an event does not fit
into it: its consumer gets `SlowWatcher` and resumes after the last revision it received. A consumer
that is behind gets the missed events in slices, and other tasks run between them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Self

from quarterdeck.storage.errors import SlowWatcher, StorageError
from quarterdeck.storage.types import StoreEvent

__all__ = ["Hub", "Watcher"]

SLICE = 128
"""The most events a consumer is handed at once: a few milliseconds of work for a server."""

CatchUp = Callable[[int], Awaitable[list[StoreEvent]]]
"""Older events after a revision, read from the log; none when the watcher may be attached."""


class Watcher:
    """An asynchronous iterator of batches of events, in revision order, for one consumer.

    Close it when done; it is a context manager too.
    """

    def __init__(
        self,
        hub: "Hub",
        *,
        resource: str | None,
        namespace: str | None,
        after: int,
        buffer: int,
        catch_up: CatchUp | None = None,
    ) -> None:
        self.resource = resource
        self.namespace = namespace
        self._hub = hub
        self._position = after
        self._limit = buffer
        self._catch_up = catch_up
        self._backlog: list[StoreEvent] = []
        self._buffer: list[StoreEvent] = []
        self._error: StorageError | None = None
        self._is_attached = False
        self._is_closed = False
        self._is_finished = False
        self._owes_turn = False
        self._waiter: asyncio.Future[None] | None = None

    @property
    def position(self) -> int:
        """The revision up to which the consumer has received all events of its watch."""
        if self._is_attached and not self._backlog and not self._buffer:
            return max(self._position, self._hub.revision)
        return self._position

    @property
    def buffered(self) -> int:
        """How many events wait for the consumer."""
        return len(self._backlog) + len(self._buffer)

    def close(self) -> None:
        """Stop watching; an iteration that waits ends. Closing twice is fine."""
        self._is_closed = True
        self._leave()

    def finish(self) -> None:
        """Take no more events; the iteration ends after those that happened until now."""
        self._is_finished = True
        self._hub.detach(self)
        self._wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[StoreEvent]:
        while True:
            if self._error is not None:
                raise self._error
            if self._is_closed:
                raise StopAsyncIteration
            if self._catch_up is not None:
                batch = await self._read_older(self._catch_up)
            elif self._owes_turn:
                batch = await self._yield_turn()
            elif self._backlog or self._buffer:
                batch = self._take()
            elif self._is_finished:
                raise StopAsyncIteration
            else:
                batch = await self._wait()
            if batch:
                self._position = max(self._position, batch[-1].revision)
                return batch

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start_live(self, recent: Callable[[int], list[StoreEvent]]) -> None:
        """Take the events since the position; later ones come from the hub."""
        self._owes_turn = self._catch_up is not None
        self._catch_up = None
        self._is_attached = True
        self._backlog = self._select_relevant(recent(self._position))

    def offer(self, events: Sequence[StoreEvent]) -> bool:
        """Queue newly committed events; False if the buffer is full, which ends the watcher."""
        relevant = self._select_relevant(events)
        if not relevant:
            return True
        if len(self._buffer) + len(relevant) > self._limit and self._buffer:
            self._fail(SlowWatcher(self._limit))
            return False
        self._buffer.extend(relevant)
        self._wake()
        return True

    def _select_relevant(self, events: Sequence[StoreEvent]) -> list[StoreEvent]:
        resource, namespace, position = self.resource, self.namespace, self._position
        return [
            event
            for event in events
            if event.revision > position
            and (resource is None or event.key.resource == resource)
            and (namespace is None or event.key.namespace == namespace)
        ]

    async def _read_older(self, catch_up: CatchUp) -> list[StoreEvent]:
        try:
            page = await catch_up(self._position)
        except StorageError as error:
            self._fail(error)
            raise
        if not page:
            if not self._is_closed:
                self._hub.attach(self)
            if self._is_finished:
                self._hub.detach(self)
            return []
        batch = self._select_relevant(page)
        self._position = page[-1].revision
        return batch

    def _take(self) -> list[StoreEvent]:
        if not self._backlog:
            self._backlog, self._buffer = self._buffer, []
        batch = self._backlog
        if len(batch) > SLICE:
            batch, self._backlog = batch[:SLICE], batch[SLICE:]
            self._owes_turn = True
        else:
            self._backlog = []
        return batch

    def _fail(self, error: StorageError) -> None:
        self._error = error
        self._leave()

    def _leave(self) -> None:
        self._position = self._position if self.buffered else self.position
        self._is_attached = False
        self._backlog, self._buffer = [], []
        self._hub.detach(self)
        self._wake()

    async def _wait(self) -> list[StoreEvent]:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        return []

    async def _yield_turn(self) -> list[StoreEvent]:
        """Let other tasks run before the next slice."""
        self._owes_turn = False
        asyncio.get_running_loop().call_soon(self._wake)
        return await self._wait()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Hub:
    """The live watchers by resource; delivers committed events to them."""

    def __init__(self, revision: int, recent: Callable[[int], list[StoreEvent]]) -> None:
        self.revision = revision
        """The last revision published."""
        self._recent = recent
        self._watchers: dict[str | None, dict[Watcher, None]] = {}
        self._dropped = 0
        self._is_closed = False

    def attach(self, watcher: Watcher) -> None:
        """Start live delivery right after the watcher's position; end it if the hub is closed."""
        if self._is_closed:
            watcher.close()
            return
        watcher.start_live(self._recent)
        self._watchers.setdefault(watcher.resource, {})[watcher] = None

    def detach(self, watcher: Watcher) -> None:
        """Remove a watcher."""
        group = self._watchers.get(watcher.resource)
        if group is not None:
            group.pop(watcher, None)
            if not group:
                del self._watchers[watcher.resource]

    def publish(self, events: Sequence[StoreEvent]) -> None:
        """Deliver committed events to the watchers concerned, without waiting for them."""
        self.revision = events[-1].revision
        if not self._watchers:
            return
        by_resource: dict[str | None, list[StoreEvent]] = {}
        for event in events:
            by_resource.setdefault(event.key.resource, []).append(event)
        by_resource[None] = list(events)
        for resource, relevant in by_resource.items():
            for watcher in list(self._watchers.get(resource, ())):
                self._dropped += not watcher.offer(relevant)

    def close(self) -> None:
        """End all watchers, and those that are still reading older events when they are done."""
        self._is_closed = True
        for group in list(self._watchers.values()):
            for watcher in list(group):
                watcher.close()

    @property
    def watchers(self) -> int:
        """How many watchers receive live events."""
        return sum(len(group) for group in self._watchers.values())

    @property
    def dropped(self) -> int:
        """How many watchers were dropped for being slow."""
        return self._dropped
