"""What only the store in the data directory does: it survives, and a full disk refuses."""

import asyncio
from pathlib import Path

import pytest

from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.hubstate.errors import StoreRefused, StoreUnavailable
from quarterdeck.hubstate.writes import AddMembers, Publish, SetFields, SetValue
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.storage import open_sqlite


async def test_what_was_acknowledged_is_there_after_a_restart(tmp_path: Path) -> None:
    clock = VirtualClock()
    store = open_embedded(tmp_path / "hub.db", clock=clock)
    await store.commit([SetValue("a", b"1", 50), SetValue("b", b"2"), AddMembers("m", ("x",))])
    await store.aclose()
    await clock.advance(60)
    store = open_embedded(tmp_path / "hub.db", clock=clock)
    assert (await store.get("a"), await store.get("b")) == (None, b"2")
    await store.commit([SetFields("h", {"a": "1"})])
    assert await store.list_keys("") == ["b", "h", "m"]
    await store.aclose()


async def test_expired_keys_leave_the_disk_with_the_first_commit_that_succeeds(
    tmp_path: Path,
) -> None:
    clock, path = VirtualClock(), tmp_path / "hub.db"
    store = open_embedded(path, clock=clock)
    await store.commit([SetValue("often", b"1", 10), SetValue("once", b"1", 10)])
    await clock.advance(5)
    await store.commit([SetValue("often", b"2", 10)])
    await clock.advance(6)
    with pytest.raises(StoreRefused, match="holds a text"):
        await store.commit([AddMembers("often", ("x",))])
    await store.commit([AddMembers("other", ("x",))])
    assert await store.list_keys("") == ["often", "other"]
    await clock.advance(6)
    await store.commit([AddMembers("other", ("y",))])
    await store.aclose()
    plain = open_sqlite(path)
    assert [each.key.name for each in plain.snapshot().range("hub")] == ["other"]
    await plain.close()


async def test_a_second_process_is_refused_by_name_of_the_file(tmp_path: Path) -> None:
    store = open_embedded(tmp_path / "hub.db", clock=VirtualClock())
    with pytest.raises(StoreUnavailable, match=r"hub\.db"):
        open_embedded(tmp_path / "hub.db", clock=VirtualClock())
    await store.aclose()


async def test_a_full_disk_refuses_all_of_a_commit_and_reads_go_on(tmp_path: Path) -> None:
    store = open_embedded(tmp_path / "hub.db", clock=VirtualClock(), max_bytes=512 * 1024)
    await store.commit([SetValue("a", b"1")])
    with pytest.raises(StoreRefused):
        await store.commit([SetValue("a", b"2"), SetValue("big", b"x" * 1024 * 1024)])
    assert await store.get("a") == b"1"
    assert await store.get("big") is None
    await store.aclose()


async def test_a_large_commit_is_seen_whole_or_not_at_all(tmp_path: Path) -> None:
    store = open_embedded(tmp_path / "hub.db", clock=VirtualClock())

    async def look() -> set[int]:
        seen = set()
        while (count := len(await store.list_keys("k:"))) < 3000:
            seen.add(count)
            await asyncio.sleep(0)
        return seen | {count}

    looking = asyncio.ensure_future(look())
    await asyncio.gather(
        store.commit([SetValue("other", b"1")]),
        store.commit([SetValue(f"k:{i}", b"x") for i in range(3000)]),
    )
    assert await looking <= {0, 3000}
    await store.aclose()


async def test_subscribers_read_what_was_published_before_the_store_closed() -> None:
    store = open_embedded(None, clock=VirtualClock())
    async with store.subscribe("news") as messages:
        await store.commit([Publish("news", b"last"), Publish("other", b"no")])
        await store.aclose()
        assert [each.data async for each in messages] == [b"last"]


async def test_a_closed_store_refuses_writes(tmp_path: Path) -> None:
    store = open_embedded(tmp_path / "hub.db", clock=VirtualClock())
    await store.aclose()
    with pytest.raises(StoreUnavailable, match="the state of the hub is closed"):
        await store.commit([SetValue("a", b"1")])


async def test_keys_are_listed_with_the_one_that_equals_the_prefix() -> None:
    store = open_embedded(None, clock=VirtualClock())
    await store.commit([SetValue(key, b"1") for key in ("a", "a:1", "a:2", "b")])
    assert await store.list_keys("a:") == ["a:1", "a:2"]
    assert await store.list_keys("a:1") == ["a:1"]
    await store.aclose()
