"""Optional values; the lazy ones (`or`, `orValue`) are evaluated by their callers."""

from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.values import NONE, Duration, Optional, Timestamp, make_optional

DECLARATIONS = """
optional.of optional_of (A) optional_type(A)
optional.ofNonZeroValue optional_ofNonZeroValue (A) optional_type(A)
optional.none optional_none () optional_type(A)
hasValue optional_hasValue optional_type(A).() bool
value optional_value optional_type(A).() A
or optional_or_optional optional_type(A).(optional_type(A)) optional_type(A)
orValue optional_orValue_value optional_type(A).(A) A
"""


def is_zero(value: Any) -> bool:
    """Whether a value is the empty one of its type."""
    match value:
        case Duration():
            return value.ns == 0
        case Timestamp():
            return value.ns == -62135596800 * 1_000_000_000
        case None | bool() | int() | float() | str() | bytes() | list() | dict():
            return not value
        case _:
            return False


def _get_value(optional: Optional) -> Any:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "optional.of": {object: make_optional},
    "optional.ofNonZeroValue": {
        object: lambda value: NONE if is_zero(value) else make_optional(value)
    },
    "optional.none": {type(None): lambda: NONE},
    "hasValue": {Optional: lambda optional: optional.present},
    "value": {Optional: _get_value},
}
