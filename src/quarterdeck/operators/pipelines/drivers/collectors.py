"""Reading what a server says about collectors. Pure; as distrustful as `answers`.

What agents say of their failures may repeat parts of a configuration, so it is redacted here,
before it reaches a status, an event or a log.
"""

from collections.abc import Mapping

from quarterdeck.kit.redaction import redact
from quarterdeck.operators.pipelines.drivers.answers import MAX_ID, read_list
from quarterdeck.operators.pipelines.ports import (
    CallFailed,
    CollectorState,
    Deliveries,
    Message,
    PartDelivery,
    PipelineDelivery,
    RemoteCollector,
)
from quarterdeck.telemetry.fleet.codes import Code

MAX_TEXT = 1024
_TYPES = ("COLLECTOR_TYPE_UNSPECIFIED", "COLLECTOR_TYPE_ALLOY", "COLLECTOR_TYPE_OTEL")


def read_collector(message: object) -> RemoteCollector:
    """A collector from a message; members we do not know are ignored.

    Raises:
        CallFailed: if a member has another type, or there is no id.
    """
    if not isinstance(message, Mapping):
        raise _wrong_shape("a collector is not an object")
    identity = _text(message, "id")
    if not identity or len(identity) > MAX_ID:
        raise _wrong_shape("a collector has no usable id")
    kind = message.get("collectorType")
    if isinstance(kind, int) and 0 <= kind < len(_TYPES):
        kind = _TYPES[kind]
    return RemoteCollector(
        id=identity,
        name=_text(message, "name"),
        enabled=message.get("enabled") is not False,
        type=str(kind) if kind in _TYPES else _TYPES[0],
        local=_texts(message, "localAttributes") or _texts(message, "attributes"),
        remote=_texts(message, "remoteAttributes") or _texts(message, "attributeOverrides"),
        created_at=_text(message, "createdAt"),
        updated_at=_text(message, "updatedAt"),
        marked_inactive_at=_text(message, "markedInactiveAt"),
    )


def read_deliveries(message: Message) -> Deliveries:
    """What collectors report about each pipeline, by the pipeline's id."""
    found = {}
    for entry in read_list(message, "pipelines"):
        parts = tuple(_read_part(each) for each in read_list(entry, "parts"))
        conflicts = entry.get("conflicts") or ()
        if not isinstance(conflicts, list | tuple):
            raise _wrong_shape("conflicts is not a list")
        identity = _text(entry, "id")
        names = tuple(str(each)[:MAX_ID] for each in conflicts)
        found[identity] = PipelineDelivery(identity, parts, names)
    return Deliveries(found, can_roll_out=message.get("canRollOut") is True)


def _read_part(entry: Message) -> PartDelivery:
    failures = entry.get("failures") or ()
    if not isinstance(failures, list | tuple):
        raise _wrong_shape("failures is not a list")
    return PartDelivery(
        _text(entry, "digest"),
        assigned=_number(entry, "assigned"),
        applied=_number(entry, "applied"),
        applying=_number(entry, "applying"),
        failed=_number(entry, "failed"),
        stale=_number(entry, "stale"),
        failures=tuple(redact(str(each))[:MAX_TEXT] for each in failures),
    )


def read_states(message: Message) -> dict[str, CollectorState]:
    """What each collector reported of itself, by its id."""
    found = {}
    for entry in read_list(message, "collectors"):
        pipelines = entry.get("pipelines") or ()
        if not isinstance(pipelines, list | tuple):
            raise _wrong_shape("pipelines is not a list")
        state = CollectorState(
            id=_text(entry, "id"),
            last_seen=_text(entry, "lastSeen"),
            status=_text(entry, "status"),
            error_message=redact(_text(entry, "errorMessage"))[:MAX_TEXT],
            pipelines=tuple(str(each)[:MAX_ID] for each in pipelines),
        )
        found[state.id] = state
    return found


def _number(message: Message, name: str) -> int:
    value = message.get(name) or 0
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _wrong_shape(f"{name} is not a count")
    return value


def _text(message: Message, name: str) -> str:
    value = message.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong_shape(f"{name} is a {type(value).__name__}, expected a string")
    return value


def _texts(message: Message, name: str) -> dict[str, str]:
    value = message.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value.values()):
        raise _wrong_shape(f"{name} is not a map of strings")
    return dict(value)


def _wrong_shape(problem: str) -> CallFailed:
    return CallFailed(
        Code.INTERNAL, f"unexpected response of the fleet server: {problem}; check the URL"
    )
