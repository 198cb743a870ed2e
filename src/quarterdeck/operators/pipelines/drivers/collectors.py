"""Parses a server's answers about collectors. Pure; validates as `answers` does.

What agents say of their failures may repeat parts of a configuration or credentials, so it is
masked here, before it reaches a status, an event or a log.
"""

from collections.abc import Mapping

from quarterdeck.kit.redaction import Masker
from quarterdeck.operators.pipelines.drivers.answers import MAX_ID, MAX_READ, read_list
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
_NO_SECRETS = Masker()
_TYPES = ("COLLECTOR_TYPE_UNSPECIFIED", "COLLECTOR_TYPE_ALLOY", "COLLECTOR_TYPE_OTEL")


def read_collector(message: object) -> RemoteCollector:
    """Decode a collector from a message; unknown members are ignored.

    Raises:
        CallFailed: if a member has another type, or there is no id.
    """
    if not isinstance(message, Mapping):
        raise _build_shape_error("a collector is not an object")
    identity = _read_text(message, "id")
    if not identity or len(identity) > MAX_ID:
        raise _build_shape_error("a collector has no usable id")
    kind = message.get("collectorType")
    if isinstance(kind, int) and 0 <= kind < len(_TYPES):
        kind = _TYPES[kind]
    return RemoteCollector(
        id=identity,
        name=_read_text(message, "name"),
        enabled=message.get("enabled") is not False,
        type=str(kind) if kind in _TYPES else _TYPES[0],
        local=_read_texts(message, "localAttributes") or _read_texts(message, "attributes"),
        remote=_read_texts(message, "remoteAttributes")
        or _read_texts(message, "attributeOverrides"),
        created_at=_read_text(message, "createdAt"),
        updated_at=_read_text(message, "updatedAt"),
        marked_inactive_at=_read_text(message, "markedInactiveAt"),
    )


def read_deliveries(message: Message, masker: Masker = _NO_SECRETS) -> Deliveries:
    """What collectors report about each pipeline, by the pipeline's id; texts are masked."""
    found = {}
    for entry in read_list(message, "pipelines"):
        parts = tuple(_read_part(each, masker) for each in read_list(entry, "parts"))
        conflicts = entry.get("conflicts") or ()
        if not isinstance(conflicts, list | tuple):
            raise _build_shape_error("conflicts is not a list")
        identity = _read_text(entry, "id")
        names = tuple(_mask(str(each), masker)[:MAX_ID] for each in conflicts)
        found[identity] = PipelineDelivery(identity, parts, names)
    return Deliveries(found, can_roll_out=message.get("canRollOut") is True)


def _read_part(entry: Message, masker: Masker) -> PartDelivery:
    failures = entry.get("failures") or ()
    if not isinstance(failures, list | tuple):
        raise _build_shape_error("failures is not a list")
    return PartDelivery(
        _read_text(entry, "digest"),
        assigned=_read_number(entry, "assigned"),
        applied=_read_number(entry, "applied"),
        applying=_read_number(entry, "applying"),
        failed=_read_number(entry, "failed"),
        stale=_read_number(entry, "stale"),
        failures=tuple(_mask(str(each), masker)[:MAX_TEXT] for each in failures),
    )


def read_states(message: Message, masker: Masker = _NO_SECRETS) -> dict[str, CollectorState]:
    """What each collector reported of itself, by its id; texts are masked."""
    found = {}
    for entry in read_list(message, "collectors"):
        pipelines = entry.get("pipelines") or ()
        if not isinstance(pipelines, list | tuple):
            raise _build_shape_error("pipelines is not a list")
        state = CollectorState(
            id=_read_text(entry, "id"),
            last_seen=_read_text(entry, "lastSeen"),
            status=_read_text(entry, "status"),
            error_message=_mask(_read_text(entry, "errorMessage"), masker)[:MAX_TEXT],
            pipelines=tuple(str(each)[:MAX_ID] for each in pipelines),
        )
        found[state.id] = state
    return found


def _mask(text: str, masker: Masker) -> str:
    """Mask what is shown of a text; most texts are empty."""
    return masker.mask(text[:MAX_READ]) if text else ""


def _read_number(message: Message, name: str) -> int:
    value = message.get(name) or 0
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _build_shape_error(f"{name} is not a count")
    return value


def _read_text(message: Message, name: str) -> str:
    value = message.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _build_shape_error(f"{name} is a {type(value).__name__}, expected a string")
    return value


def _read_texts(message: Message, name: str) -> dict[str, str]:
    value = message.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value.values()):
        raise _build_shape_error(f"{name} is not a map of strings")
    return dict(value)


def _build_shape_error(problem: str) -> CallFailed:
    return CallFailed(
        Code.INTERNAL, f"unexpected response of the fleet server: {problem}; check the URL"
    )
