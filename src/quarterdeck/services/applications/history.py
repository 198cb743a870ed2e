"""Recent events of applications for `/events`: bounded, aggregated, filtered. Pure."""

import re
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from quarterdeck.apis.applications.v1 import Application, ApplicationStatus
from quarterdeck.kit import rfc3339
from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.wire.query import parse_query
from quarterdeck.wire.status import BadRequest

WINDOW = timedelta(seconds=60)
DEFAULT_LIMIT = 100
MAX_LIMIT = 1000
TYPES = ("Normal", "Warning", "Error")
SEVERITIES = ("Info", "Warning", "Error", "Critical")
_LIMIT = re.compile(r"[0-9]{1,9}")
_TEXTS = ("namespace", "name", "kind")
_CHOICES = {"type": TYPES, "severity": SEVERITIES}
_REASONS = {Change.ADDED: "Created", Change.MODIFIED: "Updated", Change.DELETED: "Deleted"}
_WATCH_TYPES = {Change.ADDED: "ADDED", Change.MODIFIED: "MODIFIED", Change.DELETED: "DELETED"}


class Query(NamedTuple):
    """A query of the history."""

    limit: int = DEFAULT_LIMIT
    since: datetime | None = None
    members: Mapping[str, str] = {}
    """Exact values of namespace, name, kind, type and severity."""

    @classmethod
    def parse(cls, query: str) -> "Query":
        """Read a query string.

        Raises:
            BadRequest: naming the parameter, its value and what it may be.
        """
        given = {name: values[-1] for name, values in parse_query(query).items()}
        for name in given:
            if name not in ("limit", "since", *_TEXTS, *_CHOICES):
                known = ", ".join(("limit", "since", *_TEXTS, *_CHOICES))
                raise BadRequest(f"unknown parameter {name!r}; valid parameters: {known}")
        for name, choices in _CHOICES.items():
            if name in given and given[name] not in choices:
                raise BadRequest(f"{name}={given[name]!r} is not one of {', '.join(choices)}")
        members = {name: given[name] for name in (*_TEXTS, *_CHOICES) if name in given}
        return cls(_parse_limit(given.get("limit")), _parse_since(given.get("since")), members)


def _parse_limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_LIMIT
    if not _LIMIT.fullmatch(text) or not 1 <= int(text) <= MAX_LIMIT:
        raise BadRequest(f"limit={text!r} is not a number from 1 to {MAX_LIMIT}")
    return int(text)


def _parse_since(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return rfc3339.parse(text)
    except ValueError as error:
        raise BadRequest(f"since={text!r} is not a time such as 2026-01-02T03:04:05Z") from error


class _Key(NamedTuple):
    namespace: str
    name: str
    reason: str
    type: str


class Record(msgspec.Struct, kw_only=True, rename="camel"):
    """One event, with the number of its repetitions."""

    id: str
    type: str
    severity: str
    reason: str
    message: str
    watch_type: str
    involved_object: dict[str, Any]
    source: dict[str, str]
    first_timestamp: str
    last_timestamp: str
    count: int = 1


class History:
    """The newest records, oldest first; repetitions within a minute are counted."""

    def __init__(self, size: int, *, component: str = "applications") -> None:
        self._size = size
        self._component = component
        self._records: OrderedDict[str, tuple[_Key, datetime, Record]] = OrderedDict()
        self._newest: dict[_Key, str] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._records)

    def record(self, event: Event, now: datetime) -> None:
        """Record a change of an application; the initial state of the cache is not a change."""
        if event.is_initial:
            return
        status = _get_status(event)
        type_, severity = _classify(event.change, status)
        key = _Key(event.key.namespace, event.key.name, _REASONS[event.change], type_)
        message = _describe(event, status)
        known = self._records.get(self._newest.get(key, ""))
        if known is not None and now - known[1] <= WINDOW:
            again = known[2]
            again.count += 1
            again.message, again.severity = message, severity
            again.last_timestamp = rfc3339.format_time(now)
            self._records[again.id] = (key, now, again)
            self._records.move_to_end(again.id)
            return
        self._count += 1
        stamp = rfc3339.format_time(now)
        made = Record(
            id=f"evt-{self._count}",
            type=type_,
            severity=severity,
            reason=key.reason,
            message=message,
            watch_type=_WATCH_TYPES[event.change],
            involved_object=_build_reference(event),
            source={"component": self._component},
            first_timestamp=stamp,
            last_timestamp=stamp,
        )
        self._records[made.id] = (key, now, made)
        self._newest[key] = made.id
        if len(self._records) > self._size:
            old_id, (old_key, _, _) = self._records.popitem(last=False)
            if self._newest.get(old_key) == old_id:
                del self._newest[old_key]

    def find(self, query: Query) -> list[Record]:
        """The records that match, newest first."""
        found: list[Record] = []
        for _, _, record in reversed(self._records.values()):
            if _matches(record, query):
                found.append(record)
                if len(found) == query.limit:
                    break
        return found


def _matches(record: Record, query: Query) -> bool:
    if query.since is not None and rfc3339.parse(record.first_timestamp) < query.since:
        return False
    about = record.involved_object
    for name, wanted in query.members.items():
        value = about[name] if name in _TEXTS else getattr(record, name)
        if value != wanted:
            return False
    return True


def _get_status(event: Event) -> ApplicationStatus:
    return event.new.typed(Application).status


def _classify(change: Change, status: ApplicationStatus) -> tuple[str, str]:
    if change is Change.DELETED:
        return "Warning", "Warning"
    if status.phase == "Failed":
        return "Warning", "Error"
    return "Normal", "Info"


def _describe(event: Event, status: ApplicationStatus) -> str:
    about = f"Application {event.key}"
    if event.change is not Change.MODIFIED:
        return f"{about} {_REASONS[event.change].lower()}"
    if event.metadata.deletion_timestamp is not None:
        return f"{about} is being deleted"
    if event.old is not None and event.old.generation != event.new.generation:
        return f"{about} has a new spec (generation {event.new.generation})"
    phase = status.phase or "Pending"
    counted = f"{status.ready_replicas} of {status.replicas} replicas ready"
    return f"{about} is {phase}: {counted}"


def _build_reference(event: Event) -> dict[str, Any]:
    return {
        "apiVersion": Application.KIND.api_version,
        "kind": Application.KIND.kind,
        "namespace": event.key.namespace,
        "name": event.key.name,
        "uid": event.new.uid,
        "resourceVersion": str(event.new.version),
    }
