"""Equality and order: numbers by value, everything else only within its own type."""

from typing import Any

from quarterdeck.cel.operations.classes import NUMBERS, class_of, no_overload_error
from quarterdeck.cel.types import Type
from quarterdeck.cel.values import Duration, MapList, Optional, SetList, Timestamp


def is_equal(left: Any, right: Any) -> bool:
    """CEL's equality: numbers by value, everything else only within its own type."""
    a, b = class_of(left), class_of(right)
    if a is not b:
        if a not in NUMBERS or b not in NUMBERS:
            return False
        return float(left) == float(right) if float in (a, b) else int(left) == int(right)
    if a is list:
        return _is_equal_list(left, right)
    if a is dict:
        return len(left) == len(right) and all(
            key in right and is_equal(value, right[key]) for key, value in left.items()
        )
    if a is Optional:
        return left.present == right.present and is_equal(left.value, right.value)
    if a is Type:
        return bool(left.kind is right.kind and left.name == right.name)
    return bool(left == right)


def is_not_equal(left: Any, right: Any) -> bool:
    """The opposite of `is_equal`."""
    return not is_equal(left, right)


def _is_equal_list(left: Any, right: Any) -> bool:
    if len(left) != len(right):
        return False
    if type(left) is SetList:
        return all(contains(right, item) for item in left) and all(
            contains(left, item) for item in right
        )
    if type(left) is MapList:
        known = {left.key(item): item for item in left}
        return all(
            (key := left.key(item)) in known and is_equal(known[key], item) for item in right
        )
    return all(map(is_equal, left, right))


ORDERED = frozenset({bool, str, bytes, Duration, Timestamp})
"""Classes, besides numbers, whose values have an order."""


def _to_comparable(left: Any, right: Any) -> tuple[Any, Any]:
    """Two values in a form that Python can order.

    An integer is converted to compare it with a double, although that can lose precision.
    """
    a, b = type(left), type(right)
    if a is b and (a in ORDERED or a in NUMBERS):
        return left, right
    if a not in NUMBERS or b not in NUMBERS:
        raise no_overload_error()
    return (float(left), float(right)) if float in (a, b) else (left, right)


def is_less(left: Any, right: Any) -> bool:
    """`<`."""
    left, right = _to_comparable(left, right)
    return bool(left < right)


def is_less_or_equal(left: Any, right: Any) -> bool:
    """`<=`."""
    left, right = _to_comparable(left, right)
    return bool(left <= right)


def is_greater(left: Any, right: Any) -> bool:
    """`>`."""
    left, right = _to_comparable(left, right)
    return bool(left > right)


def is_greater_or_equal(left: Any, right: Any) -> bool:
    """`>=`."""
    left, right = _to_comparable(left, right)
    return bool(left >= right)


def contains(container: Any, item: Any) -> bool:
    """`item in container` for lists."""
    return any(is_equal(element, item) for element in container)
