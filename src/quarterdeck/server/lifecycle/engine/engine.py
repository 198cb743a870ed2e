"""Runs the plans of controllers after writes to their resources, or after a requeue.

There is one queue with one entry per controller and key. A round takes all queued entries, plans
each on the committed state and decides its writes, and waits until all writes are durable before
the next round begins. So a plan always sees its own last writes, a thousand entries share a commit,
and an idle server runs nothing.
"""

import asyncio
from collections.abc import Sequence

from quarterdeck.kit.backoff import compute_doubled
from quarterdeck.meta.identity import GVK, GroupVersion
from quarterdeck.server.core import Core
from quarterdeck.server.core.durability import wait_for_revision
from quarterdeck.server.core.time_slice import TimeSlice
from quarterdeck.server.core.timers import Timer
from quarterdeck.server.core.worker import DECODING_SPEED
from quarterdeck.server.lifecycle.engine.actions import (
    Action,
    Apply,
    Create,
    Delete,
    Record,
    Remove,
    Requeue,
    Update,
)
from quarterdeck.server.lifecycle.engine.controller import Controller
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.refusals import (
    build_refusal_event,
    is_namespace_terminating,
)
from quarterdeck.server.lifecycle.engine.round_queue import Item, Later, RoundQueue
from quarterdeck.server.lifecycle.engine.view import (
    DecodedObjects,
    Large,
    LargeObject,
    ServedResource,
    StoreSource,
    View,
)
from quarterdeck.server.lifecycle.engine.writer import StaleObject, Writer
from quarterdeck.server.registry.codec import decode_value
from quarterdeck.server.registry.conversion import ConversionNeeded
from quarterdeck.storage import (
    Closed,
    Entry,
    RevisionConflict,
    StorageError,
    StoreEvent,
    StoreKey,
    Ticket,
)
from quarterdeck.storage.retries import FIRST_RETRY_S, LAST_RETRY_S
from quarterdeck.wire.status import ApiError

_LOAD_BATCH = 500
_STORE_WAIT_S = 1.0


