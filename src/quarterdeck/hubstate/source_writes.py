"""Plans the writes of a MetricSource and of what it collects. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from quarterdeck.engine.results import AggregationResults, CollectionMeta, ResourceCollection
from quarterdeck.hubstate import keys
from quarterdeck.hubstate.notices import build_source_notice
from quarterdeck.hubstate.writes import (
    AddMembers,
    DeleteKeys,
    RemoveMembers,
    SetFields,
    SetValue,
    Write,
)
from quarterdeck.kit import json, rfc3339

PARTS = ("resources", "aggregations", "meta")


class SourceHead(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The fields of `metricsource:{ns}:{name}:meta`."""

    compiled_at: str
    hash: str
    kind: str
    api_version: str
    resource_type_name: str


def plan_definition(
    namespace: str,
    name: str,
    *,
    definition: Mapping[str, Any],
    spec: msgspec.Struct | None = None,
    head: SourceHead,
    before: str,
) -> Iterator[Write]:
    """Plan the writes of a source and its indexes; `before` is the resource type it had."""
    identity = keys.source_id(namespace, name)
    key = keys.source(namespace, name)
    yield SetValue(key, json.encode(definition))
    if spec is not None:
        yield SetValue(f"{key}:spec", json.encode(spec))
    yield SetFields(f"{key}:meta", msgspec.to_builtins(head))
    yield AddMembers(keys.SOURCES, (identity,))
    yield AddMembers(keys.ENABLED_SOURCES, (identity,))
    if before and before != head.resource_type_name:
        yield RemoveMembers(keys.sources_of_type(before), (identity,))
    if head.resource_type_name:
        yield AddMembers(keys.sources_of_type(head.resource_type_name), (identity,))
    yield build_source_notice("compiled", identity, rfc3339.parse(head.compiled_at), {})


def plan_collection(
    resources: ResourceCollection,
    aggregations: AggregationResults,
    meta: CollectionMeta,
    *,
    ttl_s: int,
) -> Iterator[Write]:
    """Plan the writes of rows, aggregations and meta of one cluster; commit them together."""
    cluster, source_id = resources.cluster_name, resources.source_id
    for part, value in zip(PARTS, (resources, aggregations, meta), strict=True):
        yield SetValue(keys.custom(cluster, source_id, part), json.encode(value), ttl_s)


def plan_failure(meta: CollectionMeta, *, ttl_s: int) -> Write:
    """Plan the write of a failed collection's meta; rows and aggregations stay as they are."""
    return SetValue(
        keys.custom(meta.cluster_name, meta.source_id, "meta"), json.encode(meta), ttl_s
    )


def plan_deletion(
    namespace: str, name: str, *, found: Sequence[str], resource_type: str, at: datetime
) -> Iterator[Write]:
    """Plan the deletion of a source and its data; `found` are the keys of its collections."""
    identity, key = keys.source_id(namespace, name), keys.source(namespace, name)
    yield DeleteKeys((key, f"{key}:meta", f"{key}:spec", *found))
    for index in (keys.SOURCES, keys.ENABLED_SOURCES):
        yield RemoveMembers(index, (identity,))
    if resource_type:
        yield RemoveMembers(keys.sources_of_type(resource_type), (identity,))
    yield build_source_notice("deleted", identity, at, {})


def find_collections(found: Sequence[str], source_id: str) -> list[str]:
    """The keys of a source's collections, among keys that begin with `cluster:`."""
    suffixes = tuple(f":custom:{source_id}:{part}" for part in PARTS)
    return [key for key in found if key.endswith(suffixes)]
