"""Conditions and the rules by which they change.

A condition is an entry of a list keyed by `type`. Its `lastTransitionTime` changes only if `status`
changes; conditions of other controllers are not changed; the order of the list is kept, so that a
reconcile that changes nothing writes nothing.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Literal, TypeVar

import msgspec

from quarterdeck.kit import rfc3339
from quarterdeck.meta.markers import Int64, Schema, Time
from quarterdeck.meta.objects import Struct

Status = Literal["True", "False", "Unknown"]
TRUE: Literal["True"] = "True"
FALSE: Literal["False"] = "False"
UNKNOWN: Literal["Unknown"] = "Unknown"

TYPE_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
REASON_PATTERN = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"


class Condition(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One fact about the state of an object, with the time it last changed."""

    type: Annotated[str, Schema(max_length=316, pattern=TYPE_PATTERN)]
    """Type of the condition in CamelCase or in foo.example.com/CamelCase."""
    status: Status
    """Status of the condition, one of True, False, Unknown."""
    reason: Annotated[
        str, Schema(required=True, min_length=1, max_length=1024, pattern=REASON_PATTERN)
    ] = ""
    """Why the condition last changed, for programs: one CamelCase word."""
    message: Annotated[str, Schema(required=True, max_length=32768)] = ""
    """Details of the last change, for people. May be empty."""
    last_transition_time: Annotated[Time, Schema(required=True)] = ""
    """When the status last changed from one value to another."""
    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation of the object that the condition was decided on."""


C = TypeVar("C", bound=Condition)

Conditions = Annotated[tuple[Condition, ...], Schema(list_type="map", list_map_keys=("type",))]
"""The type of `status.conditions`."""


def find(conditions: Iterable[C], type_: str) -> C | None:
    """The condition of a type."""
    for condition in conditions:
        if condition.type == type_:
            return condition
    return None


def is_true(conditions: Iterable[Condition], type_: str) -> bool:
    """Whether the condition is there and true."""
    return _has_status(conditions, type_, TRUE)


def is_false(conditions: Iterable[Condition], type_: str) -> bool:
    """Whether the condition is there and false; absent is not false."""
    return _has_status(conditions, type_, FALSE)


def _has_status(conditions: Iterable[Condition], type_: str, status: Status) -> bool:
    found = find(conditions, type_)
    return found is not None and found.status == status


def set_condition(conditions: Sequence[C], new: C, *, now: datetime) -> tuple[C, ...]:
    """Return the conditions with `new` set.

    The last transition time is kept if the status does not change; else it is that of `new`, or
    `now`. If nothing changes, the same entries are returned.
    """
    old = find(conditions, new.type)
    settled = _with_transition_time(old, new, now)
    if old is None:
        return (*conditions, settled)
    if settled == old:
        return tuple(conditions)
    return tuple(settled if entry.type == new.type else entry for entry in conditions)


def _with_transition_time(old: C | None, new: C, now: datetime) -> C:
    if old is not None and old.status == new.status and old.last_transition_time:
        time = old.last_transition_time
    else:
        time = new.last_transition_time or rfc3339.format_time(now)
    return msgspec.structs.replace(new, last_transition_time=time)


def remove_condition(conditions: Sequence[C], type_: str) -> tuple[C, ...]:
    """Return the conditions without the one of a type."""
    return tuple(condition for condition in conditions if condition.type != type_)
