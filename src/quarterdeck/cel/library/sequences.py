"""cel-go's list extensions: slices, order, duplicates."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.operations import comparison
from quarterdeck.cel.operations.classes import class_of, no_overload_error
from quarterdeck.cel.values import NONE, make_optional

_SORTABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_MAX_RANGE = 1_000_000


def _declare() -> str:
    lines = [f"sort list_{kind}_sort list({kind}).() list({kind})" for kind in _SORTABLE]
    lines += [
        f"@sortByAssociatedKeys list_{kind}_sortByAssociatedKeys list(A).(list({kind})) list(A)"
        for kind in _SORTABLE
    ]
    lines += [
        "slice list_slice list(A).(int, int) list(A)",
        "flatten list_flatten list(list(A)).() list(A)",
        "flatten list_flatten_int list(dyn).(int) list(dyn)",
        "lists.range lists_range (int) list(int)",
        "distinct list_distinct list(A).() list(A)",
        "reverse list_reverse list(A).() list(A)",
        "first list_first list(A).() optional_type(A)",
        "last list_last list(A).() optional_type(A)",
    ]
    return "\n".join(lines)


LATER = {34: _declare()}


def _slice(items: Sequence[Any], start: Any, end: Any) -> list[Any]:
    if type(start) is not int or type(end) is not int:
        raise no_overload_error()
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(
            f"cannot slice({start}, {end}), start index must be less than or equal to end index"
        )
    if end > len(items):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return list(items[start:end])


def _flatten(items: Sequence[Any], depth: int = 1) -> list[Any]:
    if type(depth) is not int:
        raise no_overload_error()
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Any] = []
    for item in items:
        if class_of(item) is list and depth > 0:
            flat += _flatten(item, depth - 1)
        else:
            flat.append(item)
    return flat


def _range(count: int) -> list[int]:
    if count > _MAX_RANGE:
        raise EvaluationError(f"lists.range({count}) is longer than {_MAX_RANGE}")
    return list(range(count))


def _distinct(items: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not comparison.contains(found, item):
            found.append(item)
    return found


def _compare(left: Any, right: Any) -> int:
    return comparison.is_less(right, left) - comparison.is_less(left, right)


_by_value = functools.cmp_to_key(_compare)


def _sort_by(items: Sequence[Any], keys: Any) -> list[Any]:
    if class_of(keys) is not list or len(keys) != len(items):
        raise no_overload_error()
    order = sorted(range(len(items)), key=lambda at: _by_value(keys[at]))
    return [items[at] for at in order]


def _end(position: int) -> Callable[[Sequence[Any]], Any]:
    return lambda items: make_optional(items[position]) if items else NONE


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "slice": {list: _slice},
    "flatten": {list: _flatten},
    "lists.range": {int: _range},
    "distinct": {list: _distinct},
    "reverse": {list: lambda items: items[::-1]},
    "sort": {list: lambda items: sorted(items, key=_by_value)},
    "@sortByAssociatedKeys": {list: _sort_by},
    "first": {list: _end(0)},
    "last": {list: _end(-1)},
}
