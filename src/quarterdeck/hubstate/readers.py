"""Reads rows, aggregations and meta of one collection, so that they are consistent.

On one server they are written in one transaction. On Redis Cluster each key is written separately,
so a reader may see parts of two collections: it tries again until all three have the same time.
"""

from collections.abc import Sequence

import msgspec

from quarterdeck.engine.results import AggregationResults, CollectionMeta, ResourceCollection
from quarterdeck.hubstate import keys
from quarterdeck.hubstate.errors import StoreRefused
from quarterdeck.hubstate.ports import StateReader
from quarterdeck.hubstate.source_writes import PARTS
from quarterdeck.kit.clock import Clock

TRIES = 5
PAUSE_S = 0.02


class StoredCollection(msgspec.Struct, frozen=True, kw_only=True):
    """One source's collection from one cluster; after a failure `meta` is newer than the rest."""

    resources: ResourceCollection
    aggregations: AggregationResults
    meta: CollectionMeta
    is_consistent: bool
    """Whether all parts have the same time; False if they still differed after all retries."""


async def read_collection(
    state: StateReader, cluster: str, source_id: str, *, clock: Clock
) -> StoredCollection | None:
    """The newest collection; None if there is none.

    Raises:
        StoreUnavailable: if the store cannot be reached.
        StoreRefused: if a value has another shape.
    """
    names = [keys.custom(cluster, source_id, part) for part in PARTS]
    found: StoredCollection | None = None
    for number in range(TRIES):
        if number:
            await clock.sleep(PAUSE_S * 2**number)
        found = _decode(await state.get_many(names), names)
        if found is None or found.is_consistent:
            return found
    return found


class StoredSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One source's collection from one cluster, without its rows."""

    aggregations: AggregationResults
    meta: CollectionMeta


async def read_summaries(
    state: StateReader, source_id: str, clusters: Sequence[str]
) -> dict[str, StoredSummary]:
    """Aggregations and meta of many clusters in one round trip; clusters without any are left out.

    Raises:
        StoreUnavailable: if the store cannot be reached.
        StoreRefused: if a value has another shape.
    """
    parts = ("aggregations", "meta")
    names = [keys.custom(each, source_id, part) for each in clusters for part in parts]
    values = iter(await state.get_many(names))
    found: dict[str, StoredSummary] = {}
    for cluster, aggregations, meta in zip(clusters, values, values, strict=True):
        if aggregations is None or meta is None:
            continue
        try:
            found[cluster] = StoredSummary(
                aggregations=msgspec.json.decode(aggregations, type=AggregationResults),
                meta=msgspec.json.decode(meta, type=CollectionMeta),
            )
        except msgspec.DecodeError as error:
            name = keys.custom(cluster, source_id, "meta")
            raise StoreRefused(f"cannot decode {name} or a key beside it: {error}") from error
    return found


def _decode(parts: list[bytes | None], names: list[str]) -> StoredCollection | None:
    if any(part is None for part in parts):
        return None
    try:
        resources = msgspec.json.decode(parts[0] or b"", type=ResourceCollection)
        aggregations = msgspec.json.decode(parts[1] or b"", type=AggregationResults)
        meta = msgspec.json.decode(parts[2] or b"", type=CollectionMeta)
    except msgspec.DecodeError as error:
        raise StoreRefused(f"cannot decode {names[0]} or a key beside it: {error}") from error
    same = resources.collected_at == aggregations.computed_at
    is_current = meta.error_count > 0 or meta.last_collection_time == resources.collected_at
    return StoredCollection(
        resources=resources,
        aggregations=aggregations,
        meta=meta,
        is_consistent=same and is_current,
    )
