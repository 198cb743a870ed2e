"""Conditions in the status of kinds that use the common type."""

import re
from collections.abc import Iterator, Sequence

from quarterdeck.meta import names
from quarterdeck.meta.field import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
)
from quarterdeck.meta.release import has_feature
from quarterdeck.server.registry.resource import Object

STATUSES = ("False", "True", "Unknown")
"""Of every condition."""
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_LONGEST_REASON = 1024
_LONGEST_MESSAGE = 32 * 1024


def validate_conditions(conditions: Sequence[Object], path: str) -> Iterator[FieldError]:
    """Check conditions: each type once, with a status, a reason and a time."""
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind = condition.get("type") or ""
        if kind in seen:
            yield duplicate(f"{path}[{index}].type", kind)
        seen.add(kind)
        yield from _validate_condition(condition, f"{path}[{index}]")


def _validate_condition(condition: Object, path: str) -> Iterator[FieldError]:
    kind, status = condition.get("type") or "", condition.get("status") or ""
    for problem in names.check_qualified_name(kind):
        yield invalid(f"{path}.type", kind, problem)
    if status not in STATUSES:
        yield not_supported(f"{path}.status", status, STATUSES)
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        text = "must be greater than or equal to zero"
        yield invalid(f"{path}.observedGeneration", generation, text)
    if not condition.get("lastTransitionTime"):
        yield required(f"{path}.lastTransitionTime", _describe_absence())
    yield from _validate_reason(condition.get("reason") or "", f"{path}.reason")
    if len((condition.get("message") or "").encode()) > _LONGEST_MESSAGE:
        yield too_long(f"{path}.message", "", _LONGEST_MESSAGE)


def _validate_reason(reason: str, path: str) -> Iterator[FieldError]:
    if not reason:
        yield required(path, _describe_absence())
        return
    if not re.fullmatch(_REASON, reason):
        text = (
            "a condition reason must start with alphabetic character, optionally followed by a"
            " string of alphanumeric characters or '_,:', and must end with an alphanumeric"
            " character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or"
            f" 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON}')"
        )
        yield invalid(path, reason, text)
    if len(reason.encode()) > _LONGEST_REASON:
        yield too_long(path, "", _LONGEST_REASON)


def _describe_absence() -> str:
    return "" if has_feature("NewerMessages") else "must be set"
