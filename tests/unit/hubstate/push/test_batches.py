"""Batches say exactly what was read."""

from datetime import UTC, datetime

from quarterdeck.engine.results import Resource
from quarterdeck.hubstate.collect.collected import Collected
from quarterdeck.hubstate.collect.source import SourceResult
from quarterdeck.hubstate.push.batches import (
    build_cluster_batch,
    build_source_batch,
    merge_chunks,
    read_cluster,
    read_source,
)
from quarterdeck.inventory.cluster import ClusterTotals
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.inventory.push import codec
from quarterdeck.inventory.push.messages import CustomResourceBatch, MetricsBatch
from quarterdeck.inventory.resources import PodSummary, ResourceLists
from quarterdeck.kit import rfc3339

AT = datetime(2026, 5, 1, tzinfo=UTC)
NOW = rfc3339.format_time(AT)


def send(batch: MetricsBatch) -> MetricsBatch:
    received = codec.decode("MetricsBatch", codec.encode("MetricsBatch", batch))
    assert isinstance(received, MetricsBatch)
    return received


def test_a_reading_survives_the_way_to_the_hub() -> None:
    collected = Collected(
        at=AT,
        nodes=(NodeFacts(name="n1", timestamp=NOW, status="Ready", cpu_capacity=4.0),),
        totals=ClusterTotals(timestamp=NOW, nodes=1, pods=3, cpu_capacity=4.0),
        info={"version": "v1.32", "is_available": True, "conditions": [{"type": "x"}]},
        namespaces=("a", "b"),
        resources=ResourceLists(pods=(PodSummary("p", "a", "Running"),)),
        operators=(),
        cluster_operators=None,
        problems={},
    )
    assert read_cluster(send(build_cluster_batch(collected)), AT) == collected


def test_rows_and_aggregations_survive_with_groups_and_nulls() -> None:
    result = SourceResult(
        at=AT,
        duration_ms=5,
        resource="",
        resources=[Resource(id="a/x", namespace="a", name="x", labels={"k": "v"}, values={"n": 1})],
        values={"count": 1, "by": {"a": 2.5, "b": None}, "none": None},
        truncated=True,
        errors=("namespace b: forbidden",),
        count=1,
        found=frozenset(),
        converted=frozenset(),
    )
    batch = send(MetricsBatch(custom_resources=(build_source_batch("d/s", result),)))
    assert read_source(batch.custom_resources[0], AT) == result


def test_collectors_without_our_fields_are_understood() -> None:
    batch = CustomResourceBatch(source_id="d/s", aggregation_values={"count": 2.0})
    assert read_source(batch, AT).values == {"count": 2.0}


def test_chunks_join_lists_and_rows_of_one_source() -> None:
    pieces = [
        MetricsBatch(
            batch_id="b",
            custom_resources=(CustomResourceBatch(source_id="d/s", resource_count=2),),
            parts=("operators",) if number == 0 else (),
        )
        for number in range(2)
    ]
    merged = merge_chunks(pieces)
    assert [each.source_id for each in merged.custom_resources] == ["d/s"]
    assert merged.parts == ("operators",)
