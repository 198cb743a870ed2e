"""A definition that is deleted goes after the last of its objects."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.server.core.timers import Timers
from quarterdeck.server.custom.definition import CLEANUP_FINALIZER
from quarterdeck.server.custom.finalizer import DEFINITIONS, PAGE_SIZE, DefinitionFinalizer
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Context, Object
from quarterdeck.storage import CommitFailed, Store, StoreEvent, StoreKey, Ticket, open_memory
from quarterdeck.storage.log import Done
from quarterdeck.storage.memory import MemoryLog
from quarterdeck.storage.retries import FIRST_RETRY_S, WriteRetries
from quarterdeck.testing.poll import eventually

NOW = datetime(2026, 11, 15, tzinfo=UTC)
NAME = "gadgets.stable.example.com"
DEFINITION = StoreKey(DEFINITIONS, "", NAME)
GADGET = StoreKey(NAME, "default", "a")


def put(store: Store, key: StoreKey, **metadata: object) -> Ticket:
    value: Object = {"metadata": {"name": key.name, "resourceVersion": "0", **metadata}}
    return store.put(key, lambda revision: kit_json.encode(value))


def mark(store: Store) -> Ticket:
    """Delete the definition, as a request does."""
    time = "2026-11-15T00:00:00Z"
    return put(store, DEFINITION, finalizers=[CLEANUP_FINALIZER], deletionTimestamp=time)


@asynccontextmanager
async def finalizing(clock: VirtualClock) -> AsyncIterator[Store]:
    store, timers = open_memory(), Timers(clock)
    context = Context(now=NOW, random=random.Random(1))
    DefinitionFinalizer(
        store,
        Registry(),
        lambda: context,
        track=lambda before, after: after,
        retries=WriteRetries(timers.call_later),
    ).start()
    async with Supervisor() as tasks:
        tasks.spawn(timers.run(), name="timers")
        yield store
        await store.close()


class Disk:
    """Refuses every batch that writes a gadget, while it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        self.refused = 0
        monkeypatch.setattr(MemoryLog, "commit", self.commit)

    def commit(self, events: Sequence[StoreEvent], done: Done) -> None:
        is_refused = self.is_full and any(each.key.resource == NAME for each in events)
        self.refused += is_refused
        error = CommitFailed("the disk is full") if is_refused else None
        asyncio.get_running_loop().call_soon(done, error)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


async def test_a_definition_waits_for_an_object_whose_write_is_under_way() -> None:
    async with finalizing(VirtualClock()) as store:
        await put(store, DEFINITION)
        marked = mark(store)
        await asyncio.sleep(0)  # the mark is being committed, and a request creates an object
        created = put(store, GADGET)
        await marked
        await created
        await eventually(lambda: store.get_pending(DEFINITION) is None)
        assert store.snapshot().count(NAME) == 0


async def test_objects_are_deleted_again_after_a_write_that_failed(disk: Disk) -> None:
    clock = VirtualClock()
    async with finalizing(clock) as store:
        await put(store, GADGET)
        await put(store, DEFINITION)
        disk.is_full = True
        await mark(store)
        await eventually(lambda: disk.refused == 1)
        await clock.advance(FIRST_RETRY_S)
        await eventually(lambda: disk.refused == 2)
        disk.is_full = False
        await clock.advance(2 * FIRST_RETRY_S)
        await eventually(lambda: store.get(DEFINITION) is None)
        assert store.snapshot().count(NAME) == 0


async def test_a_definition_ends_after_an_object_whose_creation_failed(disk: Disk) -> None:
    clock = VirtualClock()
    async with finalizing(clock) as store:
        await put(store, DEFINITION)
        disk.is_full = True
        marked = mark(store)
        await asyncio.sleep(0)  # the mark is being committed, and a request creates an object
        created = put(store, GADGET)
        await marked
        with pytest.raises(CommitFailed):
            await created
        await clock.advance(FIRST_RETRY_S)
        await eventually(lambda: store.get(DEFINITION) is None)


async def test_a_page_whose_deletion_failed_is_not_left_out(disk: Disk) -> None:
    clock = VirtualClock()
    async with finalizing(clock) as store:
        keys = [StoreKey(NAME, "default", f"g{each:04}") for each in range(PAGE_SIZE + 1)]
        for key in keys:
            put(store, key)
        await put(store, DEFINITION)
        disk.is_full = True
        await mark(store)
        await eventually(lambda: disk.refused == 1 and not store.statistics().writes_waiting)
        disk.is_full = False
        await put(store, keys[-1], labels={"a": "b"})  # its event leads to the second page
        await eventually(lambda: store.get(keys[-1]) is None)
        await clock.advance(FIRST_RETRY_S)
        await eventually(lambda: store.get(DEFINITION) is None)
        assert store.snapshot().count(NAME) == 0
