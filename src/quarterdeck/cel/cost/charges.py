"""What a call did cost, now that its arguments are known."""

import math
from collections.abc import Sequence
from typing import Any

from quarterdeck.cel.cost.units import (
    LIST_COST,
    NOMINAL,
    PARSERS,
    REGEX_FACTOR,
    SEARCHES,
    STRING_FACTOR,
    Range,
    selector_cost,
)


def actual(function: str, args: Sequence[Any], result: Any) -> int:
    """The cost of one call."""
    if function in NOMINAL:
        return 1
    if function in ("_[_]", "_[?_]", "_?._", "size", "type", "dyn"):
        return 1
    if function == "check":
        return 350_000
    if function in SEARCHES:
        return _traversal(args[0])
    if function in _TEXTS:
        factor = 2 if function in ("replace", "split", "ip.isCanonical") else 1
        return math.ceil(_size(args[0]) * factor * STRING_FACTOR)
    match function:
        case "startsWith" | "endsWith":
            return math.ceil(_size(args[1]) * STRING_FACTOR)
        case "strings.quote" | "format":
            return math.ceil(_size(args[0]) * STRING_FACTOR)
        case "bytes" | "string" if isinstance(args[0], str | bytes):
            return math.ceil(len(args[0]) * STRING_FACTOR)
        case "join":
            return math.ceil(_size(result) * 2 * STRING_FACTOR)
        case "@in" if isinstance(args[1], list):
            return len(args[1])
        case "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_":
            return math.ceil(min(_size(args[0]), _size(args[1])) * STRING_FACTOR)
        case "_+_" if isinstance(args[0], str | bytes):
            return math.ceil((_size(args[0]) + _size(args[1])) * STRING_FACTOR)
        case "matches" | "find" | "findAll":
            text = math.ceil((1 + _size(args[0])) * STRING_FACTOR)
            return text * math.ceil(_size(args[1]) * REGEX_FACTOR)
        case "contains":
            text = math.ceil(_size(args[0]) * STRING_FACTOR)
            return text * math.ceil(_size(args[1]) * STRING_FACTOR)
        case "containsIP" | "containsCIDR":
            return _address_cost(function, args)
        case "sets.contains" | "sets.intersects":
            return 1 + len(args[0]) * len(args[1])
        case "sets.equivalent":
            return 1 + 2 * len(args[0]) * len(args[1])
        case "validate":
            text = math.ceil((1 + _size(args[1])) * STRING_FACTOR)
            return int(text * math.ceil(args[0].regex_size * REGEX_FACTOR))
        case "slice" | "lists.range":
            return _LIST_CALL + len(result)
        case "flatten":
            return _LIST_CALL + len(args[0]) * (args[1] if len(args) > 1 else 1)
        case "reverse" if isinstance(result, list):
            return _LIST_CALL + len(result)
        case "distinct" | "sort" | "@sortByAssociatedKeys":
            return _LIST_CALL + _squared(args[-1])
        case "fieldSelector" | "labelSelector":
            size = _size(args[1])
            return selector_cost(Range(size, size)).max
    return 1


_TEXTS = PARSERS | frozenset(
    ["lowerAscii", "upperAscii", "substring", "trim", "replace", "split", "ip.isCanonical"]
)


def _size(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    inner = getattr(value, "value", None) if getattr(value, "present", False) else None
    if inner is not None:
        return _size(inner)
    return len(value) if hasattr(type(value), "__len__") else 1


def _traversal(value: Any) -> int:
    if isinstance(value, str | bytes):
        return int(len(value) * STRING_FACTOR)
    if isinstance(value, list):
        return sum(_traversal(item) for item in value)
    if isinstance(value, dict):
        return sum(_traversal(key) + _traversal(item) for key, item in value.items())
    return 1


def _address_cost(function: str, args: Sequence[Any]) -> int:
    size = _size(args[0])
    cost = math.ceil(2 * size * STRING_FACTOR)
    if function == "containsCIDR":
        cost += math.ceil(size * STRING_FACTOR) + 1
    if isinstance(args[1], str):
        cost += math.ceil(len(args[1]) * STRING_FACTOR)
    return cost


_LIST_CALL = LIST_COST + 1


def _squared(items: Sequence[Any]) -> int:
    """Comparing every element with every other."""
    texts = bool(items) and isinstance(items[0], str | bytes)
    return int(len(items) ** 2 * (2 + STRING_FACTOR * texts))
