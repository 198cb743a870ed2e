"""The actual cost of a call at run time, computed from its arguments and result."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quarterdeck.cel.cost.units import (
    LIST_COST,
    PARSERS,
    REGEX_FACTOR,
    SEARCHES,
    STRING_FACTOR,
    Range,
    estimate_selector,
)

_Charge = Callable[[Sequence[Any], Any], int]
_LIST_CALL = LIST_COST + 1


def compute_cost(function: str, args: Sequence[Any], result: Any) -> int:
    """The cost of one call: one unit, unless the function is in the table."""
    charge = _CHARGES.get(function)
    return charge(args, result) if charge is not None else 1


# sizes


def _measure(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    inner = getattr(value, "value", None) if getattr(value, "present", False) else None
    if inner is not None:
        return _measure(inner)
    return len(value) if hasattr(type(value), "__len__") else 1


def _charge_text(size: int, times: int = 1) -> int:
    """The cost of reading a text of `size` characters `times` times."""
    return math.ceil(size * times * STRING_FACTOR)


def _charge_traversal(value: Any) -> int:
    if isinstance(value, str | bytes):
        return int(len(value) * STRING_FACTOR)
    if isinstance(value, list):
        return sum(_charge_traversal(item) for item in value)
    if isinstance(value, dict):
        return sum(_charge_traversal(key) + _charge_traversal(item) for key, item in value.items())
    return 1


# texts


def _charge_reading(at: int = 0, times: int = 1) -> _Charge:
    """The cost of reading one operand `times` times."""
    return lambda args, result: _charge_text(_measure(args[at]), times)


def _charge_conversion(args: Sequence[Any], result: Any) -> int:
    return _charge_text(len(args[0])) if isinstance(args[0], str | bytes) else 1


def _charge_addition(args: Sequence[Any], result: Any) -> int:
    return (
        _charge_text(_measure(args[0]) + _measure(args[1]))
        if isinstance(args[0], str | bytes)
        else 1
    )


def _charge_comparison(args: Sequence[Any], result: Any) -> int:
    return _charge_text(min(_measure(args[0]), _measure(args[1])))


def _charge_contains(args: Sequence[Any], result: Any) -> int:
    return _charge_text(_measure(args[0])) * _charge_text(_measure(args[1]))


def _charge_matches(args: Sequence[Any], result: Any) -> int:
    return _charge_text(1 + _measure(args[0])) * math.ceil(_measure(args[1]) * REGEX_FACTOR)


def _charge_validation(args: Sequence[Any], result: Any) -> int:
    return int(_charge_text(1 + _measure(args[1])) * math.ceil(args[0].regex_size * REGEX_FACTOR))


def _charge_selector(args: Sequence[Any], result: Any) -> int:
    size = _measure(args[1])
    return estimate_selector(Range(size, size)).max


# addresses


def _charge_contains_ip(args: Sequence[Any], result: Any) -> int:
    cost = _charge_text(_measure(args[0]), 2)
    return cost + _charge_text(len(args[1])) if isinstance(args[1], str) else cost


def _charge_contains_cidr(args: Sequence[Any], result: Any) -> int:
    return _charge_contains_ip(args, result) + _charge_text(_measure(args[0])) + 1


# lists


def _charge_membership(args: Sequence[Any], result: Any) -> int:
    return len(args[1]) if isinstance(args[1], list) else 1


def _charge_pairs(times: int) -> _Charge:
    """The cost of comparing each element of one list with each of another."""
    return lambda args, result: 1 + times * len(args[0]) * len(args[1])


def _charge_result(args: Sequence[Any], result: Any) -> int:
    return _LIST_CALL + len(result) if isinstance(result, list) else 1


def _charge_flatten(args: Sequence[Any], result: Any) -> int:
    return _LIST_CALL + len(args[0]) * (args[1] if len(args) > 1 else 1)


def _charge_sort(args: Sequence[Any], result: Any) -> int:
    """The cost of sorting, which is that of comparing every element with every other."""
    items = args[-1]
    texts = bool(items) and isinstance(items[0], str | bytes)
    return _LIST_CALL + int(len(items) ** 2 * (2 + STRING_FACTOR * texts))


_CHARGES: Mapping[str, _Charge] = {
    **dict.fromkeys(PARSERS, _charge_reading()),
    **dict.fromkeys(SEARCHES, lambda args, result: _charge_traversal(args[0])),
    **dict.fromkeys(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"), _charge_comparison),
    "@in": _charge_membership,
    "@sortByAssociatedKeys": _charge_sort,
    "_+_": _charge_addition,
    "bytes": _charge_conversion,
    "check": lambda args, result: 350_000,
    "contains": _charge_contains,
    "containsCIDR": _charge_contains_cidr,
    "containsIP": _charge_contains_ip,
    "distinct": _charge_sort,
    "endsWith": _charge_reading(1),
    "fieldSelector": _charge_selector,
    "find": _charge_matches,
    "findAll": _charge_matches,
    "flatten": _charge_flatten,
    "format": _charge_reading(),
    "ip.isCanonical": _charge_reading(times=2),
    "join": lambda args, result: _charge_text(_measure(result), 2),
    "jsonpatch.escapeKey": _charge_reading(),
    "labelSelector": _charge_selector,
    "lists.range": _charge_result,
    "lowerAscii": _charge_reading(),
    "matches": _charge_matches,
    "replace": _charge_reading(times=2),
    "reverse": _charge_result,
    "sets.contains": _charge_pairs(1),
    "sets.equivalent": _charge_pairs(2),
    "sets.intersects": _charge_pairs(1),
    "slice": _charge_result,
    "sort": _charge_sort,
    "split": _charge_reading(times=2),
    "startsWith": _charge_reading(1),
    "string": _charge_conversion,
    "strings.quote": _charge_reading(),
    "substring": _charge_reading(),
    "trim": _charge_reading(),
    "upperAscii": _charge_reading(),
    "validate": _charge_validation,
}
