"""Optional values; the lazy ones (`or`, `orValue`) are evaluated by their callers."""

from collections.abc import Callable, Mapping, Sequence
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
LATER = {
    33: """
optional.unwrap optional_unwrap (list(optional_type(A))) list(A)
unwrapOpt optional_unwrapOpt list(optional_type(A)).() list(A)
"""
}


def is_zero(value: Any) -> bool:
    """Whether a value is the zero value of its type."""
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


def _unwrap(optionals: Sequence[Any]) -> list[Any]:
    """The values of the optionals that have one."""
    for optional in optionals:
        if type(optional) is not Optional:
            raise EvaluationError(f"value {optional} is not optional")
    return [optional.value for optional in optionals if optional.present]


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "optional.of": {object: make_optional},
    "optional.ofNonZeroValue": {
        object: lambda value: NONE if is_zero(value) else make_optional(value)
    },
    "optional.none": {type(None): lambda: NONE},
    "hasValue": {Optional: lambda optional: optional.present},
    "value": {Optional: _get_value},
    "optional.unwrap": {list: _unwrap},
    "unwrapOpt": {list: _unwrap},
}
