"""Kubernetes' functions on lists."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.operations import arithmetic, comparison
from quarterdeck.cel.operations.classes import NUMBERS, class_of, no_overload_error
from quarterdeck.cel.values import Duration

_SUMMABLE = ("int", "uint", "double", "duration")
_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")


def _declare() -> str:
    lines = [f"sum list_{kind}_sum list({kind}).() {kind}" for kind in _SUMMABLE]
    for kind in _COMPARABLE:
        lines.append(f"isSorted list_{kind}_is_sorted list({kind}).() bool")
        lines.append(f"min list_{kind}_min list({kind}).() {kind}")
        lines.append(f"max list_{kind}_max list({kind}).() {kind}")
    lines.append("indexOf list_a_index_of list(A).(A) int")
    lines.append("lastIndexOf list_a_last_index_of list(A).(A) int")
    return "\n".join(lines)


DECLARATIONS = _declare()


_ORDERED = comparison.ORDERED | NUMBERS
_ADDED = NUMBERS | {Duration}


def _check_first(items: Sequence[Any], allowed: frozenset[type]) -> None:
    """Raise unless the first item has an allowed type; the other items are not checked."""
    if items and class_of(items[0]) not in allowed:
        raise no_overload_error()


def _is_better(better: Callable[[Any, Any], bool], item: Any, best: Any) -> bool:
    """Whether an item is better than the best so far; False if their types differ.

    Raises:
        EvaluationError: if one of them has no order.
    """
    if class_of(item) not in _ORDERED or class_of(best) not in _ORDERED:
        raise no_overload_error()
    try:
        return better(item, best)
    except EvaluationError:
        return False


def _is_sorted(items: Sequence[Any]) -> bool:
    _check_first(items, _ORDERED)
    return not any(
        _is_better(comparison.is_greater, items[at], items[at + 1]) for at in range(len(items) - 1)
    )


def _sum(items: Sequence[Any]) -> Any:
    if not items:
        return 0
    _check_first(items, _ADDED)
    total = items[0]
    for item in items[1:]:
        total = arithmetic.add(total, item)
    return total


def _pick(name: str, better: Callable[[Any, Any], bool]) -> Callable[[Sequence[Any]], Any]:
    def pick(items: Sequence[Any]) -> Any:
        if not items:
            raise EvaluationError(f"{name} called on empty list")
        _check_first(items, _ORDERED)
        return reduce(lambda best, item: item if _is_better(better, item, best) else best, items)

    return pick


def _index_of(items: Sequence[Any], wanted: Any) -> int:
    return next((at for at, item in enumerate(items) if comparison.is_equal(item, wanted)), -1)


def _last_index_of(items: Sequence[Any], wanted: Any) -> int:
    return next(
        (at for at in reversed(range(len(items))) if comparison.is_equal(items[at], wanted)), -1
    )


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "isSorted": {list: _is_sorted},
    "sum": {list: _sum},
    "min": {list: _pick("min", comparison.is_less)},
    "max": {list: _pick("max", comparison.is_greater)},
    "indexOf": {list: _index_of},
    "lastIndexOf": {list: _last_index_of},
}
