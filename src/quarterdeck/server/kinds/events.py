"""Events: one stored object served by two API groups."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.meta.field import FieldError, invalid, required
from quarterdeck.server.kinds.fields import get_field, get_mapping
from quarterdeck.server.kinds.strategy import Rules, get_text
from quarterdeck.server.registry.printer import (
    NAME_TEXT,
    build_column,
    build_wide_column,
    format_age,
)
from quarterdeck.server.registry.resource import Column, Context, Object

_EVENTS_API_VERSION = "events.k8s.io/v1"
_RENAMED_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE_FIELDS = {new: old for old, new in _RENAMED_FIELDS.items()}
_REFERENCE_FIELDS = (
    "kind",
    "namespace",
    "name",
    "uid",
    "apiVersion",
    "resourceVersion",
    "fieldPath",
)


def to_core(value: Object) -> Object:
    """The stored form of an event of the newer group."""
    if value.get("apiVersion") != _EVENTS_API_VERSION:
        return value
    stored = {_CORE_FIELDS.get(name, name): member for name, member in value.items()}
    stored["apiVersion"] = "v1"
    for member in ("reportingComponent", "reportingInstance"):
        stored.setdefault(member, "")
    stored.setdefault("message", "")
    return {name: member for name, member in stored.items() if name != "message" or member}


def to_new(value: Object) -> Object:
    """The newer form of a stored event."""
    if value.get("apiVersion") == _EVENTS_API_VERSION:
        return value
    served = {_RENAMED_FIELDS.get(name, name): member for name, member in value.items()}
    served["apiVersion"] = _EVENTS_API_VERSION
    for member in ("reportingController", "reportingInstance"):
        if not served.get(member):
            served.pop(member, None)
    return served


def _validate(event: Object, context: Context) -> Iterator[FieldError]:
    """Check an event of the core group: its namespace is that of its object."""
    involved = get_mapping(event, "involvedObject")
    namespace, home = involved.get("namespace") or "", event["metadata"].get("namespace") or ""
    if not namespace:
        if home not in ("default", "kube-system"):
            yield invalid("involvedObject.namespace", namespace, "does not match event.namespace")
    elif namespace != home:
        yield invalid("involvedObject.namespace", namespace, "does not match event.namespace")


def _validate_new(event: Object, context: Context) -> Iterator[FieldError]:
    """Check an event of `events.k8s.io`: time, reporter and action are required."""
    yield from _validate(to_core(event), context)
    for member in ("reportingController", "reportingInstance", "action", "reason"):
        if not event.get(member):
            yield required(member)
    if not event.get("eventTime"):
        yield required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        kind = event.get("type") or ""
        yield invalid("type", "", f"has invalid value: {kind}")


def _build_cells(value: Object, now: datetime) -> Sequence[object]:
    event = to_core(value)
    first = event.get("firstTimestamp") or event.get("eventTime")
    last = event.get("lastTimestamp") or first
    count = event.get("count") or 1
    if series := event.get("series"):
        last, count = series.get("lastObservedTime"), series.get("count") or 0
    involved = get_mapping(event, "involvedObject")
    kind, name = (involved.get("kind") or "").lower(), involved.get("name")
    return (
        format_age(last, now),
        event.get("type") or "",
        event.get("reason") or "",
        f"{kind}/{name}" if name else kind,
        involved.get("fieldPath") or "",
        _format_source(event),
        (event.get("message") or "").strip(),
        format_age(first, now),
        count,
        value["metadata"].get("name", ""),
    )


def _format_source(event: Object) -> str:
    component = get_field(event, "source", "component") or event.get("reportingComponent") or ""
    host = get_field(event, "source", "host") or event.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component


def _get_core_field_values(event: Object) -> Mapping[str, str]:
    values = {
        f"involvedObject.{name}": get_text(event, f"involvedObject.{name}")
        for name in _REFERENCE_FIELDS
    }
    source = get_field(event, "source", "component") or event.get("reportingComponent") or ""
    return values | {
        "reason": event.get("reason") or "",
        "reportingComponent": event.get("reportingComponent") or "",
        "source": source,
        "type": event.get("type") or "",
    }


def _get_field_values(event: Object) -> Mapping[str, str]:
    core: Any = _get_core_field_values(to_core(event))
    values = {name.replace("involvedObject.", "regarding."): text for name, text in core.items()}
    values["reportingController"] = values.pop("reportingComponent")
    values.pop("source")
    return values


_COLUMNS = (
    build_column("Last Seen"),
    build_column("Type"),
    build_column("Reason"),
    build_column("Object"),
    build_wide_column("Subobject"),
    build_wide_column("Source"),
    build_column("Message"),
    build_wide_column("First Seen"),
    build_wide_column("Count"),
    Column(name="Name", format="name", description=NAME_TEXT, priority=1),
)

CORE_EVENT = Rules(
    validate=_validate,
    allows_create_on_update=True,
    selectable=dict.fromkeys(
        [f"involvedObject.{name}" for name in _REFERENCE_FIELDS]
        + ["reason", "reportingComponent", "source", "type"],
        "",
    ),
    field_values=_get_core_field_values,
    columns=_COLUMNS,
    cells=_build_cells,
)
NEW_EVENT = Rules(
    validate_new=_validate_new,
    allows_create_on_update=True,
    to_stored=to_core,
    to_served=to_new,
    converts=True,
    selectable=dict.fromkeys(
        [f"regarding.{name}" for name in _REFERENCE_FIELDS]
        + ["reason", "reportingController", "type"],
        "",
    ),
    field_values=_get_field_values,
    columns=_COLUMNS,
    cells=_build_cells,
)
