"""Snapshots: consistent, ordered, at any revision that is kept."""

from collections.abc import Callable, Iterable

import pytest

from quarterdeck.storage import Compacted, Entry, FutureRevision, Store, StoreKey

Open = Callable[..., Store]


def names(entries: Iterable[Entry]) -> list[str]:
    return [str(entry.key) for entry in entries]


async def fill(store: Store, count: int, *, resource: str = "pods") -> None:
    tickets = [
        store.put(StoreKey(resource, f"n{number % 3}", f"p{number:04}"), lambda r: b"%d" % r)
        for number in range(count)
    ]
    await tickets[-1]


async def test_a_snapshot_does_not_change(stores: Open) -> None:
    store = stores()
    await fill(store, 500)
    before = store.snapshot()
    listed = names(before.range("pods"))
    await fill(store, 700)
    await store.delete(StoreKey("pods", "n0", "p0000"), lambda _: b"")
    assert names(before.range("pods")) == listed
    assert before.count("pods") == 500
    assert store.snapshot().count("pods") == 699
    await store.close()


async def test_ranges_are_sorted_by_namespace_and_name(stores: Open) -> None:
    store = stores()
    keys = [
        StoreKey("pods", ns, name) for ns in ("b", "a", "a-b", "") for name in ("y", "x", "x.1")
    ]
    for key in keys:
        last = store.put(key, lambda _: b"")
    await last
    await fill(store, 3, resource="other")
    snapshot = store.snapshot()
    assert [entry.key for entry in snapshot.range("pods")] == sorted(keys)
    assert names(snapshot.range("pods", "a")) == ["pods/a/x", "pods/a/x.1", "pods/a/y"]
    assert names(snapshot.range("pods", "")) == ["pods/x", "pods/x.1", "pods/y"]
    assert snapshot.count("pods", "a") == 3
    assert snapshot.resources() == ["other", "pods"]
    assert list(snapshot.range("none")) == [] and snapshot.count("none") == 0
    await store.close()


@pytest.mark.parametrize("namespace", [None, "n1"], ids=["all namespaces", "one namespace"])
async def test_pages_join_to_the_whole(stores: Open, namespace: str | None) -> None:
    store = stores()
    await fill(store, 1000)
    snapshot = store.snapshot()
    whole = names(snapshot.range("pods", namespace))
    pages: list[str] = []
    after = None
    while True:
        left = snapshot.count("pods", namespace, after=after)
        assert left == len(whole) - len(pages)
        page = list(snapshot.range("pods", namespace, after=after, limit=77))
        if not page:
            break
        pages += names(page)
        after = (page[-1].key.namespace, page[-1].key.name)
    assert pages == whole
    await store.close()


async def test_older_revisions_are_readable(stores: Open) -> None:
    store = stores()
    key = StoreKey("pods", "", "a")
    for _ in range(10):
        await store.put(key, lambda r: b"%d" % r)
    await store.delete(key, lambda _: b"")
    await store.put(key, lambda r: b"%d" % r)
    for revision in range(2, 12):
        entry = store.snapshot(revision).get(key)
        assert entry is not None and entry.value == b"%d" % revision
    assert store.snapshot(1).get(key) is None
    assert store.snapshot(12).get(key) is None
    assert store.snapshot(5) is store.snapshot(5)
    await store.close()


async def test_the_future_and_the_forgotten_are_refused(stores: Open) -> None:
    store = stores()
    await fill(store, 20)
    with pytest.raises(FutureRevision):
        store.snapshot(store.revision + 1)
    await store.compact(10)
    assert store.compacted == 10
    assert store.snapshot(10).count("pods") == 9
    with pytest.raises(Compacted) as caught:
        store.snapshot(9)
    assert (caught.value.requested, caught.value.oldest) == (9, 10)
    with pytest.raises(Compacted):
        await store.snapshot_at(9)
    with pytest.raises(FutureRevision):
        await store.compact(store.revision + 1)
    await store.close()
