"""Splits the batch of a cycle into messages that are small enough to send. Pure."""

from collections.abc import Iterator, Sequence

import msgspec

from quarterdeck.inventory.push import codec
from quarterdeck.inventory.push.messages import (
    ConnectRequest,
    CustomCollectedResource,
    CustomResourceBatch,
    MetricsBatch,
)

MAX_BYTES = 1024 * 1024
"""Approximate limit of a chunk's size; the hub accepts four times as much."""
MOST_BYTES = 3 * MAX_BYTES + MAX_BYTES // 2
"""Limit of a chunk that cannot be split further: a larger one would end the stream each time that
it is sent, and no later cycle would be sent either."""
_ROW_BYTES = 64
_NODES = 100


def encode_chunks(batch: MetricsBatch, *, max_bytes: int = MAX_BYTES) -> list[bytes]:
    """Encode a batch as requests, each with its index and their number."""
    pieces = list(_split(batch, max_bytes))
    head = {
        "cluster_name": batch.cluster_name,
        "batch_id": batch.batch_id,
        "collected_at": batch.collected_at,
        "sequence": batch.sequence,
        "agent_id": batch.agent_id,
        "chunk_count": len(pieces),
    }
    return [
        codec.encode_request(
            ConnectRequest(metrics=msgspec.structs.replace(piece, **head, chunk_index=index))
        )
        for index, piece in enumerate(pieces)
    ]


def _split(batch: MetricsBatch, max_bytes: int) -> Iterator[MetricsBatch]:
    """Split nodes by the hundred and rows of sources by size; the rest is in the first chunk."""
    yield msgspec.structs.replace(
        batch, node_metrics=batch.node_metrics[:_NODES], custom_resources=()
    )
    for start in range(_NODES, len(batch.node_metrics), _NODES):
        yield MetricsBatch(node_metrics=batch.node_metrics[start : start + _NODES])
    for source in map(_refuse_oversized, batch.custom_resources):
        for rows in _group(source.resources, max_bytes):
            yield MetricsBatch(
                custom_resources=(msgspec.structs.replace(source, resources=tuple(rows)),)
            )


def _refuse_oversized(source: CustomResourceBatch) -> CustomResourceBatch:
    """The source, or the report that it has a row or aggregations which fit into no chunk."""
    row = max(map(_estimate, source.resources), default=0)
    others = len(source.aggregations_json) + sum(len(each.encode()) for each in source.errors)
    size = others + max(row, MAX_BYTES)
    if size <= MOST_BYTES:
        return source
    return describe_source_failure(
        source.source_id,
        f"too large to send: its aggregations have {others} bytes and its largest object {row}; "
        "collect less with its fields, groupBy or labelSelector",
    )


def _group(
    rows: Sequence[CustomCollectedResource], max_bytes: int
) -> Iterator[list[CustomCollectedResource]]:
    group: list[CustomCollectedResource] = []
    size = 0
    for row in rows:
        size += _estimate(row)
        if group and size > max_bytes:
            yield group
            group, size = [], _estimate(row)
        group.append(row)
    yield group


def _estimate(row: CustomCollectedResource) -> int:
    labels = sum(len(key) + len(value) + 8 for key, value in row.labels.items())
    return _ROW_BYTES + len(row.values_json) + 2 * len(row.id) + labels


def describe_source_failure(identity: str, text: str) -> CustomResourceBatch:
    """Build the report that a source could not be collected."""
    return CustomResourceBatch(source_id=identity, failure=text)
