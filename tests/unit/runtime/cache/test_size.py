"""What a cached object costs beside its bytes."""

import tracemalloc

import msgspec
import pytest

from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.cache import Cache
from quarterdeck.runtime.cache.delta import Replace
from quarterdeck.runtime.cache.snapshot import Snapshot

COUNT = 5_000
MAX_BESIDE_BYTES = 450


class Thing(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Thing", plural="things")


def encoded(number: int) -> bytes:
    metadata = {
        "name": f"thing-{number}",
        "namespace": f"ns-{number % 50}",
        "uid": f"{number:032x}",
        "resourceVersion": str(number + 1),
    }
    body = msgspec.json.encode({"metadata": metadata, "spec": {"text": "x" * 1900}})
    return bytes(memoryview(body))  # the encoder's own buffer is longer than its text


@pytest.mark.full  # a figure in bytes; bench/workloads/restart.py measures a whole process
def test_an_object_costs_little_more_than_its_bytes() -> None:
    tracemalloc.start()
    cache: Cache[Thing] = Cache(Thing)
    before, _ = tracemalloc.get_traced_memory()
    cache.apply(Replace([Snapshot.of(encoded(number)) for number in range(COUNT)], COUNT))
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    per_object = (after - before) / COUNT
    assert per_object - cache.size_bytes / COUNT < MAX_BESIDE_BYTES
    assert per_object * 100_000 < 400_000_000
