"""The messages of `pipeline.v1` and `collector.v1`: names, numbers and types of their fields."""

from typing import NamedTuple

from quarterdeck.telemetry.fleet import opamp
from quarterdeck.telemetry.fleet.fields import Field
from quarterdeck.telemetry.fleet.fields import declare_fields as _declare_fields

ENUMS: dict[str, tuple[str, ...]] = {
    "ConfigType": ("CONFIG_TYPE_UNSPECIFIED", "CONFIG_TYPE_ALLOY", "CONFIG_TYPE_OTEL"),
    "SourceType": (
        "SOURCE_TYPE_UNSPECIFIED",
        "SOURCE_TYPE_GIT",
        "SOURCE_TYPE_TERRAFORM",
        "SOURCE_TYPE_GRAFANA",
    ),
    "RevisionOperation": ("UNSPECIFIED", "INSERT", "UPDATE", "DELETE"),
    "CollectorType": ("COLLECTOR_TYPE_UNSPECIFIED", "COLLECTOR_TYPE_ALLOY", "COLLECTOR_TYPE_OTEL"),
    "OpType": ("UNKNOWN", "ADD", "REMOVE", "REPLACE", "MOVE", "COPY"),
    "RemoteConfigStatuses": (
        "RemoteConfigStatuses_UNSET",
        "RemoteConfigStatuses_APPLIED",
        "RemoteConfigStatuses_APPLYING",
        "RemoteConfigStatuses_FAILED",
    ),
}


NUMBERS = ("int32", "uint64")
"""Scalars encoded as varints; none of ours is ever negative."""


_WRITE_PIPELINE = _declare_fields((1, "pipeline", "Pipeline"), (2, "validateOnly", "bool"))
_IDS = _declare_fields((1, "ids", "repeated string"))
_ID = _declare_fields((1, "id", "string"))
_COLLECTOR = _declare_fields((1, "collector", "Collector"))

MESSAGES: dict[str, tuple[Field, ...]] = {
    **opamp.MESSAGES,
    "Empty": (),
    "Pipeline": _declare_fields(
        (1, "name", "string"),
        (2, "contents", "string"),
        (3, "matchers", "repeated string"),
        (4, "createdAt", "optional Timestamp"),
        (5, "updatedAt", "optional Timestamp"),
        (6, "enabled", "optional bool"),
        (7, "id", "optional string"),
        (8, "metadata", "optional Struct"),
        (9, "source", "optional PipelineSource"),
        (10, "configType", "ConfigType"),
    ),
    "PipelineSource": _declare_fields((1, "type", "SourceType"), (2, "namespace", "string")),
    "Pipelines": _declare_fields((1, "pipelines", "repeated Pipeline")),
    "GetPipelineRequest": _declare_fields((2, "id", "string")),
    "DeletePipelineRequest": _declare_fields((2, "id", "string")),
    "GetPipelineIDRequest": _declare_fields((1, "name", "string")),
    "GetPipelineIDResponse": _ID,
    "ListPipelinesRequest": _declare_fields(
        (1, "localAttributes", "map string"),
        (2, "remoteAttributes", "map string"),
        (3, "configType", "optional ConfigType"),
        (4, "enabled", "optional bool"),
    ),
    "CreatePipelineRequest": _WRITE_PIPELINE,
    "UpdatePipelineRequest": _WRITE_PIPELINE,
    "UpsertPipelineRequest": _WRITE_PIPELINE,
    "BulkDeletePipelinesRequest": _IDS,
    "SyncPipelinesRequest": _declare_fields(
        (1, "source", "PipelineSource"), (2, "pipelines", "repeated Pipeline")
    ),
    "PipelineRevision": _declare_fields(
        (1, "revisionId", "string"),
        (2, "snapshot", "Pipeline"),
        (3, "createdAt", "Timestamp"),
        (4, "operation", "RevisionOperation"),
    ),
    "PipelineRevisions": _declare_fields((1, "pipelineRevisions", "repeated PipelineRevision")),
    "ListPipelineRevisionsRequest": _ID,
    "GetPipelineRevisionRequest": _declare_fields((1, "revisionId", "string")),
    "Collector": _declare_fields(
        (1, "id", "string"),
        (2, "attributeOverrides", "map string"),
        (3, "createdAt", "optional Timestamp"),
        (4, "updatedAt", "optional Timestamp"),
        (5, "name", "string"),
        (6, "attributes", "map string"),
        (7, "enabled", "optional bool"),
        (8, "remoteAttributes", "map string"),
        (9, "localAttributes", "map string"),
        (10, "markedInactiveAt", "optional Timestamp"),
        (11, "collectorType", "CollectorType"),
    ),
    "Collectors": _declare_fields((1, "collectors", "repeated Collector")),
    "GetCollectorRequest": _ID,
    "ListCollectorsRequest": _declare_fields((1, "matchers", "repeated string")),
    "CreateCollectorRequest": _COLLECTOR,
    "UpdateCollectorRequest": _COLLECTOR,
    "DeleteCollectorRequest": _ID,
    "BulkDeleteCollectorsRequest": _IDS,
    "BulkUpdateCollectorsRequest": _declare_fields(
        (1, "ids", "repeated string"), (2, "ops", "repeated Operation")
    ),
    "Operation": _declare_fields(
        (1, "op", "OpType"),
        (2, "path", "string"),
        (3, "from", "optional string"),
        (4, "value", "optional string"),
        (5, "oldValue", "optional string"),
    ),
    "ListCollectorAttributesResponse": _declare_fields(
        (1, "attributes", "map Attributes"),
        (2, "attributeOverrides", "map Attributes"),
        (3, "localAttributes", "map Attributes"),
        (4, "remoteAttributes", "map Attributes"),
    ),
    "Attributes": _declare_fields((1, "values", "repeated Value")),
    "Value": _declare_fields((1, "value", "string")),
    "GetConfigRequest": _declare_fields(
        (1, "id", "string"),
        (2, "attributes", "map string"),
        (3, "hash", "string"),
        (4, "localAttributes", "map string"),
        (5, "remoteConfigStatus", "RemoteConfigStatus"),
        (6, "effectiveConfig", "EffectiveConfig"),
    ),
    "RemoteConfigStatus": _declare_fields(
        (1, "status", "RemoteConfigStatuses"), (2, "errorMessage", "string")
    ),
    "EffectiveConfig": _declare_fields((1, "configMap", "AgentConfigMap")),
    "AgentConfigMap": _declare_fields((1, "configMap", "map AgentConfigFile")),
    "AgentConfigFile": _declare_fields((1, "body", "bytes"), (2, "contentType", "string")),
    "GetConfigResponse": _declare_fields(
        (1, "content", "string"), (2, "hash", "string"), (3, "notModified", "bool")
    ),
    "RegisterCollectorRequest": _declare_fields(
        (1, "id", "string"),
        (2, "attributes", "map string"),
        (3, "name", "string"),
        (4, "localAttributes", "map string"),
    ),
    "UnregisterCollectorRequest": _ID,
    "Deliveries": _declare_fields(
        (1, "pipelines", "repeated PipelineDelivery"), (2, "canRollOut", "bool")
    ),
    "PipelineDelivery": _declare_fields(
        (1, "id", "string"),
        (2, "parts", "repeated PartDelivery"),
        (3, "conflicts", "repeated string"),
    ),
    "PartDelivery": _declare_fields(
        (1, "digest", "string"),
        (2, "assigned", "int32"),
        (3, "applied", "int32"),
        (4, "applying", "int32"),
        (5, "failed", "int32"),
        (6, "stale", "int32"),
        (7, "failures", "repeated string"),
    ),
    "CollectorStates": _declare_fields((1, "collectors", "repeated CollectorState")),
    "CollectorState": _declare_fields(
        (1, "id", "string"),
        (2, "lastSeen", "optional Timestamp"),
        (3, "status", "string"),
        (4, "errorMessage", "string"),
        (5, "pipelines", "repeated string"),
        (6, "servedHash", "string"),
    ),
}


