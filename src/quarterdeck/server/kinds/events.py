"""Events: one stored object, two faces.

`v1` and `events.k8s.io/v1` name the same members differently. What is stored is the older form;
the newer one is made of it on the way out, and turned back on the way in.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.meta.field import FieldError, invalid, required
from quarterdeck.server.kinds.fields import at, mapping
from quarterdeck.server.kinds.strategy import Rules, text_at
from quarterdeck.server.registry.printer import age, column, wide
from quarterdeck.server.registry.resource import Context, Object

_NEW = "events.k8s.io/v1"
_RENAMED = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_BACK = {new: old for old, new in _RENAMED.items()}
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def to_core(value: Object) -> Object:
    """The stored form of an event of the newer group."""
    if value.get("apiVersion") != _NEW:
        return value
    stored = {_BACK.get(name, name): member for name, member in value.items()}
    stored["apiVersion"] = "v1"
    for member in ("reportingComponent", "reportingInstance"):
        stored.setdefault(member, "")
    stored.setdefault("message", "")
    return {name: member for name, member in stored.items() if name != "message" or member}


def to_new(value: Object) -> Object:
    """The newer form of a stored event."""
    if value.get("apiVersion") == _NEW:
        return value
    served = {_RENAMED.get(name, name): member for name, member in value.items()}
    served["apiVersion"] = _NEW
    for member in ("reportingController", "reportingInstance"):
        if not served.get(member):
            served.pop(member, None)
    return served


def _problems(event: Object, context: Context) -> Iterator[FieldError]:
    """Rules of the older group: an event lives where its object lives."""
    involved = mapping(event, "involvedObject")
    namespace, home = involved.get("namespace") or "", event["metadata"].get("namespace") or ""
    if not namespace:
        if home not in ("default", "kube-system"):
            yield invalid("involvedObject.namespace", namespace, "does not match event.namespace")
    elif namespace != home:
        yield invalid("involvedObject.namespace", namespace, "does not match event.namespace")


def _new_problems(event: Object, context: Context) -> Iterator[FieldError]:
    """Rules of the newer group: an event says when, by whom, and what for."""
    yield from _problems(to_core(event), context)
    for member in ("reportingController", "reportingInstance", "action", "reason"):
        if not event.get(member):
            yield required(member)
    if not event.get("eventTime"):
        yield required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        kind = event.get("type") or ""
        yield invalid("type", "", f"has invalid value: {kind}")


def _cells(value: Object, now: datetime) -> Sequence[object]:
    event = to_core(value)
    first = event.get("firstTimestamp") or event.get("eventTime")
    last = event.get("lastTimestamp") or first
    count = event.get("count") or 1
    if series := event.get("series"):
        last, count = series.get("lastObservedTime"), series.get("count") or 0
    involved = mapping(event, "involvedObject")
    kind, name = (involved.get("kind") or "").lower(), involved.get("name")
    return (
        age(last, now),
        event.get("type") or "",
        event.get("reason") or "",
        f"{kind}/{name}" if name else kind,
        involved.get("fieldPath") or "",
        _source(event),
        (event.get("message") or "").strip(),
        age(first, now),
        count,
        value["metadata"].get("name", ""),
    )


def _source(event: Object) -> str:
    component = at(event, "source", "component") or event.get("reportingComponent") or ""
    host = at(event, "source", "host") or event.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component


def _core_fields(event: Object) -> Mapping[str, str]:
    values = {
        f"involvedObject.{name}": text_at(event, f"involvedObject.{name}") for name in _REFERENCE
    }
    source = at(event, "source", "component") or event.get("reportingComponent") or ""
    return values | {
        "reason": event.get("reason") or "",
        "reportingComponent": event.get("reportingComponent") or "",
        "source": source,
        "type": event.get("type") or "",
    }


def _new_fields(event: Object) -> Mapping[str, str]:
    core: Any = _core_fields(to_core(event))
    values = {name.replace("involvedObject.", "regarding."): text for name, text in core.items()}
    values["reportingController"] = values.pop("reportingComponent")
    values.pop("source")
    return values


_COLUMNS = (
    column("Last Seen"),
    column("Type"),
    column("Reason"),
    column("Object"),
    wide("Subobject"),
    wide("Source"),
    column("Message"),
    wide("First Seen"),
    wide("Count"),
    wide("Name"),
)

CORE_EVENT = Rules(
    validate=_problems,
    create_on_update=True,
    selectable=dict.fromkeys(
        [f"involvedObject.{name}" for name in _REFERENCE]
        + ["reason", "reportingComponent", "source", "type"],
        "",
    ),
    field_values=_core_fields,
    columns=_COLUMNS,
    cells=_cells,
)
NEW_EVENT = Rules(
    validate_new=_new_problems,
    create_on_update=True,
    to_stored=to_core,
    to_served=to_new,
    converts=True,
    selectable=dict.fromkeys(
        [f"regarding.{name}" for name in _REFERENCE] + ["reason", "reportingController", "type"], ""
    ),
    field_values=_new_fields,
    columns=_COLUMNS,
    cells=_cells,
)
