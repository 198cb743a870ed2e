"""Watches: exactly the committed events, in order, from where the watcher says."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from quarterdeck.storage import (
    Closed,
    Compacted,
    SlowWatcher,
    Store,
    StoreEvent,
    StoreKey,
    Watcher,
    open_sqlite,
)
from quarterdeck.storage.hub import SLICE

Open = Callable[..., Store]


async def put(store: Store, *keys: StoreKey) -> None:
    for ticket in [store.put(key, lambda r: b"%d" % r) for key in keys]:
        await ticket


async def received(watcher: Watcher, store: Store) -> list[StoreEvent]:
    events: list[StoreEvent] = []
    while watcher.position < store.revision:
        events += await anext(watcher)
    return events


def pod(name: str, namespace: str = "default") -> StoreKey:
    return StoreKey("pods", namespace, name)


async def test_a_watch_begins_after_its_revision(stores: Open) -> None:
    store = stores()
    await put(store, pod("a"), pod("b"), pod("c"))
    with store.watch("pods", after=2) as watcher:
        assert [event.key.name for event in await anext(watcher)] == ["b", "c"]
        assert watcher.position == store.revision == 4
        await put(store, pod("d"))
        assert [event.key.name for event in await anext(watcher)] == ["d"]
    assert store.statistics().watchers == 0
    await store.close()


@pytest.mark.parametrize(
    ("resource", "namespace", "expected"),
    [
        pytest.param(None, None, ["a", "b", "c"], id="everything"),
        pytest.param("pods", None, ["a", "b"], id="one resource"),
        pytest.param("pods", "x", ["b"], id="one namespace"),
        pytest.param(None, "x", ["b", "c"], id="one namespace of all resources"),
    ],
)
async def test_a_watch_delivers_events_of_its_keys_only(
    stores: Open, resource: str | None, namespace: str | None, expected: list[str]
) -> None:
    store = stores()
    keys = [pod("a"), pod("b", "x"), StoreKey("jobs", "x", "c")]
    live = store.watch(resource, namespace=namespace, after=store.revision)
    await put(store, *keys)
    past = store.watch(resource, namespace=namespace, after=1)
    for watcher in (live, past):
        events: list[StoreEvent] = []
        while len(events) < len(expected):
            events += await anext(watcher)
        assert [event.key.name for event in events] == expected
        assert watcher.position == store.revision
        watcher.close()
    await store.close()


async def test_a_watch_from_the_future_stays_silent_until_then(stores: Open) -> None:
    store = stores()
    watcher = store.watch(None, after=3)
    await put(store, pod("a"), pod("b"), pod("c"))
    assert [event.revision for event in await anext(watcher)] == [4]
    watcher.close()
    await store.close()


async def test_a_waiting_watcher_is_woken_by_closing(stores: Open) -> None:
    store = stores()
    watcher = store.watch(None, after=store.revision)
    waiting = asyncio.ensure_future(anext(watcher, None))
    await asyncio.sleep(0)
    watcher.close()
    assert await waiting is None
    await store.close()


async def test_a_finished_watcher_hands_over_what_happened_and_ends(stores: Open) -> None:
    store = stores()
    live, idle = [store.watch(resource, after=store.revision) for resource in ("pods", "jobs")]
    await put(store, pod("a"), pod("b"))
    live.finish()
    idle.finish()
    await put(store, pod("c"))
    assert [event.key.name for batch in [await anext(live)] for event in batch] == ["a", "b"]
    for watcher in (live, idle):
        with pytest.raises(StopAsyncIteration):
            await anext(watcher)
    assert store.statistics().watchers == 0
    await store.close()


async def test_finishing_wakes_a_watcher_that_waits(stores: Open) -> None:
    store = stores()
    watcher = store.watch("pods", after=store.revision)
    asyncio.get_running_loop().call_soon(watcher.finish)
    assert [batch async for batch in watcher] == []
    await store.close()


async def test_a_finished_watcher_reads_the_log_to_its_end(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "log.db", history_events=10)
    await put(store, *(pod(f"p{number}") for number in range(30)))
    watcher = store.watch("pods", after=1)
    watcher.finish()
    seen = [event.revision async for batch in watcher for event in batch]
    assert seen == list(range(2, 32))
    assert store.statistics().watchers == 0
    await store.close()


async def test_readers_of_the_log_end_when_the_store_is_closed(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "log.db", history_events=10)
    await put(store, *(pod(f"p{number}") for number in range(300)))
    watcher = store.watch("pods", after=1)
    assert len(await anext(watcher)) < 290
    await store.close()
    async with asyncio.timeout(30):
        assert [batch async for batch in watcher] == []
        with pytest.raises(Closed):
            await store.snapshot_at(5)


async def test_a_slow_watcher_is_dropped_and_may_resume(stores: Open) -> None:
    store = stores()
    slow = store.watch(None, after=store.revision, buffer=5)
    quick = store.watch(None, after=store.revision, buffer=5)
    seen: list[StoreEvent] = []
    for number in range(10):
        await put(store, pod(f"p{number}"))
        seen += await anext(quick)
    assert len(seen) == 10
    with pytest.raises(SlowWatcher):
        await anext(slow)
    assert slow.position == 1
    assert store.statistics().watchers_dropped == 1
    resumed = store.watch(None, after=slow.position)
    again = await received(resumed, store)
    assert [event.revision for event in again] == [event.revision for event in seen]
    for watcher in (quick, resumed, slow):
        watcher.close()
    assert store.statistics().watchers == 0
    await store.close()


async def test_a_watch_into_compacted_history_is_refused(stores: Open) -> None:
    store = stores()
    await put(store, *(pod(f"p{number}") for number in range(10)))
    await store.compact(6)
    with pytest.raises(Compacted):
        store.watch(None, after=5)
    with store.watch(None, after=6) as watcher:
        assert [event.revision for event in await received(watcher, store)] == [7, 8, 9, 10, 11]
    await store.close()


async def test_thousands_of_watchers_are_served(stores: Open) -> None:
    store = stores()
    watchers = [store.watch("pods", after=store.revision) for _ in range(2000)]
    await put(store, pod("a"), pod("b"))
    for watcher in watchers:
        assert len(await received(watcher, store)) == 2
        watcher.close()
    await store.close()


async def test_a_watch_far_behind_gives_others_a_turn_between_slices(stores: Open) -> None:
    store = stores()
    await put(store, *[pod(str(number)) for number in range(2 * SLICE + 1)])
    await assert_sliced(store)


async def assert_sliced(store: Store) -> None:
    """What is behind comes in order, in slices; whoever is ready runs between any two of them."""
    loop, seen = asyncio.get_running_loop(), list[int]()
    with store.watch("pods", after=1) as watcher:
        while watcher.position < store.revision:
            turn = asyncio.Event()
            loop.call_soon(turn.set)
            batch = await anext(watcher)
            assert turn.is_set() or not seen
            assert len(batch) <= SLICE
            seen += [event.revision for event in batch]
    assert seen == list(range(2, store.revision + 1))
    await store.close()


async def test_a_watch_before_what_is_in_memory_gives_others_turns_too(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "state.db", history_events=SLICE + 10)
    await put(store, *[pod(str(number % 7)) for number in range(4 * SLICE)])
    assert store.statistics().history_events < 2 * SLICE
    await assert_sliced(store)
