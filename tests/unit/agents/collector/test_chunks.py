"""Chunks join to the batch they came from, and none is too big."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.agents.collector.chunks import encode_chunks
from quarterdeck.hubstate.push.batches import merge_chunks
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.inventory.push.codec import decode_request
from quarterdeck.inventory.push.messages import (
    ClusterMetrics,
    CustomCollectedResource,
    CustomResourceBatch,
    MetricsBatch,
)
from quarterdeck.services.ingester.options import IngesterOptions


def make_rows(count: int) -> tuple[CustomCollectedResource, ...]:
    return tuple(
        CustomCollectedResource(id=f"d/{n}", namespace="d", name=str(n), values_json=b"{}" * 20)
        for n in range(count)
    )


@given(nodes=st.integers(0, 250), rows=st.lists(st.integers(0, 60), max_size=3))
def test_chunks_join_to_their_batch(nodes: int, rows: list[int]) -> None:
    batch = MetricsBatch(
        batch_id="b",
        sequence=3,
        agent_id="a",
        cluster_metrics=ClusterMetrics(nodes=nodes),
        node_metrics=tuple(
            NodeFacts(name=f"n{n}", timestamp="", status="Ready") for n in range(nodes)
        ),
        custom_resources=tuple(
            CustomResourceBatch(source_id=f"d/s{n}", resources=make_rows(count))
            for n, count in enumerate(rows)
        ),
    )
    chunks = encode_chunks(batch, max_bytes=2000)
    assert all(len(each) < 25_000 for each in chunks)
    received = [decode_request(each).metrics for each in chunks]
    assert [each.chunk_index for each in received if each] == list(range(len(chunks)))
    merged = merge_chunks([each for each in received if each is not None])
    assert merged.node_metrics == batch.node_metrics
    assert merged.custom_resources == batch.custom_resources
    assert (merged.sequence, merged.batch_id, merged.chunk_count) == (3, "b", len(chunks))


def test_a_source_of_five_thousand_rows_fits_the_hub() -> None:
    source = CustomResourceBatch(source_id="d/s", resources=make_rows(5000))
    chunks = encode_chunks(MetricsBatch(custom_resources=(source,)), max_bytes=100_000)
    assert len(chunks) > 3
    assert max(map(len, chunks)) < 200_000


@pytest.mark.parametrize(
    "part",
    [
        {
            "resources": (
                *make_rows(3),
                CustomCollectedResource(id="d/x", values_json=b"1" * 5_000_000),
            )
        },
        {"resources": make_rows(3), "aggregations_json": b"1" * 5_000_000},
    ],
)
def test_what_fits_into_no_message_is_reported_and_the_rest_is_sent(part: dict[str, Any]) -> None:
    batch = MetricsBatch(
        cluster_metrics=ClusterMetrics(nodes=3),
        custom_resources=(
            CustomResourceBatch(source_id="d/huge", **part),
            CustomResourceBatch(source_id="d/small", resources=make_rows(2)),
        ),
    )
    chunks = encode_chunks(batch)
    assert max(map(len, chunks)) < IngesterOptions().max_message_bytes
    merged = merge_chunks([each for data in chunks if (each := decode_request(data).metrics)])
    huge, small = merged.custom_resources
    assert (huge.resources, "too large to send" in huge.failure) == ((), True)
    assert small == batch.custom_resources[1]
    assert merged.cluster_metrics == batch.cluster_metrics
