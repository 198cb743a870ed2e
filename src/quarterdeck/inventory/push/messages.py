"""The messages of `clusterpulse.collector.v1`: numbers, names and types of their fields.

Numbers are those of existing collectors. What this project adds has free numbers, so that either
side may be older: `sequence`, `agent_id` and chunks make a batch resumable, `*_json` carries what
the first fields cannot (groups and nulls of aggregations, short lists of resources).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from quarterdeck.inventory.cluster_operators import (
    ClusterOperatorFacts,
    OperandVersion,
    OperatorCondition,
    RelatedObject,
)
from quarterdeck.inventory.nodes import NodeCondition, NodeFacts, NodeTaint
from quarterdeck.inventory.operators import OperatorFacts

PACKAGE = "clusterpulse.collector.v1"
SERVICE = "CollectorService"
METHOD = f"/{PACKAGE}.{SERVICE}/Connect"


class RegisterRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Who a collector is."""

    cluster_name: str = ""
    token: str = ""
    version: str = ""
    agent_id: str = ""
    """One run of one collector; sequence numbers are relative to it."""


class ClusterMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster in numbers, and the names of its namespaces."""

    nodes: int = 0
    nodes_ready: int = 0
    namespaces: int = 0
    namespace_list: tuple[str, ...] = ()
    pods: int = 0
    pods_running: int = 0
    cpu_capacity: float = 0.0
    memory_capacity: int = 0
    deployments: int = 0


class CustomCollectedResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One object of a MetricSource."""

    id: str = ""
    namespace: str = ""
    name: str = ""
    labels: Mapping[str, str] = {}
    values_json: bytes = b""


class CustomResourceBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What one MetricSource collected, or why it could not."""

    source_id: str = ""
    resource_count: int = 0
    truncated: bool = False
    duration_ms: int = 0
    resources: tuple[CustomCollectedResource, ...] = ()
    aggregation_values: Mapping[str, float] = {}
    aggregations_json: bytes = b""
    """All aggregations, with groups and nulls; wins over `aggregation_values`."""
    errors: tuple[str, ...] = ()
    """Namespaces that could not be read."""
    failure: str = ""
    """Why nothing could be read; then there are no rows."""


class ClusterInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Version and addresses."""

    api_url: str = ""
    version: str = ""
    platform: str = ""
    console_url: str = ""
    channel: str = ""
    cluster_id: str = ""
    details_json: bytes = b""


class MetricsBatch(msgspec.Struct, frozen=True, kw_only=True):
    """One cycle of a collector, or a part of one."""

    cluster_name: str = ""
    batch_id: str = ""
    collected_at: datetime | None = None
    cluster_metrics: ClusterMetrics | None = None
    node_metrics: tuple[NodeFacts, ...] = ()
    custom_resources: tuple[CustomResourceBatch, ...] = ()
    operators: tuple[OperatorFacts, ...] = ()
    cluster_operators: tuple[ClusterOperatorFacts, ...] = ()
    cluster_info: ClusterInfo | None = None
    sequence: int = 0
    """Counts up from 1 in one run of a collector; 0 means that batches are not numbered."""
    chunk_index: int = 0
    chunk_count: int = 0
    agent_id: str = ""
    resources_json: bytes = b""
    parts: tuple[str, ...] = ()
    """Which lists were read, so that an empty one differs from one that was not read."""


class HealthReport(msgspec.Struct, frozen=True, kw_only=True):
    """A heartbeat."""

    cluster_name: str = ""
    timestamp: datetime | None = None
    uptime_seconds: int = 0
    buffered_batches: int = 0
    last_collection_duration_ms: int = 0
    dropped_batches: int = 0


class ConnectRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a collector sends: exactly one of these."""

    metrics: MetricsBatch | None = None
    health: HealthReport | None = None
    register: RegisterRequest | None = None


class ConfigUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """The whole set of MetricSources; replaces what was sent before."""

    metric_sources_json: tuple[bytes, ...] = ()
    default_interval_seconds: int = 0


class Ack(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a batch."""

    batch_id: str = ""
    success: bool = False
    error: str = ""
    is_permanent: bool = False
    """The batch can never be stored: sending it again is useless."""


class ConnectResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What the hub sends: exactly one of these."""

    config: ConfigUpdate | None = None
    ack: Ack | None = None


class Field(NamedTuple):
    """One field. Types: a scalar, `Timestamp`, a message, `repeated X`, `map X`, `optional X`."""

    number: int
    name: str
    type: str


class Message(NamedTuple):
    """One message and the type it becomes."""

    type: type[Any]
    fields: tuple[Field, ...]
    oneof: str = ""
    """All fields are alternatives of this name."""
    reserved: str = ""


def _list_fields(*groups: tuple[int, str, str]) -> tuple[Field, ...]:
    """Fields from (first number, type, names): names of a group are numbered in order."""
    return tuple(
        Field(first + index, name, type_)
        for first, type_, names in groups
        for index, name in enumerate(names.split())
    )


MESSAGES: dict[str, Message] = {
    "ConnectRequest": Message(
        ConnectRequest,
        _list_fields(
            (1, "MetricsBatch", "metrics"),
            (2, "HealthReport", "health"),
            (3, "RegisterRequest", "register"),
        ),
        oneof="payload",
    ),
    "ConnectResponse": Message(
        ConnectResponse,
        _list_fields((1, "ConfigUpdate", "config"), (2, "Ack", "ack")),
        oneof="payload",
    ),
    "RegisterRequest": Message(
        RegisterRequest, _list_fields((1, "string", "cluster_name token version agent_id"))
    ),
    "MetricsBatch": Message(
        MetricsBatch,
        _list_fields(
            (1, "string", "cluster_name batch_id"),
            (3, "Timestamp", "collected_at"),
            (4, "ClusterMetrics", "cluster_metrics"),
            (5, "repeated NodeMetrics", "node_metrics"),
            (6, "repeated CustomResourceBatch", "custom_resources"),
            (7, "repeated OperatorInfo", "operators"),
            (8, "repeated ClusterOperatorInfo", "cluster_operators"),
            (9, "ClusterInfo", "cluster_info"),
            (10, "int64", "sequence"),
            (11, "int32", "chunk_index chunk_count"),
            (13, "string", "agent_id"),
            (14, "bytes", "resources_json"),
            (15, "repeated string", "parts"),
        ),
    ),
    "ClusterMetrics": Message(
        ClusterMetrics,
        _list_fields(
            (1, "int32", "nodes nodes_ready"),
            (4, "int32", "namespaces"),
            (5, "repeated string", "namespace_list"),
            (6, "int32", "pods pods_running"),
            (10, "double", "cpu_capacity"),
            (14, "int64", "memory_capacity"),
            (22, "int32", "deployments"),
        ),
        reserved="3, 8, 9, 11 to 13, 15 to 21, 23, 24",
    ),
    "NodeMetrics": Message(
        NodeFacts,
        _list_fields(
            (1, "string", "name status"),
            (3, "repeated string", "roles"),
            (10, "double", "cpu_capacity"),
            (11, "int64", "memory_capacity storage_capacity"),
            (13, "int32", "pods_capacity"),
            (14, "double", "cpu_allocatable"),
            (15, "int64", "memory_allocatable storage_allocatable"),
            (17, "int32", "pods_allocatable"),
            (18, "double", "cpu_requested"),
            (19, "int64", "memory_requested"),
            (20, "double", "cpu_usage_percent memory_usage_percent"),
            (22, "int32", "pods_running pods_pending pods_failed pods_succeeded pods_total"),
            (30, "string", "kernel_version os_image container_runtime kubelet_version"),
            (34, "string", "architecture"),
            (35, "map string", "labels"),
            (36, "string", "internal_ip hostname external_ip"),
            (39, "int32", "images_count volumes_attached"),
            (41, "repeated NodeCondition", "conditions"),
            (42, "repeated NodeTaint", "taints"),
            (43, "map string", "annotations"),
            (44, "optional double", "cpu_used"),
            (45, "optional int64", "memory_used"),
        ),
    ),
    "NodeCondition": Message(
        NodeCondition,
        _list_fields(
            (1, "string", "type status reason message"),
            (5, "optional string", "last_transition_time"),
        ),
    ),
    "NodeTaint": Message(NodeTaint, _list_fields((1, "string", "key value effect"))),
    "CustomResourceBatch": Message(
        CustomResourceBatch,
        _list_fields(
            (1, "string", "source_id"),
            (2, "int32", "resource_count"),
            (3, "bool", "truncated"),
            (4, "int64", "duration_ms"),
            (5, "repeated CustomCollectedResource", "resources"),
            (6, "map double", "aggregation_values"),
            (7, "bytes", "aggregations_json"),
            (8, "repeated string", "errors"),
            (9, "string", "failure"),
        ),
    ),
    "CustomCollectedResource": Message(
        CustomCollectedResource,
        _list_fields(
            (1, "string", "id namespace name"),
            (4, "map string", "labels"),
            (5, "bytes", "values_json"),
        ),
    ),
    "OperatorInfo": Message(
        OperatorFacts,
        _list_fields(
            (1, "string", "name display_name version status installed_namespace install_mode"),
            (7, "string", "provider"),
            (8, "bool", "is_cluster_wide"),
            (9, "repeated string", "install_modes available_in_namespaces"),
            (11, "int32", "available_count"),
            (13, "string", "namespace created_at updated_at available_namespaces_detail"),
            (17, "repeated string", "all_available_namespaces"),
        ),
        reserved="12",  # subscription: never filled
    ),
    "ClusterOperatorInfo": Message(
        ClusterOperatorFacts,
        _list_fields(
            (1, "string", "name version"),
            (3, "bool", "available progressing degraded upgradeable"),
            (7, "string", "message reason"),
            (9, "repeated ClusterOperatorCondition", "conditions"),
            (10, "repeated OperandVersion", "versions"),
            (11, "repeated RelatedObject", "related_objects"),
            (12, "string", "last_transition_time"),
        ),
    ),
    "ClusterOperatorCondition": Message(
        OperatorCondition,
        _list_fields((1, "string", "type status reason message last_transition_time")),
    ),
    "OperandVersion": Message(OperandVersion, _list_fields((1, "string", "name version"))),
    "RelatedObject": Message(
        RelatedObject, _list_fields((1, "string", "group resource namespace name"))
    ),
    "ClusterInfo": Message(
        ClusterInfo,
        _list_fields(
            (1, "string", "api_url version platform console_url channel cluster_id"),
            (7, "bytes", "details_json"),
        ),
    ),
    "HealthReport": Message(
        HealthReport,
        _list_fields(
            (1, "string", "cluster_name"),
            (2, "Timestamp", "timestamp"),
            (3, "int64", "uptime_seconds"),
            (4, "int32", "buffered_batches"),
            (5, "int64", "last_collection_duration_ms dropped_batches"),
        ),
    ),
    "ConfigUpdate": Message(
        ConfigUpdate,
        _list_fields(
            (1, "repeated bytes", "metric_sources_json"), (2, "int32", "default_interval_seconds")
        ),
    ),
    "Ack": Message(
        Ack,
        _list_fields((1, "string", "batch_id"), (2, "bool", "success"), (3, "string", "error"))
        + _list_fields((4, "bool", "is_permanent")),
    ),
}
