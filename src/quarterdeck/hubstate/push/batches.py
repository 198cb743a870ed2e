"""Converts readings of a cluster to and from the batches that collectors send. Pure.

`read_cluster` and `read_source` are the inverse of `build_cluster_batch` and `build_source_batch`:
the hub stores the same for a pushed cluster as if it had read the cluster itself.
"""

import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from quarterdeck.engine.results import AggregationValue, Resource, Value
from quarterdeck.hubstate.collect.collected import Collected
from quarterdeck.hubstate.collect.source import SourceResult
from quarterdeck.inventory.cluster import ClusterTotals
from quarterdeck.inventory.push.messages import (
    ClusterInfo,
    ClusterMetrics,
    CustomCollectedResource,
    CustomResourceBatch,
    MetricsBatch,
)
from quarterdeck.inventory.resources import ResourceLists
from quarterdeck.kit import json, rfc3339
from quarterdeck.meta.names import check_path_segment

NAMESPACES, OPERATORS, CLUSTER_OPERATORS = "namespaces", "operators", "cluster_operators"
_INFO = ("api_url", "version", "platform", "console_url", "channel", "cluster_id")
_COUNTS = tuple(
    each for each in ClusterTotals.__struct_fields__ if each in ClusterMetrics.__struct_fields__
)
_HUGE = 2**128
"""Sums of whole numbers stay below; what is far above cannot be converted to a float."""
_MANY_DIGITS = re.compile(rb"[0-9]{39}")
"""What numbers from `_HUGE` have in JSON; few texts have it, so most parts are not searched."""


class InvalidBatch(ValueError):
    """Raised when a batch can be decoded but never be stored, so that a retry is useless."""


# --- what a collector sends


def build_cluster_batch(collected: Collected) -> MetricsBatch:
    """Build the part of a batch that is about the cluster itself."""
    parts = {
        NAMESPACES: collected.namespaces,
        OPERATORS: collected.operators,
        CLUSTER_OPERATORS: collected.cluster_operators,
    }
    info = {name: str(collected.info.get(name) or "") for name in _INFO}
    return MetricsBatch(
        collected_at=collected.at,
        cluster_metrics=ClusterMetrics(
            **{name: getattr(collected.totals, name) for name in _COUNTS},
            namespace_list=collected.namespaces or (),
        ),
        node_metrics=collected.nodes,
        operators=collected.operators or (),
        cluster_operators=collected.cluster_operators or (),
        cluster_info=ClusterInfo(**info, details_json=json.encode(collected.info)),
        resources_json=json.encode(collected.resources) if collected.resources else b"",
        parts=tuple(name for name, value in parts.items() if value is not None),
    )


def build_source_batch(identity: str, result: SourceResult) -> CustomResourceBatch:
    """Build the part of a batch for what one source collected."""
    plain = {
        name: float(value)
        for name, value in result.values.items()
        if isinstance(value, int | float)
    }
    return CustomResourceBatch(
        source_id=identity,
        resource_count=len(result.resources),
        truncated=result.truncated,
        duration_ms=result.duration_ms,
        resources=tuple(_build_row(each) for each in result.resources),
        aggregation_values=plain,
        aggregations_json=json.encode(result.values),
        errors=result.errors,
    )


def _build_row(row: Resource) -> CustomCollectedResource:
    return CustomCollectedResource(
        id=row.id,
        namespace=row.namespace,
        name=row.name,
        labels=row.labels,
        values_json=json.encode(row.values),
    )


# --- what the hub receives


def merge_chunks(chunks: Sequence[MetricsBatch]) -> MetricsBatch:
    """Merge the chunks of a batch: lists are joined, and so are the rows of each source."""
    if len(chunks) == 1:
        return chunks[0]
    merged: dict[str, Any] = {}
    for name in MetricsBatch.__struct_fields__:
        values = [getattr(each, name) for each in chunks]
        if isinstance(values[0], tuple):
            merged[name] = tuple(item for value in values for item in value)
        else:
            merged[name] = next((value for value in values if value), values[0])
    merged["custom_resources"] = tuple(_merge_sources(merged["custom_resources"]))
    return MetricsBatch(**merged)


