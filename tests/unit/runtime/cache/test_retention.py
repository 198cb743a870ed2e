"""Few objects are kept as they are, many are packed."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.meta.identity import Key
from quarterdeck.runtime.cache.retention import PACK_ABOVE_BYTES, RetentionPolicy
from quarterdeck.runtime.cache.snapshot import Metadata, Snapshot, read_head

SIZE = 1_000


def snapshot(number: int, version: int = 1) -> Snapshot:
    metadata = {
        "name": f"thing-{number}",
        "uid": f"{number:032x}",
        "resourceVersion": str(version),
    }
    body = msgspec.json.encode({"metadata": metadata, "spec": {"text": f"{number} " * 180}})
    return Snapshot.of(bytes(memoryview(body)))


def test_a_small_kind_is_kept_as_it_is() -> None:
    store = RetentionPolicy().make_store()
    for number in range(PACK_ABOVE_BYTES // SIZE // 2):
        store.put(snapshot(number))
    assert all(each.packed_by is None for each in store.values())


def test_a_large_kind_is_packed_from_the_first_object_to_the_last() -> None:
    store, count = RetentionPolicy().make_store(), PACK_ABOVE_BYTES // SIZE * 4
    for number in range(count):
        store.put(snapshot(number))
    assert sum(each.packed_by is None for each in store.values()) <= 1
    assert [each.raw for each in store.values()] == [snapshot(n).raw for n in range(count)]
    assert store.size_bytes < PACK_ABOVE_BYTES


@given(changes=st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(1, 9))))
def test_the_bytes_are_counted_whatever_happens(changes: list[tuple[bool, int, int]]) -> None:
    store = RetentionPolicy().make_store()
    for is_put, number, version in changes:
        if is_put:
            store.put(snapshot(number, version))
        else:
            key = Key("", f"thing-{number}")
            was_there = key in store
            assert store.remove(key) is was_there
        assert store.size_bytes == sum(len(each.data) for each in store.values())


def test_the_event_of_a_write_shares_the_snapshot_of_its_answer_if_its_bytes_are_the_same() -> None:
    transformed = []

    def count(raw: bytes, metadata: Metadata) -> bytes:
        transformed.append(metadata.resource_version)
        return raw

    policy = RetentionPolicy(count)
    raw, other = snapshot(1, 7).raw, snapshot(2, 7).raw
    written = policy.make_written(raw + b"\n", read_head(raw).metadata)
    assert policy.make_snapshot(raw, read_head(raw).metadata) is written
    assert policy.make_snapshot(raw, read_head(raw).metadata) is not written, "kept for one event"
    policy.make_written(raw, read_head(raw).metadata)
    assert policy.make_snapshot(other, read_head(other).metadata).raw == other
    assert len(transformed) == 4


def test_answers_whose_events_never_come_are_dropped() -> None:
    policy = RetentionPolicy()
    first, *others = (snapshot(1, version).raw for version in range(1, 1_000))
    written = policy.make_written(first, read_head(first).metadata)
    for raw in others:
        policy.make_written(raw, read_head(raw).metadata)
    assert policy.make_snapshot(first, read_head(first).metadata) is not written