class Engine:
    """Runs the controllers of one server, while `run` runs."""

    def __init__(self, core: Core, controllers: Sequence[Controller]) -> None:
        self._core = core
        self._controllers = tuple(controllers)
        self._source = StoreSource(core.store)
        self._index = Index()
        self._decoded = DecodedObjects(large_bytes=core.options.inline_bytes * DECODING_SPEED)
        self._writer = Writer(core, self._decoded)
        self._large: dict[Item, Large] = {}
        self._queue = RoundQueue()
        self._last_writes: dict[int, Item] = {}
        self._timers: dict[Item, Timer] = {}
        self._failures: dict[Item, int] = {}
        self._wake = asyncio.Event()
        self._quiet = asyncio.Event()
        self._is_behind = False
        self._concerned: dict[str, tuple[int, ...]] = {}

    async def run(self) -> None:
        """Follow the store until cancelled."""
        stop = self._core.store.subscribe(self._apply_events)
        try:
            await self._load()
            while True:
                self._wake.clear()
                while self._queue:
                    await self._run_round()
                self._quiet.set()
                await self._wake.wait()
        except Closed:
            return
        finally:
            stop()
            for timer in self._timers.values():
                timer.cancel()

    async def wait_until_idle(self) -> None:
        """Wait until the queue is empty and only timers are left."""
        await self._quiet.wait()

    def build_view(self) -> View:
        """Build the view of the committed state for the next plans."""
        return View(
            self._source,
            self._index,
            decoded=self._decoded,
            serves=self._serves,
            now=self._core.clock.now(),
            rng=self._core.random,
        )

    def statistics(self) -> dict[str, int]:
        """Return the numbers of queued, waiting and failing entries, and of rounds."""
        return {
            "queued": len(self._queue),
            "waiting": len(self._timers),
            "failing": len(self._failures),
            "rounds": self._queue.rounds,
        }

    # events and the queue ------------------------------------------------------------------------

    def _apply_events(self, events: Sequence[StoreEvent]) -> None:
        for event in events:
            self._index.apply(event)
            if event.after is None:
                self._decoded.forget(event.key)
            self._enqueue_event(event)

    def _enqueue_event(self, event: StoreEvent) -> None:
        done = self._last_writes.pop(event.revision, None) if self._last_writes else None
        for number in self._find_controllers(event.key.resource):
            for found in self._controllers[number].find_keys(event, self._index):
                if isinstance(found, Later):
                    self._queue.add_later((number, found.key))
                    self._wake_up()
                elif (number, found) != done:
                    self._enqueue((number, found))

    def _find_controllers(self, resource: str) -> tuple[int, ...]:
        """Find the controllers that handle writes of a resource."""
        found = self._concerned.get(resource)
        if found is None:
            found = self._concerned[resource] = tuple(
                number
                for number, controller in enumerate(self._controllers)
                if controller.resources is None or resource in controller.resources
            )
        return found

    def _enqueue(self, item: Item) -> None:
        self._queue.add(item)
        self._wake_up()

    def _wake_up(self) -> None:
        self._quiet.clear()
        self._wake.set()

    async def _load(self) -> None:
        """Index and enqueue everything that was stored before the start."""
        snapshot, store = self._core.store.snapshot(), self._core.store
        fresh: list[Entry] = []
        for resource in snapshot.resources():
            fresh.extend(snapshot.range(resource))
        for number, entry in enumerate(fresh):
            if number % _LOAD_BATCH == 0:
                await self._core.clock.sleep(0)
            if store.get(entry.key) is entry:
                self._index.load(entry)
        for number, entry in enumerate(fresh):
            if number % _LOAD_BATCH == 0:
                await self._core.clock.sleep(0)
            if store.get(entry.key) is entry:
                self._enqueue_event(StoreEvent(entry.revision, entry.key, before=None, after=entry))
        for number, controller in enumerate(self._controllers):
            for key in controller.initial:
                self._enqueue((number, key))

    # rounds and plans ----------------------------------------------------------------------------

    async def _run_round(self) -> None:
        items = self._queue.take()
        clock, slice_s = self._core.clock, self._core.options.slice_s
        tickets: list[tuple[Item, Ticket]] = []
        done: set[Item] = set()
        view, started = self.build_view(), clock.monotonic()
        for item in items:
            if await self._run_plan(item, view, tickets):
                done.add(item)
            if clock.monotonic() - started > slice_s:
                await clock.sleep(0)
                view, started = self.build_view(), clock.monotonic()
        failed: dict[Item, StorageError] = {}
        for item, ticket in tickets:
            try:
                await ticket
            except Closed:
                raise
            except StorageError as error:
                failed[item] = error
        for item, reason in failed.items():
            self._retry(item, reason)
        for item in done - failed.keys():
            self._failures.pop(item, None)
        self._last_writes.clear()
        if self._is_behind:
            self._is_behind = False
            await self._wait_for_store()

    async def _run_plan(self, item: Item, view: View, tickets: list[tuple[Item, Ticket]]) -> bool:
        """Plan an entry and decide its writes; return whether that succeeded."""
        number, key = item
        controller = self._controllers[number]
        later: float | None = None
        turns = TimeSlice(self._core)
        self._decoded.large = large = self._large.pop(item, {})
        try:
            for action in controller.plan(view, key):
                if isinstance(action, Requeue):
                    later = action.seconds if later is None else min(later, action.seconds)
                    continue
                ticket = await self._write(action, controller.manager)
                if ticket is not None:
                    tickets.append((item, ticket))
                    if isinstance(action, Update) and action.is_last:
                        self._last_writes[ticket.revision] = item
                await turns.yield_if_due()
        except LargeObject as error:
            await self._decode(item, large, error.entry)
        except (StaleObject, RevisionConflict):
            self._enqueue(item)
            self._is_behind = True
        except Closed:
            raise
        except (ApiError, StorageError) as error:
            self._retry(item, error)
        except Exception as error:
            self._report(controller, key, error)
            self._retry(item, error)
        else:
            self._set_timer(item, later)
            return True
        return False

    async def _decode(self, item: Item, large: Large, entry: Entry) -> None:
        """Decode an object in a thread, and plan again with it in the next round."""
        value = await self._core.worker.run_in_thread(lambda: decode_value(entry.value))
        self._large[item] = {**large, entry.key: (entry.revision, value)}
        self._enqueue(item)

    async def _write(self, action: Action, manager: str) -> Ticket | None:
        """Decide the write of an action.

        A policy may read params that a webhook has to convert first: it is decided again then.
        """
        try:
            return await self._decide(action, manager)
        except ConversionNeeded as needed:
            return await self._core.conversions.retry_with_conversions(
                lambda: self._decide(action, manager), needed
            )

    async def _decide(self, action: Action, manager: str) -> Ticket | None:
        match action:
            case Create():
                return await self._create(action, manager)
            case Update():
                return await self._writer.update(action, manager)
            case Apply():
                return await self._writer.apply(action, manager)
            case Delete():
                return await self._writer.delete(action)
            case Remove():
                return await self._writer.remove(action)
            case Record():
                return await self._record(action, manager)
            case Requeue():
                return None

    async def _create(self, action: Create, manager: str) -> Ticket | None:
        try:
            return await self._writer.create(action, manager)
        except ApiError as error:
            if (event := build_refusal_event(action, error)) is not None:
                await self._record(event, manager)
            raise

    async def _record(self, action: Record, manager: str) -> Ticket | None:
        """Write an Event; best effort: if it is refused, the plan continues."""
        try:
            return await self._writer.record(action, manager)
        except (ApiError, StaleObject):
            return None

    async def _wait_for_store(self) -> None:
        """Wait until the decided writes are published, so that the next plan sees them."""
        waiting = self._core.store.statistics().writes_waiting
        target = self._core.store.revision + waiting
        await wait_for_revision(self._core, target, timeout_s=_STORE_WAIT_S)
        await self._core.clock.sleep(0)

    def _set_timer(self, item: Item, seconds: float | None) -> None:
        """Set or cancel the one timer of an entry; a timer that is due earlier is kept."""
        timer = self._timers.get(item)
        if timer is not None:
            if seconds is not None and timer.due <= self._core.clock.monotonic() + seconds:
                return  # early enough: its plan sets the next timer
            timer.cancel()
            del self._timers[item]
        if seconds is None:
            return
        self._timers[item] = self._core.timers.call_later(seconds, lambda: self._on_timer(item))

    def _on_timer(self, item: Item) -> None:
        self._timers.pop(item, None)
        self._enqueue(item)

    def _retry(self, item: Item, error: Exception) -> None:
        """Retry with backoff; not after a 404, or a refusal because the namespace terminates."""
        if isinstance(error, ApiError) and (error.code == 404 or is_namespace_terminating(error)):
            self._failures.pop(item, None)
            return
        failures = self._failures[item] = self._failures.get(item, 0) + 1
        self._set_timer(item, compute_doubled(FIRST_RETRY_S, failures - 1, LAST_RETRY_S))

    def _report(self, controller: Controller, key: StoreKey, error: Exception) -> None:
        context = {
            "message": f"controller {controller.name}: reconcile of {key} failed",
            "exception": error,
        }
        asyncio.get_running_loop().call_exception_handler(context)

    def _serves(self, api_version: str, kind: str) -> ServedResource | None:
        try:
            group, version = GroupVersion.parse(api_version)
        except ValueError:
            return None  # people write references, and may write anything
        resource = self._core.registry.find_by_kind(GVK(group, version, kind))
        return (
            None if resource is None else ServedResource(resource.stored_name, resource.namespaced)
        )