def _merge_sources(pieces: Iterable[CustomResourceBatch]) -> list[CustomResourceBatch]:
    rows: dict[str, list[CustomCollectedResource]] = {}
    heads: dict[str, CustomResourceBatch] = {}
    for each in pieces:
        heads.setdefault(each.source_id, each)
        rows.setdefault(each.source_id, []).extend(each.resources)
    return [
        msgspec.structs.replace(head, resources=tuple(rows[identity]))
        for identity, head in heads.items()
    ]


def read_cluster(batch: MetricsBatch, at: datetime) -> Collected | None:
    """Read the cluster's own part of a batch; None if it has none.

    Raises:
        InvalidBatch: if a part is not what it should be.
    """
    counts = batch.cluster_metrics
    if counts is None:
        return None
    now = rfc3339.format_time(at)
    _check_finite(counts)
    for node in batch.node_metrics:
        _check_name(node.name)
        _check_finite(node)
    for operator in batch.cluster_operators:
        _check_name(operator.name)
    parts = set(batch.parts)
    totals = ClusterTotals(timestamp=now, **{name: getattr(counts, name) for name in _COUNTS})
    has_namespaces = NAMESPACES in parts or bool(counts.namespace_list)
    resources = _decode(batch.resources_json, ResourceLists) if batch.resources_json else None
    return Collected(
        at=at,
        nodes=tuple(msgspec.structs.replace(each, timestamp=now) for each in batch.node_metrics),
        totals=totals,
        info=_read_info(batch.cluster_info),
        namespaces=counts.namespace_list if has_namespaces else None,
        resources=resources,
        operators=batch.operators if OPERATORS in parts or batch.operators else None,
        cluster_operators=(
            batch.cluster_operators
            if CLUSTER_OPERATORS in parts or batch.cluster_operators
            else None
        ),
        problems={},
    )


def read_source(batch: CustomResourceBatch, at: datetime) -> SourceResult:
    """Read the part of a batch for one source.

    Raises:
        InvalidBatch: if a row or an aggregation is not what it should be.
    """
    rows = [_read_row(each) for each in batch.resources]
    values: dict[str, AggregationValue] = dict(batch.aggregation_values)
    if batch.aggregations_json:
        values = _decode(batch.aggregations_json, dict[str, AggregationValue])
    return SourceResult(
        at=at,
        duration_ms=batch.duration_ms,
        resource="",
        resources=rows,
        values=values,
        truncated=batch.truncated,
        errors=batch.errors,
        count=len(rows),
        found=frozenset(),
        converted=frozenset(),
    )


def _read_row(row: CustomCollectedResource) -> Resource:
    return Resource(
        id=row.id,
        namespace=row.namespace,
        name=row.name,
        labels=row.labels,
        values=_decode(row.values_json or b"{}", dict[str, Value]),
    )


def _read_info(info: ClusterInfo | None) -> dict[str, Any]:
    if info is None:
        return {}
    if info.details_json:
        details: dict[str, Any] = _decode(info.details_json, dict[str, Any])
        return details
    return {name: value for name in _INFO if (value := getattr(info, name))}


def _decode(data: bytes, type_: Any) -> Any:
    try:
        value = msgspec.json.decode(data, type=type_)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise InvalidBatch(f"a part of the batch is not valid JSON: {error}") from error
    if _MANY_DIGITS.search(data) and _has_huge_number(value):
        raise InvalidBatch("a part of the batch has a number that is out of range")
    return value


def _has_huge_number(value: Any) -> bool:
    left = [value]
    while left:
        match left.pop():
            case dict() as found:
                left += found.values()
            case list() as found:
                left += found
            case int() as found if abs(found) >= _HUGE:
                return True
    return False


def _check_finite(facts: msgspec.Struct) -> None:
    """Refuse NaN and infinities, which JSON does not have."""
    for name in facts.__struct_fields__:
        value = getattr(facts, name)
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidBatch(f"{name} is {value}, not a finite number")


def _check_name(name: str) -> None:
    """Refuse invalid object names, because names become parts of keys."""
    if not name or ":" in name or len(name) > 253 or check_path_segment(name):
        raise InvalidBatch(f"{name[:80]!r} is not a valid object name")
