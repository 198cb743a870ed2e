"""What a call did cost, now that its arguments are known."""

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
    selector_cost,
)

_Charge = Callable[[Sequence[Any], Any], int]
_LIST_CALL = LIST_COST + 1


def actual(function: str, args: Sequence[Any], result: Any) -> int:
    """The cost of one call: one unit, unless the function is in the table."""
    charge = _CHARGES.get(function)
    return charge(args, result) if charge is not None else 1


# sizes


def _size(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    inner = getattr(value, "value", None) if getattr(value, "present", False) else None
    if inner is not None:
        return _size(inner)
    return len(value) if hasattr(type(value), "__len__") else 1


def _text(size: int, times: int = 1) -> int:
    """Reading a text so many times."""
    return math.ceil(size * times * STRING_FACTOR)


def _traversal(value: Any) -> int:
    if isinstance(value, str | bytes):
        return int(len(value) * STRING_FACTOR)
    if isinstance(value, list):
        return sum(_traversal(item) for item in value)
    if isinstance(value, dict):
        return sum(_traversal(key) + _traversal(item) for key, item in value.items())
    return 1


# texts


def _reads(at: int = 0, times: int = 1) -> _Charge:
    """Reading one operand so many times."""
    return lambda args, result: _text(_size(args[at]), times)


def _convert(args: Sequence[Any], result: Any) -> int:
    return _text(len(args[0])) if isinstance(args[0], str | bytes) else 1


def _add(args: Sequence[Any], result: Any) -> int:
    return _text(_size(args[0]) + _size(args[1])) if isinstance(args[0], str | bytes) else 1


def _compare(args: Sequence[Any], result: Any) -> int:
    return _text(min(_size(args[0]), _size(args[1])))


def _contains(args: Sequence[Any], result: Any) -> int:
    return _text(_size(args[0])) * _text(_size(args[1]))


def _matches(args: Sequence[Any], result: Any) -> int:
    return _text(1 + _size(args[0])) * math.ceil(_size(args[1]) * REGEX_FACTOR)


def _validate(args: Sequence[Any], result: Any) -> int:
    return int(_text(1 + _size(args[1])) * math.ceil(args[0].regex_size * REGEX_FACTOR))


def _selector(args: Sequence[Any], result: Any) -> int:
    size = _size(args[1])
    return selector_cost(Range(size, size)).max


# addresses


def _contains_ip(args: Sequence[Any], result: Any) -> int:
    cost = _text(_size(args[0]), 2)
    return cost + _text(len(args[1])) if isinstance(args[1], str) else cost


def _contains_cidr(args: Sequence[Any], result: Any) -> int:
    return _contains_ip(args, result) + _text(_size(args[0])) + 1


# lists


def _in(args: Sequence[Any], result: Any) -> int:
    return len(args[1]) if isinstance(args[1], list) else 1


def _pairs(times: int) -> _Charge:
    """Comparing each element of one list with each of another."""
    return lambda args, result: 1 + times * len(args[0]) * len(args[1])


def _makes(args: Sequence[Any], result: Any) -> int:
    return _LIST_CALL + len(result) if isinstance(result, list) else 1


def _flatten(args: Sequence[Any], result: Any) -> int:
    return _LIST_CALL + len(args[0]) * (args[1] if len(args) > 1 else 1)


def _sort(args: Sequence[Any], result: Any) -> int:
    """Comparing every element with every other."""
    items = args[-1]
    texts = bool(items) and isinstance(items[0], str | bytes)
    return _LIST_CALL + int(len(items) ** 2 * (2 + STRING_FACTOR * texts))


_CHARGES: Mapping[str, _Charge] = {
    **dict.fromkeys(PARSERS, _reads()),
    **dict.fromkeys(SEARCHES, lambda args, result: _traversal(args[0])),
    **dict.fromkeys(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"), _compare),
    "@in": _in,
    "@sortByAssociatedKeys": _sort,
    "_+_": _add,
    "bytes": _convert,
    "check": lambda args, result: 350_000,
    "contains": _contains,
    "containsCIDR": _contains_cidr,
    "containsIP": _contains_ip,
    "distinct": _sort,
    "endsWith": _reads(1),
    "fieldSelector": _selector,
    "find": _matches,
    "findAll": _matches,
    "flatten": _flatten,
    "format": _reads(),
    "ip.isCanonical": _reads(times=2),
    "join": lambda args, result: _text(_size(result), 2),
    "labelSelector": _selector,
    "lists.range": _makes,
    "lowerAscii": _reads(),
    "matches": _matches,
    "replace": _reads(times=2),
    "reverse": _makes,
    "sets.contains": _pairs(1),
    "sets.equivalent": _pairs(2),
    "sets.intersects": _pairs(1),
    "slice": _makes,
    "sort": _sort,
    "split": _reads(times=2),
    "startsWith": _reads(1),
    "string": _convert,
    "strings.quote": _reads(),
    "substring": _reads(),
    "trim": _reads(),
    "upperAscii": _reads(),
    "validate": _validate,
}
