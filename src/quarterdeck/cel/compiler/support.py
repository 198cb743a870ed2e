"""Functions that generated code calls where one Python operation is not enough.

All of them raise when an assumption does not hold; then the interpreter evaluates the expression.
"""

from collections.abc import Callable
from typing import Any

from quarterdeck.cel import values
from quarterdeck.cel.operations import containers


def require_bool(value: Any) -> bool:
    """Return a value that must be a bool."""
    if value is True or value is False:
        return value
    raise TypeError("not a bool")


def require_nonzero(value: Any) -> Any:
    """Return a sum that must not be zero: the type of an empty sum needs the interpreter."""
    if value == 0:
        raise TypeError("the type of an empty sum is not known")
    return value


def require_present(value: Any) -> Any:
    """Return a member that must not be null."""
    if value is None:
        raise KeyError("null")
    return value


def require_position(value: int) -> int:
    """Return an index that must not be negative: Python would count it from the end."""
    if value < 0:
        raise IndexError(value)
    return value


def choose_optional(target: Any, other: Callable[[], Any]) -> Any:
    """`target.or(other)`, lazily; a target that is not an optional is returned as it is."""
    return target if not isinstance(target, values.Optional) or target.present else other()


def choose_value(target: Any, other: Callable[[], Any]) -> Any:
    """`target.orValue(other)`, lazily."""
    if not isinstance(target, values.Optional):
        return target
    return target.value if target.present else other()


def select_optional_member(operand: Any, field: str) -> values.Optional:
    """`operand.?field` of an object: null counts as absent."""
    found = containers.select_optional(operand, field)
    return found if found.value is not None else values.NONE


def map_optional(target: values.Optional, body: Callable[[Any], Any]) -> Any:
    """`target.optMap(…)` and `optFlatMap`."""
    return body(target.value) if target.present else values.NONE


def iterate_elements(value: Any) -> Any:
    """The range of a macro with one variable: elements of a list, or keys of a map."""
    if isinstance(value, list | dict):
        return value
    raise TypeError("not a range")


def iterate_pairs(value: Any) -> Any:
    """The range of a macro with two variables: index and element, or key and value."""
    if isinstance(value, dict):
        return value.items()
    return enumerate(iterate_elements(value))
