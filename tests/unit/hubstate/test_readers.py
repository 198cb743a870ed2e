"""Collections that are read whole."""

from collections.abc import Sequence

import pytest

from quarterdeck.engine.results import (
    AggregationResults,
    CollectionMeta,
    Resource,
    ResourceCollection,
)
from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.hubstate.errors import StoreRefused
from quarterdeck.hubstate.ports import StateReader
from quarterdeck.hubstate.readers import read_collection
from quarterdeck.hubstate.source_writes import plan_collection
from quarterdeck.hubstate.writes import SetValue, Write
from quarterdeck.kit.clock import SystemClock


def writes(at: str) -> list[Write]:
    row = Resource(id="ns/a", namespace="ns", name="a", values={"x": 1})
    rows = ResourceCollection(
        collected_at=at,
        source_id="ns/s",
        cluster_name="c",
        resource_count=1,
        truncated=False,
        duration_ms=1,
        resources=[row],
    )
    values = AggregationResults(computed_at=at, source_id="ns/s", duration_ms=1, values={"t": 1})
    meta = CollectionMeta(
        source_id="ns/s",
        cluster_name="c",
        last_collection_time=at,
        duration_ms=1,
        resource_count=1,
        truncated=False,
        error_count=0,
    )
    return list(plan_collection(rows, values, meta, ttl_s=60))


class Torn:
    """A store that shows half of a new collection the first times it is asked."""

    def __init__(self, old: list[Write], new: list[Write], torn: int) -> None:
        self._old, self._new, self._torn = old, new, torn
        self.asked = 0

    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        self.asked += 1
        chosen = [*self._new[:1], *self._old[1:]] if self.asked <= self._torn else self._new
        return [each.value for each in chosen if isinstance(each, SetValue)]


async def test_a_reader_waits_until_all_parts_are_of_one_moment() -> None:
    store = Torn(writes("2026-01-01T00:00:00Z"), writes("2026-01-01T00:01:00Z"), torn=2)
    reader: StateReader = store  # type: ignore[assignment]
    found = await read_collection(reader, "c", "ns/s", clock=SystemClock())
    assert found is not None and found.is_consistent
    assert found.resources.collected_at == "2026-01-01T00:01:00Z"
    assert found.resources.resources[0].values == {"x": 1}
    assert store.asked == 3


async def test_what_stays_torn_is_given_with_a_mark() -> None:
    store = Torn(writes("2026-01-01T00:00:00Z"), writes("2026-01-01T00:01:00Z"), torn=99)
    reader: StateReader = store  # type: ignore[assignment]
    found = await read_collection(reader, "c", "ns/s", clock=SystemClock())
    assert found is not None and not found.is_consistent


async def test_absent_collections_are_none_and_damaged_ones_are_refused() -> None:
    state = open_embedded(None, clock=SystemClock())
    assert await read_collection(state, "c", "ns/s", clock=SystemClock()) is None
    await state.commit(writes("2026-01-01T00:00:00Z"))
    assert await read_collection(state, "c", "ns/s", clock=SystemClock()) is not None
    await state.commit([SetValue("cluster:c:custom:ns/s:meta", b"[]")])
    with pytest.raises(StoreRefused, match="cannot decode"):
        await read_collection(state, "c", "ns/s", clock=SystemClock())
    await state.aclose()
