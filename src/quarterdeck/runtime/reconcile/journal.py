"""Why did this object reconcile? The last reconciles of a controller, with cause and effect.

Each reconcile leaves one record: which events started it and through which mapping, how long it
waited, what it read at which version, what it wrote, how it ended and when it runs again. The
records are in one bounded ring per controller; nothing is indexed, because queries are rare
and reconciles are not.
"""

import functools
from collections import deque
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from quarterdeck.kit import rfc3339
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.event import Change, Event

_SHOWN_BODY = 1024
_SECRET_KINDS = frozenset({"Secret"})


class Cause(msgspec.Struct, frozen=True):
    """One event that started a reconcile; formatted only when it is shown."""

    change: Change | None
    """None for the initial list, whose keys all share one cause that names no object."""
    kind: type[Object]
    key: Key | None
    old_version: int | None
    new_version: int | None
    mapping: str

    @classmethod
    def of(cls, event: Event, mapping: str) -> "Cause":
        """From a cache event."""
        if event.is_initial:
            return _build_initial(event.kind, mapping)
        return cls(
            event.change,
            event.kind,
            event.key,
            event.old.version if event.old is not None else None,
            event.new.version,
            mapping,
        )


@functools.cache
def _build_initial(kind: type[Object], mapping: str) -> Cause:
    return Cause(None, kind, None, None, None, mapping)


class Read(msgspec.Struct, frozen=True):
    """One read: `source` is cache or live."""

    kind: str
    key: Key | None
    version: int
    source: str


class Write(msgspec.Struct, frozen=True):
    """One write, sent or skipped as a no-op."""

    verb: str
    kind: str
    key: Key
    version: int
    body: bytes
    """What was sent, cut short; empty for secrets."""


class Record(msgspec.Struct, frozen=True):
    """One reconcile from cause to outcome."""

    reconcile_id: str
    key: Key
    started: datetime
    causes: tuple[object, ...]
    waited_s: float
    took_s: float
    reads: tuple[Read, ...]
    writes: tuple[Write, ...]
    outcome: str
    detail: str
    next_s: float | None
    """Seconds until it runs again by itself; None means on the next event only."""


def truncate_body(kind: str, body: bytes) -> bytes:
    """A body as the journal keeps it."""
    return b"" if kind in _SECRET_KINDS else body[:_SHOWN_BODY]


class Journal:
    """The last reconciles of one controller."""

    def __init__(
        self,
        controller: str,
        kind: str,
        *,
        group: str = "",
        other_names: Iterable[str] = (),
        is_namespaced: bool = True,
        size: int = 1000,
    ) -> None:
        self.controller = controller
        self.kind = kind
        names = [each.lower() for each in (kind, *other_names)]
        self.names = frozenset((*names, *(f"{each}.{group}" for each in names)))
        """The names of the kind that explain accepts, also as `kind.group`."""
        self._is_namespaced = is_namespaced
        self._records: deque[Record] = deque(maxlen=size)
        self.add = self._records.append

    def of(self, key: Key) -> list[Record]:
        """The records of one object, newest first; a kind without namespaces ignores that of `key`.

        Callers that name an object as users do cannot know whether its kind has namespaces.
        """
        if not self._is_namespaced:
            key = Key("", key.name)
        return [record for record in reversed(self._records) if record.key == key]

    def recent(self, limit: int = 50) -> list[Record]:
        """The newest records of any object."""
        return [record for record, _ in zip(reversed(self._records), range(limit), strict=False)]


def to_json(record: Record) -> dict[str, Any]:
    """A record as the explain endpoint shows it."""
    return {
        "reconcileID": record.reconcile_id,
        "object": str(record.key),
        "startedAt": rfc3339.format_micro(record.started),
        "causes": [_describe_cause(cause) for cause in record.causes],
        "queueWaitSeconds": round(record.waited_s, 6),
        "durationSeconds": round(record.took_s, 6),
        "reads": [
            {
                "kind": read.kind,
                "object": str(read.key) if read.key is not None else "*",
                "version": read.version,
                "source": read.source,
            }
            for read in record.reads
        ],
        "writes": [
            {
                "verb": write.verb,
                "kind": write.kind,
                "object": str(write.key),
                "version": write.version,
                "body": write.body.decode(errors="replace"),
            }
            for write in record.writes
        ],
        "outcome": record.outcome,
        "detail": record.detail,
        "nextSeconds": None if record.next_s is None else round(record.next_s, 3),
    }


def _describe_cause(cause: object) -> dict[str, Any]:
    if isinstance(cause, Cause):
        if cause.change is None or cause.key is None:
            return {
                "event": "initial list",
                "kind": cause.kind.__name__,
                "mappedBy": cause.mapping,
            }
        return {
            "event": cause.change.value,
            "kind": cause.kind.__name__,
            "object": str(cause.key),
            "oldVersion": cause.old_version,
            "newVersion": cause.new_version,
            "mappedBy": cause.mapping,
        }
    return {"event": str(cause)}


def explain(journals: Iterable[Journal], kind: str, key: Key) -> list[dict[str, Any]]:
    """The last reconciles of an object, by each controller of its kind, plural or short name."""
    return [
        {"controller": journal.controller, "reconciles": [to_json(r) for r in journal.of(key)]}
        for journal in journals
        if kind.lower() in journal.names
    ]
