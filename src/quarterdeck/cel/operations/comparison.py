"""Equality and order: numbers by value, everything else only within its own type."""

from typing import Any

from quarterdeck.cel.operations.classes import NUMBERS, class_of, no_overload
from quarterdeck.cel.types import Type
from quarterdeck.cel.values import Duration, MapList, Optional, SetList, Timestamp


def equal(left: Any, right: Any) -> bool:
    """CEL's equality: numbers by value, everything else only within its own type."""
    a, b = class_of(left), class_of(right)
    if a is not b:
        if a not in NUMBERS or b not in NUMBERS:
            return False
        return float(left) == float(right) if float in (a, b) else int(left) == int(right)
    if a is list:
        return _equal_lists(left, right)
    if a is dict:
        return len(left) == len(right) and all(
            key in right and equal(value, right[key]) for key, value in left.items()
        )
    if a is Optional:
        return left.present == right.present and equal(left.value, right.value)
    if a is Type:
        return bool(left.kind is right.kind and left.name == right.name)
    return bool(left == right)


def not_equal(left: Any, right: Any) -> bool:
    """The opposite of `equal`."""
    return not equal(left, right)


def _equal_lists(left: Any, right: Any) -> bool:
    if len(left) != len(right):
        return False
    if type(left) is SetList:
        return all(contains(right, item) for item in left) and all(
            contains(left, item) for item in right
        )
    if type(left) is MapList:
        known = {left.key(item): item for item in left}
        return all((key := left.key(item)) in known and equal(known[key], item) for item in right)
    return all(map(equal, left, right))


_ORDERED = frozenset({bool, str, bytes, Duration, Timestamp})


def _ordered(left: Any, right: Any) -> tuple[Any, Any]:
    """Two values that may be ordered, as Python would compare them.

    An integer meets a double as a double, whatever precision that costs.
    """
    a, b = type(left), type(right)
    if a is b and (a in _ORDERED or a in NUMBERS):
        return left, right
    if a not in NUMBERS or b not in NUMBERS:
        raise no_overload()
    return (float(left), float(right)) if float in (a, b) else (left, right)


def less(left: Any, right: Any) -> bool:
    """`<`."""
    left, right = _ordered(left, right)
    return bool(left < right)


def less_equals(left: Any, right: Any) -> bool:
    """`<=`."""
    left, right = _ordered(left, right)
    return bool(left <= right)


def greater(left: Any, right: Any) -> bool:
    """`>`."""
    left, right = _ordered(left, right)
    return bool(left > right)


def greater_equals(left: Any, right: Any) -> bool:
    """`>=`."""
    left, right = _ordered(left, right)
    return bool(left >= right)


def contains(container: Any, item: Any) -> bool:
    """`item in container` for lists."""
    return any(equal(element, item) for element in container)
