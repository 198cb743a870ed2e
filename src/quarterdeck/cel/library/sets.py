"""Lists read as sets."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quarterdeck.cel.operations.classes import class_of, no_overload_error
from quarterdeck.cel.operations.comparison import contains

DECLARATIONS = """
sets.contains list_sets_contains_list (list(A), list(A)) bool
sets.equivalent list_sets_equivalent_list (list(A), list(A)) bool
sets.intersects list_sets_intersects_list (list(A), list(A)) bool
"""


def _contains(items: Sequence[Any], wanted: Sequence[Any]) -> bool:
    if class_of(wanted) is not list:
        raise no_overload_error()
    return all(contains(items, item) for item in wanted)


def _equivalent(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return _contains(left, right) and _contains(right, left)


def _intersects(left: Sequence[Any], right: Sequence[Any]) -> bool:
    if class_of(right) is not list:
        raise no_overload_error()
    return any(contains(left, item) for item in right)


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "sets.contains": {list: _contains},
    "sets.equivalent": {list: _equivalent},
    "sets.intersects": {list: _intersects},
}
