"""Batches say exactly what was read."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterdeck.engine.results import Resource
from quarterdeck.hubstate.collect.collected import Collected
from quarterdeck.hubstate.collect.source import SourceResult
from quarterdeck.hubstate.push.batches import (
    InvalidBatch,
    build_cluster_batch,
    build_source_batch,
    merge_chunks,
    read_cluster,
    read_source,
)
from quarterdeck.inventory.cluster import ClusterTotals
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.inventory.push import codec
from quarterdeck.inventory.push.messages import (
    ClusterMetrics,
    CustomCollectedResource,
    CustomResourceBatch,
    MetricsBatch,
)
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


HUGE = b"1" + b"0" * 400


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param({"aggregations_json": b'{"total":%s}' % HUGE}, id="huge aggregation"),
        pytest.param({"aggregations_json": b'{"by":{"a":-%s}}' % HUGE}, id="huge group"),
        pytest.param({"values_json": b'{"size":%s}' % HUGE}, id="huge value"),
        pytest.param({"values_json": b'{"size":[1,[%s]]}' % HUGE}, id="huge value in a list"),
        pytest.param({"values_json": b'{"size":{"a":1}}'}, id="an object as a value"),
    ],
)
def test_values_that_viewers_could_not_read_are_refused(batch: dict[str, Any]) -> None:
    rows = [CustomCollectedResource(id="a/x", values_json=batch.pop("values_json", b""))]
    with pytest.raises(InvalidBatch):
        read_source(CustomResourceBatch(source_id="d/s", resources=tuple(rows), **batch), AT)


def test_texts_of_many_digits_and_large_sums_are_taken() -> None:
    digits, total = "9" * 60, 10**5 * 2**63
    row = CustomCollectedResource(id="a/x", values_json=b'{"text":"%s"}' % digits.encode())
    batch = CustomResourceBatch(
        source_id="d/s", resources=(row,), aggregations_json=b'{"total":%d}' % total
    )
    result = read_source(batch, AT)
    assert result.resources[0].values == {"text": digits}
    assert result.values == {"total": total}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_are_refused(number: float) -> None:
    node = NodeFacts(name="n1", timestamp="", status="Ready", cpu_requested=number)
    for batch in (
        MetricsBatch(cluster_metrics=ClusterMetrics(cpu_capacity=number)),
        MetricsBatch(cluster_metrics=ClusterMetrics(), node_metrics=(node,)),
    ):
        with pytest.raises(InvalidBatch, match="not a finite number"):
            read_cluster(send(batch), AT)


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
