"""The result of a collection: resources and aggregations, in the JSON shapes of the store.

Encode them with `msgspec.json.encode`: member names, and which members are left out when they are
empty, are those of the store.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import msgspec

Value: TypeAlias = bool | int | float | str | list[Any] | None
"""One extracted or computed value."""

Number: TypeAlias = int | float
AggregationValue: TypeAlias = Number | dict[str, Number | None] | None
"""A number, null where there was nothing to compute from, or one of them per group."""


class Resource(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One object with its values."""

    id: Annotated[str, "namespace/name, or name"] = msgspec.field(name="_id")
    namespace: str = msgspec.field(name="_namespace", default="")
    name: str = msgspec.field(name="_name")
    labels: Mapping[str, str] = msgspec.field(name="_labels", default_factory=dict)
    values: dict[str, Value]


class ResourceCollection(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All objects of one source on one cluster: `cluster:{c}:custom:{source}:resources`."""

    collected_at: str
    source_id: str
    cluster_name: str
    resource_count: int
    truncated: bool
    duration_ms: int
    resources: list[Resource]


class AggregationResults(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All aggregations of one source on one cluster: `cluster:{c}:custom:{source}:aggregations`."""

    computed_at: str
    source_id: str
    duration_ms: int
    values: Mapping[str, AggregationValue]


class CollectionMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How the last collection went: `cluster:{c}:custom:{source}:meta`."""

    source_id: str
    cluster_name: str
    last_collection_time: str
    duration_ms: int = msgspec.field()
    resource_count: int = msgspec.field()
    truncated: bool = msgspec.field()
    error_count: int = msgspec.field()
    last_error: str = ""
