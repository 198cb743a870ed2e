"""Writes: decided at once, durable when awaited, published in order."""

import asyncio
from collections.abc import Callable

import pytest

from quarterdeck.storage import Closed, RevisionConflict, Store, StoreEvent, StoreKey

Open = Callable[..., Store]
KEY = StoreKey("pods", "default", "a")


def value(revision: int) -> bytes:
    return b'{"resourceVersion":"%d"}' % revision


async def test_a_write_is_pending_until_awaited(stores: Open) -> None:
    store = stores()
    ticket = store.put(KEY, value)
    assert store.get(KEY) is None
    pending = store.get_pending(KEY)
    assert pending is not None and pending.revision == ticket.revision
    assert not ticket.is_done
    entry = await ticket
    assert entry is store.get(KEY) and entry is pending
    assert entry.value == value(entry.revision)
    assert store.revision == entry.revision == entry.created_revision
    await store.close()


async def test_an_update_keeps_the_revision_of_creation(stores: Open) -> None:
    store = stores()
    first = await store.put(KEY, value, expected=0)
    assert first is not None
    second = await store.put(KEY, value, expected=first.revision)
    assert second is not None
    assert second.revision > first.revision
    assert second.created_revision == first.created_revision
    await store.close()


async def test_conflicts_are_decided_against_pending_writes(stores: Open) -> None:
    store = stores()
    ticket = store.put(KEY, value, expected=0)
    with pytest.raises(RevisionConflict) as caught:
        store.put(KEY, value, expected=0)
    assert caught.value.current == ticket.revision
    await ticket
    with pytest.raises(RevisionConflict):
        store.put(KEY, value, expected=ticket.revision - 1)
    with pytest.raises(RevisionConflict):
        store.delete(KEY, value, expected=ticket.revision + 1)
    await store.close()


async def test_deleting_what_is_absent_is_a_conflict(stores: Open) -> None:
    store = stores()
    with pytest.raises(RevisionConflict) as caught:
        store.delete(KEY, value)
    assert caught.value.current == 0
    assert "absent" in str(caught.value)
    await store.close()


async def test_a_deletion_has_a_revision_and_a_tombstone(stores: Open) -> None:
    store = stores()
    created = await store.put(KEY, value)
    seen: list[StoreEvent] = []
    store.subscribe(seen.extend)
    ticket = store.delete(KEY, value)
    assert await ticket is None
    assert store.get(KEY) is None
    (event,) = seen
    assert event.after is None and event.before is created
    assert event.tombstone == value(event.revision)
    assert event.revision == store.revision == ticket.revision
    again = await store.put(KEY, value, expected=0)
    assert again is not None and again.created_revision == again.revision > event.revision
    await store.close()


async def test_a_failing_encoder_decides_nothing(stores: Open) -> None:
    store = stores()

    def broken(revision: int) -> bytes:
        raise ValueError(f"no encoding for {revision}")

    with pytest.raises(ValueError):
        store.put(KEY, broken)
    assert store.get_pending(KEY) is None
    entry = await store.put(KEY, value)
    assert entry is not None and entry.revision == 2
    await store.close()


async def test_tickets_resolve_in_order_after_everybody_was_told(stores: Open) -> None:
    store = stores()
    order: list[tuple[str, int]] = []
    store.subscribe(lambda events: order.extend(("told", event.revision) for event in events))

    async def write(number: int) -> None:
        entry = await store.put(StoreKey("pods", "default", f"p{number}"), value)
        assert entry is not None
        order.append(("done", entry.revision))

    await asyncio.gather(*(write(number) for number in range(50)))
    done = [revision for what, revision in order if what == "done"]
    assert done == sorted(done) and len(done) == 50
    for revision in done:
        assert order.index(("told", revision)) < order.index(("done", revision))
    await store.close()


async def test_cancelling_an_await_does_not_cancel_the_write(stores: Open) -> None:
    store = stores()
    ticket = store.put(KEY, value)

    async def wait() -> None:
        await ticket

    task = asyncio.ensure_future(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await ticket is store.get(KEY)
    assert store.get(KEY) is not None
    await store.close()


async def test_a_failing_subscriber_harms_nobody(stores: Open) -> None:
    store = stores()
    complaints: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context["exception"]))
    seen: list[StoreEvent] = []

    def broken(events: object) -> None:
        raise RuntimeError("subscriber broke")

    store.subscribe(broken)
    stop = store.subscribe(seen.extend)
    await store.put(KEY, value)
    stop()
    await store.put(KEY, value)
    assert len(seen) == 1
    assert [str(complaint) for complaint in complaints] == ["subscriber broke"] * 2
    await store.close()


async def test_a_subscriber_may_write(stores: Open) -> None:
    store = stores()
    echo = StoreKey("echoes", "", "a")

    def react(events: object) -> None:
        if store.get_pending(echo) is None:
            store.put(echo, value)

    store.subscribe(react)
    await store.put(KEY, value)
    with store.watch("echoes", after=1) as watcher:
        assert [event.key for event in await anext(watcher)] == [echo]
    await store.close()


async def test_facts_are_derived_once_and_when_asked_for(stores: Open) -> None:
    calls: list[str] = []

    def derive(resource: str, stored: bytes) -> object:
        calls.append(resource)
        return len(stored)

    store = stores(derive=derive)
    entry = await store.put(KEY, lambda _: b"12345")
    given = await store.put(KEY, lambda _: b"1", facts="given")
    assert entry is not None and given is not None
    assert calls == []
    assert (entry.facts, entry.facts, given.facts) == (5, 5, "given")
    assert calls == ["pods"]
    await store.close()


async def test_closing_finishes_what_was_decided_and_refuses_more(stores: Open) -> None:
    store = stores()
    tickets = [store.put(StoreKey("pods", "", f"p{n}"), value) for n in range(20)]
    watcher = store.watch(None, after=store.revision)
    await store.close()
    await store.close()
    assert all(ticket.is_done for ticket in tickets)
    with pytest.raises(Closed):
        store.put(KEY, value)
    with pytest.raises(StopAsyncIteration):
        await anext(watcher)
    with pytest.raises(Closed):
        store.watch(None, after=store.revision)
