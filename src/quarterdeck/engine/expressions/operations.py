"""Operators on values whose kinds are known only at run time."""

from typing import Any

from quarterdeck.engine.values import to_number, to_text


def add(left: Any, right: Any) -> Any:
    """Join if one side is text, else add; null stays null."""
    if isinstance(left, str) or isinstance(right, str):
        return to_text(left) + to_text(right)
    first, second = to_number(left), to_number(right)
    return None if first is None or second is None else first + second


def less(left: Any, right: Any) -> bool:
    """`<` between any two values."""
    pair = _make_comparable(left, right)
    return pair is not None and pair[0] < pair[1]


def less_or_equal(left: Any, right: Any) -> bool:
    """`<=` between any two values."""
    pair = _make_comparable(left, right)
    return pair is not None and pair[0] <= pair[1]


def _make_comparable(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Both as texts or both as numbers, null as the empty one; None if they do not compare."""
    if isinstance(left, str) or isinstance(right, str):
        left = "" if left is None else left
        right = "" if right is None else right
        return (left, right) if isinstance(left, str) and isinstance(right, str) else None
    first = 0.0 if left is None else to_number(left)
    second = 0.0 if right is None else to_number(right)
    return None if first is None or second is None else (first, second)


def to_list(value: Any) -> list[Any] | None:
    """The list, or null for everything else."""
    return value if isinstance(value, list) else None
