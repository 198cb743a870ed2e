"""Events: one stored object served by two API groups."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.kit.rfc3339 import parse as parse_time
from quarterdeck.meta import names
from quarterdeck.meta.field import Bare, FieldError, Verbatim, invalid, prints_json, quote, required
from quarterdeck.server.kinds.fields import get_field, get_mapping
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.strategy import get_text
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

_GO_REFERENCE = (
    ("Kind", "kind"),
    ("Namespace", "namespace"),
    ("Name", "name"),
    ("UID", "uid"),
    ("APIVersion", "apiVersion"),
    ("ResourceVersion", "resourceVersion"),
    ("FieldPath", "fieldPath"),
)
_IMMUTABLE_FIELDS = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp"),
    *("count", "reason", "type", "eventTime", "action", "related"),
    *("reportingComponent", "reportingInstance"),
)
_TEXT_LIMIT = 128
_MESSAGE_LIMIT = 1024


def to_core_v1(value: Object) -> Object:
    """Convert an event of `events.k8s.io` to its stored form, of the core group."""
    if value.get("apiVersion") != _EVENTS_API_VERSION:
        return value
    stored = {_CORE_FIELDS.get(name, name): member for name, member in value.items()}
    stored["apiVersion"] = "v1"
    for member in ("reportingComponent", "reportingInstance"):
        stored.setdefault(member, "")
    stored.setdefault("message", "")
    return {name: member for name, member in stored.items() if name != "message" or member}


def to_events_v1(value: Object) -> Object:
    """Convert a stored event to `events.k8s.io`."""
    if value.get("apiVersion") == _EVENTS_API_VERSION:
        return value
    served = {_RENAMED_FIELDS.get(name, name): member for name, member in value.items()}
    served["apiVersion"] = _EVENTS_API_VERSION
    for member in ("reportingController", "reportingInstance"):
        if not served.get(member):
            served.pop(member, None)
    return served


def _validate(event: Object, context: Context) -> Iterator[FieldError]:
    """Check an event of the core group."""
    yield from _validate_common(event, reporter="reportingComponent")


def _validate_common(event: Object, *, reporter: str) -> Iterator[FieldError]:
    """Check the rules of both groups; `eventTime` requires reporter, action and reason."""
    namespace = get_mapping(event, "involvedObject").get("namespace") or ""
    home = event["metadata"].get("namespace") or ""
    homes = ("default", "kube-system") if event.get("eventTime") else ("", "default")
    is_elsewhere = namespace != home and not event.get("eventTime")
    if (not namespace and home not in homes) or (namespace and is_elsewhere):
        yield invalid("involvedObject.namespace", namespace, "does not match event.namespace")
    if not event.get("eventTime"):
        return
    controller = event.get("reportingComponent") or ""
    if not controller:
        yield required(reporter)
    for problem in names.check_qualified_name(controller):
        yield invalid(reporter, controller, problem)
    for member in ("reportingInstance", "action", "reason"):
        if not event.get(member):
            yield required(member)
        yield from _validate_length(member, event.get(member) or "", _TEXT_LIMIT)
    yield from _validate_length("message", event.get("message") or "", _MESSAGE_LIMIT)


def _validate_length(path: str, text: str, limit: int) -> Iterator[FieldError]:
    if len(text.encode()) > limit:
        yield invalid(path, "", f"can have at most {limit} characters")


def _validate_both(event: Object, context: Context) -> Iterator[FieldError]:
    """Check an event of `events.k8s.io`, new or changed."""
    yield from _validate_common(to_core_v1(event), reporter="reportingController")


def _validate_new(event: Object, context: Context) -> Iterator[FieldError]:
    """Check a new event of `events.k8s.io`, which has none of the deprecated members."""
    core = to_core_v1(event)
    yield from _validate_series(core)
    if not core.get("eventTime"):
        yield required("eventTime")
    if core.get("type") not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {core.get('type') or ''}")
    for member in ("firstTimestamp", "lastTimestamp", "count"):
        if core.get(member):
            yield invalid(member, "", "needs to be unset")
    source = get_mapping(core, "source")
    if source.get("component") or source.get("host"):
        yield invalid("source", "", "needs to be unset")


def _validate_series(core: Object) -> Iterator[FieldError]:
    series = core.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        yield invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def _validate_change(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    """Refuse changes by `events.k8s.io` of anything but the series."""
    event, before = to_core_v1(value), to_core_v1(old)
    if event.get("series") != before.get("series"):
        yield from _validate_series(event)
    for member in _IMMUTABLE_FIELDS:
        name = "reportingController" if member == "reportingComponent" else member
        if (event.get(member) or None) != (before.get(member) or None):
            yield invalid(name, _show_member(member, event.get(member)), "field is immutable")


def _show_member(member: str, value: Any) -> object:
    """Format a member as Go prints it."""
    if member in ("involvedObject", "related"):
        reference = value or {}
        shown = ", ".join(f"{go}:{quote(reference.get(name) or '')}" for go, name in _GO_REFERENCE)
        return Bare(f"core.ObjectReference{{{shown}}}")
    if member == "source":
        source = value or {}
        component, host = source.get("component") or "", source.get("host") or ""
        return Bare(f"core.EventSource{{Component:{quote(component)}, Host:{quote(host)}}}")
    if member.endswith(("Time", "Timestamp")):
        if prints_json():
            return Verbatim(f'"{value}"' if value else "null")
        return Bare(_show_time(value))
    return value if value is not None else (0 if member == "count" else "")


def _show_time(text: str | None) -> str:
    if not text:
        return "0001-01-01 00:00:00 +0000 UTC"
    moment = parse_time(text)
    fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction} +0000 UTC"


def _build_cells(value: Object, now: datetime) -> Sequence[object]:
    event = to_core_v1(value)
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
    core: Any = _get_core_field_values(to_core_v1(event))
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

CORE_V1_EVENT = Rules(
    validate=_validate,
    name="path",
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
EVENTS_V1_EVENT = Rules(
    validate=_validate_both,
    validate_new=_validate_new,
    validate_change=_validate_change,
    allows_create_on_update=True,
    to_stored=to_core_v1,
    to_served=to_events_v1,
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
