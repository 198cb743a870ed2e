"""Few objects are kept as they are, many are packed."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.meta.identity import Key
from quarterdeck.runtime.cache.retention import FREE_BYTES, Keep
from quarterdeck.runtime.cache.snapshot import Snapshot

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
    stock = Keep().stock()
    for number in range(FREE_BYTES // SIZE // 2):
        stock.put(snapshot(number))
    assert all(each.packed_by is None for each in stock.values())


def test_a_large_kind_is_packed_from_the_first_object_to_the_last() -> None:
    stock, count = Keep().stock(), FREE_BYTES // SIZE * 4
    for number in range(count):
        stock.put(snapshot(number))
    assert sum(each.packed_by is None for each in stock.values()) <= 1
    assert [each.raw for each in stock.values()] == [snapshot(n).raw for n in range(count)]
    assert stock.size_bytes < FREE_BYTES


@given(changes=st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(1, 9))))
def test_the_bytes_are_counted_whatever_happens(changes: list[tuple[bool, int, int]]) -> None:
    stock = Keep().stock()
    for is_put, number, version in changes:
        if is_put:
            stock.put(snapshot(number, version))
        else:
            key = Key("", f"thing-{number}")
            was_there = key in stock
            assert stock.drop(key) is was_there
        assert stock.size_bytes == sum(len(each.data) for each in stock.values())
