"""Numbers, names and types of the fields of `clusterpulse.collector.v1`.

Field numbers are those of existing collectors. Fields that this project adds use other numbers, so
that either side may be older.
"""

from typing import Any, NamedTuple

from quarterdeck.inventory.cluster_operators import (
    ClusterOperatorFacts,
    OperandVersion,
    OperatorCondition,
    RelatedObject,
)
from quarterdeck.inventory.nodes import NodeCondition, NodeFacts, NodeTaint
from quarterdeck.inventory.operators import OperatorFacts
from quarterdeck.inventory.push.messages import (
    Ack,
    ClusterInfo,
    ClusterMetrics,
    ConfigUpdate,
    ConnectRequest,
    ConnectResponse,
    CustomCollectedResource,
    CustomResourceBatch,
    HealthReport,
    MetricsBatch,
    RegisterRequest,
)

PACKAGE = "clusterpulse.collector.v1"
SERVICE = "CollectorService"
METHOD = f"/{PACKAGE}.{SERVICE}/Connect"


class Field(NamedTuple):
    """One field. Types: a scalar, `Timestamp`, a message, `repeated X`, `map X`, `optional X`."""

    number: int
    name: str
    type: str


class Message(NamedTuple):
    """One message and its Python type."""

    type: type[Any]
    fields: tuple[Field, ...]
    oneof: str = ""
    """Name of the oneof that all fields belong to; empty if there is none."""
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
