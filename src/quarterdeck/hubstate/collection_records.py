"""The records of a collection from one cluster: rows, aggregations and meta. Pure."""

from datetime import datetime

from quarterdeck.engine.results import AggregationResults, CollectionMeta, ResourceCollection
from quarterdeck.hubstate import source_writes
from quarterdeck.hubstate.collect.source import SourceResult
from quarterdeck.hubstate.notices import build_source_notice
from quarterdeck.hubstate.writes import Write
from quarterdeck.kit import rfc3339


def plan_collection(identity: str, cluster: str, result: SourceResult, ttl_s: int) -> list[Write]:
    """Plan the writes of a collection and its event; commit them together."""
    now = rfc3339.format_time(result.at)
    count = len(result.resources)
    rows = ResourceCollection(
        collected_at=now,
        source_id=identity,
        cluster_name=cluster,
        resource_count=count,
        truncated=result.truncated,
        duration_ms=result.duration_ms,
        resources=result.resources,
    )
    values = AggregationResults(
        computed_at=now, source_id=identity, duration_ms=result.duration_ms, values=result.values
    )
    meta = CollectionMeta(
        source_id=identity,
        cluster_name=cluster,
        last_collection_time=now,
        duration_ms=result.duration_ms,
        resource_count=count,
        truncated=result.truncated,
        error_count=len(result.errors),
        last_error=result.errors[0] if result.errors else "",
    )
    data = {"resources": count, "clusters": 1, "errors": len(result.errors)}
    return [
        *source_writes.plan_collection(rows, values, meta, ttl_s=ttl_s),
        build_source_notice("reconciled", identity, result.at, data),
    ]


def plan_failure(identity: str, cluster: str, text: str, *, at: datetime, ttl_s: int) -> Write:
    """Record that a cluster could not be read: its rows stay, and its meta has the cause."""
    meta = CollectionMeta(
        source_id=identity,
        cluster_name=cluster,
        last_collection_time=rfc3339.format_time(at),
        duration_ms=0,
        resource_count=0,
        truncated=False,
        error_count=1,
        last_error=text,
    )
    return source_writes.plan_failure(meta, ttl_s=ttl_s)
