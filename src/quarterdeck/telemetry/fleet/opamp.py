"""The OpAMP messages exchanged with agents of OpenTelemetry: numbers, names, types.

Only fields that are used are listed: both sides skip unknown fields.
"""

from quarterdeck.telemetry.fleet.fields import Field, declare_fields

REPORT_FULL_STATE = 1
"""Flag of the server: the agent should report its full state, which the server lacks."""
SERVER_CAPABILITIES = 0b111
"""AcceptsStatus, OffersRemoteConfig, AcceptsEffectiveConfig."""
REQUEST_INSTANCE_UID = 1
"""Flag of an agent: it requests a new instance UID."""
ACCEPTS_REMOTE_CONFIG = 0b10
"""Capability of an agent."""
UNAVAILABLE = 2
"""Type of an error after which an agent tries again."""

MESSAGES: dict[str, tuple[Field, ...]] = {
    "opamp.AgentToServer": declare_fields(
        (1, "instanceUid", "bytes"),
        (2, "sequenceNum", "uint64"),
        (3, "agentDescription", "optional opamp.AgentDescription"),
        (4, "capabilities", "uint64"),
        (7, "remoteConfigStatus", "optional opamp.RemoteConfigStatus"),
        (9, "agentDisconnect", "optional Empty"),
        (10, "flags", "uint64"),
    ),
    "opamp.ServerToAgent": declare_fields(
        (1, "instanceUid", "bytes"),
        (2, "errorResponse", "optional opamp.ServerErrorResponse"),
        (3, "remoteConfig", "optional opamp.AgentRemoteConfig"),
        (6, "flags", "uint64"),
        (7, "capabilities", "uint64"),
        (8, "agentIdentification", "optional opamp.AgentIdentification"),
    ),
    "opamp.AgentIdentification": declare_fields((1, "newInstanceUid", "bytes")),
    "opamp.AgentDescription": declare_fields(
        (1, "identifyingAttributes", "repeated opamp.KeyValue"),
        (2, "nonIdentifyingAttributes", "repeated opamp.KeyValue"),
    ),
    "opamp.KeyValue": declare_fields((1, "key", "string"), (2, "value", "optional opamp.AnyValue")),
    "opamp.AnyValue": declare_fields(
        (1, "stringValue", "optional string"),
        (2, "boolValue", "optional bool"),
        (3, "intValue", "optional uint64"),
    ),
    "opamp.RemoteConfigStatus": declare_fields(
        (1, "lastRemoteConfigHash", "bytes"),
        (2, "status", "RemoteConfigStatuses"),
        (3, "errorMessage", "string"),
    ),
    "opamp.AgentRemoteConfig": declare_fields(
        (1, "config", "optional AgentConfigMap"), (2, "configHash", "bytes")
    ),
    "opamp.ServerErrorResponse": declare_fields(
        (1, "type", "uint64"), (2, "errorMessage", "string")
    ),
}