class Method(NamedTuple):
    """One RPC."""

    request: str
    response: str
    scope: str
    """The scope that a token needs: `read`, `write`, or `agent` for calls of collectors."""
    has_side_effects: bool = True


_READ_PIPELINES = {
    "GetPipeline": Method("GetPipelineRequest", "Pipeline", "read"),
    "GetPipelineID": Method("GetPipelineIDRequest", "GetPipelineIDResponse", "read"),
    "ListPipelines": Method("ListPipelinesRequest", "Pipelines", "read"),
    "ListPipelinesRevisions": Method("Empty", "PipelineRevisions", "read"),
    "ListPipelineRevisions": Method("ListPipelineRevisionsRequest", "PipelineRevisions", "read"),
    "GetPipelineRevision": Method("GetPipelineRevisionRequest", "PipelineRevision", "read"),
}
_WRITE_PIPELINES = {
    "CreatePipeline": Method("CreatePipelineRequest", "Pipeline", "write"),
    "UpdatePipeline": Method("UpdatePipelineRequest", "Pipeline", "write"),
    "UpsertPipeline": Method("UpsertPipelineRequest", "Pipeline", "write"),
    "DeletePipeline": Method("DeletePipelineRequest", "Empty", "write"),
    "BulkDeletePipelines": Method("BulkDeletePipelinesRequest", "Empty", "write"),
    "SyncPipelines": Method("SyncPipelinesRequest", "Empty", "write"),
}
_COLLECTORS = {
    "GetCollector": Method("GetCollectorRequest", "Collector", "read"),
    "ListCollectors": Method("ListCollectorsRequest", "Collectors", "read"),
    "ListCollectorAttributes": Method("Empty", "ListCollectorAttributesResponse", "read"),
    "CreateCollector": Method("CreateCollectorRequest", "Collector", "write"),
    "UpdateCollector": Method("UpdateCollectorRequest", "Collector", "write"),
    "BulkUpdateCollectors": Method("BulkUpdateCollectorsRequest", "Empty", "write"),
    "DeleteCollector": Method("DeleteCollectorRequest", "Empty", "write"),
    "BulkDeleteCollectors": Method("BulkDeleteCollectorsRequest", "Empty", "write"),
    "GetConfig": Method("GetConfigRequest", "GetConfigResponse", "agent", has_side_effects=False),
    "RegisterCollector": Method("RegisterCollectorRequest", "Empty", "agent"),
    "UnregisterCollector": Method("UnregisterCollectorRequest", "Empty", "agent"),
}
SERVICES: dict[str, dict[str, Method]] = {
    "pipeline.v1.PipelineService": {**_READ_PIPELINES, **_WRITE_PIPELINES},
    "collector.v1.CollectorService": _COLLECTORS,
    "quarterdeck.v1.DeliveryService": {
        "ListDeliveries": Method("Empty", "Deliveries", "read"),
        "ListCollectorStates": Method("Empty", "CollectorStates", "read"),
    },
}
"""All RPCs by service; `quarterdeck.v1` is our own, with states that agents report."""
