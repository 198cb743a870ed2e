"""What the work of one call may cost, and how large its result may be.

A table for every function that costs more than one unit: by overload where overloads differ, else
by function. Arguments are paid for by whoever evaluates them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from quarterdeck.cel.cost.sizes import Sizes
from quarterdeck.cel.cost.units import (
    BY_SIZE,
    LIST_COST,
    MAX,
    ONE,
    PARSERS,
    REGEX_FACTOR,
    SEARCHES,
    STRING_FACTOR,
    UNIT_EQUALITY,
    UNKNOWN,
    ZERO,
    Range,
    selector_cost,
)
from quarterdeck.cel.syntax.ast import Call, Expr, Literal_
from quarterdeck.cel.types import Kind

Operands = Sequence[Expr]


class Price(NamedTuple):
    """Units of work, and the size of the result where it is worth knowing."""

    cost: Range
    size: Range | None = None


_NOMINAL = Price(ONE)
_Pricing = Callable[[Sizes, Operands, str], Price]


def price(sizes: Sizes, call: Call, overload: str) -> Price:
    """The price of a call, if it turns out to mean this overload."""
    pricing = _BY_OVERLOAD.get(overload) or _BY_FUNCTION.get(call.function)
    return pricing(sizes, call.operands, overload) if pricing is not None else _NOMINAL


# texts


def _reads(times: float, at: int = 0) -> _Pricing:
    """Reading one operand so many times."""

    def pricing(sizes: Sizes, operands: Operands, overload: str) -> Price:
        return Price(sizes.of(operands[at]).scaled(times * STRING_FACTOR))

    return pricing


def _copies(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.of(operands[0])
    return Price(size.scaled(STRING_FACTOR), size)


def _to_bytes(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.of(operands[0])
    return Price(size.scaled(STRING_FACTOR), Range(size.min, min(size.max * 4, MAX)))


def _to_string(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.of(operands[0])
    return Price(size.scaled(STRING_FACTOR), Range(size.min // 4, size.max))


def _quote(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.of(operands[0])
    return Price(size.scaled(STRING_FACTOR), Range(size.min + 2, min(size.max * 2 + 2, MAX)))


def _concatenate(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.of(operands[0]).plus(sizes.of(operands[1]))
    return Price(size.scaled(STRING_FACTOR), size)


def _contains(sizes: Sizes, operands: Operands, overload: str) -> Price:
    text, part = (sizes.of(operand).scaled(STRING_FACTOR) for operand in operands)
    return Price(text.times(part))


def _matches(sizes: Sizes, operands: Operands, overload: str) -> Price:
    traversal = sizes.of(operands[0]).plus(ONE).scaled(STRING_FACTOR)
    return Price(traversal.times(sizes.of(operands[1]).scaled(REGEX_FACTOR)))


def _find(sizes: Sizes, operands: Operands, overload: str) -> Price:
    found = Range(0, sizes.of(operands[0]).max)
    return Price(_matches(sizes, operands, overload).cost, found)


def _replace(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size, old, new = (sizes.of(operand) for operand in operands[:3])
    return Price(size.scaled(2 * STRING_FACTOR), _replaced(size, old, new))


def _replaced(size: Range, old: Range, new: Range) -> Range:
    """The size of a text after replacements: fewest and most, shortest and longest."""
    if old.min == 0:
        most, kept_max = min(size.max + 1, MAX), size.max
    elif new.max <= old.min:
        most, kept_max = 0, size.max
    else:
        most, kept_max = math.ceil(size.max / old.min), 0
    if old.max == 0:
        fewest, kept_min = min(size.min + 1, MAX), size.min
    elif old.max <= new.min:
        fewest, kept_min = 0, size.min
    else:
        fewest, kept_min = math.ceil(size.min / old.max), 0
    return Range(fewest, most).times(new).plus(Range(kept_min, kept_max))


def _split(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.of(operands[0])
    most = size.max
    if len(operands) > 2 and (limit := _constant(operands[2])) is not None:
        most = limit if limit >= 0 else MAX
    return Price(size.scaled(2 * STRING_FACTOR), Range(0, most))


def _join(sizes: Sizes, operands: Operands, overload: str) -> Price:
    count = sizes.of(operands[0])
    element, each = sizes.element(operands[0])
    size = count.times(each) if element is not None else ZERO
    if len(operands) > 1:
        between = Range(max(count.min - 1, 0), max(count.max - 1, 0))
        size = size.plus(sizes.of(operands[1]).times(between))
    return Price(size.scaled(STRING_FACTOR), size)


# comparison


def _equals(sizes: Sizes, operands: Operands, overload: str) -> Price:
    left, right = operands[0].type, operands[1].type
    if left.name in UNIT_EQUALITY and left == right:
        return _NOMINAL
    return _compare(sizes, operands, overload)


def _compare(sizes: Sizes, operands: Operands, overload: str) -> Price:
    smaller = min(sizes.of(operands[0]).max, sizes.of(operands[1]).max)
    return Price(Range(1 if smaller else 0, smaller).scaled(STRING_FACTOR))


# lists

_MADE = Range(LIST_COST + 1, LIST_COST + 1)


def _add_list(sizes: Sizes, operands: Operands, overload: str) -> Price:
    return Price(ONE, sizes.of(operands[0]).plus(sizes.of(operands[1])))


def _in_list(sizes: Sizes, operands: Operands, overload: str) -> Price:
    return Price(sizes.of(operands[1]).scaled(1))


def _pairs(sizes: Sizes, operands: Operands, overload: str) -> Price:
    return Price(sizes.of(operands[0]).times(sizes.of(operands[1])).plus(ONE))


def _pairs_twice(sizes: Sizes, operands: Operands, overload: str) -> Price:
    product = sizes.of(operands[0]).times(sizes.of(operands[1]))
    return Price(product.plus(product).plus(ONE))


def _range(sizes: Sizes, operands: Operands, overload: str) -> Price:
    count = _constant(operands[0])
    size = Range(max(count, 0), max(count, 0)) if count is not None else UNKNOWN
    return Price(_MADE.plus(size), size)


def _rearrange(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.of(operands[0])
    return Price(_MADE.plus(size), size)


def _sort(sizes: Sizes, operands: Operands, overload: str) -> Price:
    """Comparing every element with every other."""
    size = sizes.of(operands[0])
    square = size.times(size)
    texts = "_string_" in overload or "_bytes_" in overload
    return Price(_MADE.plus(square.scaled(2 + STRING_FACTOR * texts)), square)


def _search(sizes: Sizes, operands: Operands, overload: str) -> Price:
    """Walking a list or a text once."""
    element, size = sizes.element(operands[0])
    whole = sizes.of(operands[0])
    if element is None:
        return Price(whole.scaled(STRING_FACTOR))
    if element.kind in (Kind.STRING, Kind.BYTES):
        return Price(whole.times(ONE.plus(size.scaled(STRING_FACTOR))))
    return Price(whole.times(ONE))


def _constant(node: Expr) -> int | None:
    if isinstance(node, Literal_) and isinstance(node.value, int):
        return node.value
    return None


# Kubernetes


def _check(sizes: Sizes, operands: Operands, overload: str) -> Price:
    return Price(Range(350_000, 350_000))


def _selector(sizes: Sizes, operands: Operands, overload: str) -> Price:
    return Price(selector_cost(sizes.of(operands[1])))


def _validate(sizes: Sizes, operands: Operands, overload: str) -> Price:
    return Price(sizes.of(operands[1]).scaled(STRING_FACTOR).scaled(128 * REGEX_FACTOR))


_ADDRESS = Range(4, 16)


def _contains_ip(sizes: Sizes, operands: Operands, overload: str) -> Price:
    cost = _ADDRESS.plus(_ADDRESS).scaled(STRING_FACTOR)
    if overload.endswith("_string"):
        cost = cost.plus(sizes.of(operands[1]).scaled(STRING_FACTOR))
    return Price(cost)


def _contains_cidr(sizes: Sizes, operands: Operands, overload: str) -> Price:
    address = _contains_ip(sizes, operands, overload).cost
    return Price(address.plus(_ADDRESS.scaled(STRING_FACTOR)).plus(ONE))


_BY_OVERLOAD: Mapping[str, _Pricing] = {
    **dict.fromkeys(BY_SIZE, _compare),
    "equals": _equals,
    "add_bytes": _concatenate,
    "add_list": _add_list,
    "add_string": _concatenate,
    "bytes_to_string": _to_string,
    "cidr_ip": lambda sizes, operands, overload: _NOMINAL,
    "contains_string": _contains,
    "ends_with_string": _reads(1, at=1),
    "in_list": _in_list,
    "list_reverse": _rearrange,
    "matches_string": _matches,
    "starts_with_string": _reads(1, at=1),
    "string_to_bytes": _to_bytes,
}
_BY_FUNCTION: Mapping[str, _Pricing] = {
    **dict.fromkeys(PARSERS, _reads(1)),
    **dict.fromkeys(SEARCHES, _search),
    "@sortByAssociatedKeys": _sort,
    "check": _check,
    "containsCIDR": _contains_cidr,
    "containsIP": _contains_ip,
    "distinct": _sort,
    "fieldSelector": _selector,
    "find": _find,
    "findAll": _find,
    "flatten": _rearrange,
    "format": _reads(1),
    "ip.isCanonical": _reads(2),
    "join": _join,
    "labelSelector": _selector,
    "lists.range": _range,
    "lowerAscii": _copies,
    "replace": _replace,
    "sets.contains": _pairs,
    "sets.equivalent": _pairs_twice,
    "sets.intersects": _pairs,
    "slice": _rearrange,
    "sort": _sort,
    "split": _split,
    "strings.quote": _quote,
    "substring": _copies,
    "trim": _copies,
    "upperAscii": _copies,
    "url": _copies,
    "validate": _validate,
}
