"""The estimated cost of one call, and the estimated size of its result.

A table for every function that costs more than one unit: by overload where overloads differ, else
by function. The cost of evaluating the arguments is not included; the caller adds it.
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
    estimate_selector,
)
from quarterdeck.cel.syntax.ast import Call, Expr, Literal_
from quarterdeck.cel.types import Kind

Operands = Sequence[Expr]


class Price(NamedTuple):
    """The cost of a call, and the size of its result if later calls depend on it."""

    cost: Range
    size: Range | None = None


_NOMINAL = Price(ONE)
_Pricing = Callable[[Sizes, Operands, str], Price]


def compute_price(sizes: Sizes, call: Call, overload: str) -> Price:
    """Compute the price of a call if this is the overload that is called."""
    pricing = _BY_OVERLOAD.get(overload) or _BY_FUNCTION.get(call.function)
    return pricing(sizes, call.operands, overload) if pricing is not None else _NOMINAL


# texts


def _price_reading(times: float, at: int = 0) -> _Pricing:
    """The price of reading one operand `times` times."""

    def pricing(sizes: Sizes, operands: Operands, overload: str) -> Price:
        return Price(sizes.estimate(operands[at]).scale(times * STRING_FACTOR))

    return pricing


def _price_copy(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.estimate(operands[0])
    return Price(size.scale(STRING_FACTOR), size)


def _price_to_bytes(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.estimate(operands[0])
    return Price(size.scale(STRING_FACTOR), Range(size.min, min(size.max * 4, MAX)))


def _price_to_string(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.estimate(operands[0])
    return Price(size.scale(STRING_FACTOR), Range(size.min // 4, size.max))


def _price_quote(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.estimate(operands[0])
    return Price(size.scale(STRING_FACTOR), Range(size.min + 2, min(size.max * 2 + 2, MAX)))


def _price_concatenation(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.estimate(operands[0]).add(sizes.estimate(operands[1]))
    return Price(size.scale(STRING_FACTOR), size)


def _price_contains(sizes: Sizes, operands: Operands, overload: str) -> Price:
    text, part = (sizes.estimate(operand).scale(STRING_FACTOR) for operand in operands)
    return Price(text.multiply(part))


def _price_matches(sizes: Sizes, operands: Operands, overload: str) -> Price:
    traversal = sizes.estimate(operands[0]).add(ONE).scale(STRING_FACTOR)
    return Price(traversal.multiply(sizes.estimate(operands[1]).scale(REGEX_FACTOR)))


def _price_find(sizes: Sizes, operands: Operands, overload: str) -> Price:
    found = Range(0, sizes.estimate(operands[0]).max)
    return Price(_price_matches(sizes, operands, overload).cost, found)


def _price_replace(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size, old, new = (sizes.estimate(operand) for operand in operands[:3])
    return Price(size.scale(2 * STRING_FACTOR), _estimate_replaced_size(size, old, new))


def _estimate_replaced_size(size: Range, old: Range, new: Range) -> Range:
    """The minimum and maximum size of a text after replacements."""
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
    return Range(fewest, most).multiply(new).add(Range(kept_min, kept_max))


def _price_split(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.estimate(operands[0])
    most = size.max
    if len(operands) > 2 and (limit := _get_constant(operands[2])) is not None:
        most = limit if limit >= 0 else MAX
    return Price(size.scale(2 * STRING_FACTOR), Range(0, most))


def _price_join(sizes: Sizes, operands: Operands, overload: str) -> Price:
    count = sizes.estimate(operands[0])
    element, each = sizes.find_element(operands[0])
    size = count.multiply(each) if element is not None else ZERO
    if len(operands) > 1:
        between = Range(max(count.min - 1, 0), max(count.max - 1, 0))
        size = size.add(sizes.estimate(operands[1]).multiply(between))
    return Price(size.scale(STRING_FACTOR), size)


# comparison


def _price_equality(sizes: Sizes, operands: Operands, overload: str) -> Price:
    left, right = operands[0].type, operands[1].type
    if left.name in UNIT_EQUALITY and left == right:
        return _NOMINAL
    return _price_comparison(sizes, operands, overload)


def _price_comparison(sizes: Sizes, operands: Operands, overload: str) -> Price:
    smaller = min(sizes.estimate(operands[0]).max, sizes.estimate(operands[1]).max)
    return Price(Range(1 if smaller else 0, smaller).scale(STRING_FACTOR))


# lists

_MADE = Range(LIST_COST + 1, LIST_COST + 1)


def _price_list_addition(sizes: Sizes, operands: Operands, overload: str) -> Price:
    return Price(ONE, sizes.estimate(operands[0]).add(sizes.estimate(operands[1])))


def _price_membership(sizes: Sizes, operands: Operands, overload: str) -> Price:
    return Price(sizes.estimate(operands[1]).scale(1))


def _price_pairs(sizes: Sizes, operands: Operands, overload: str) -> Price:
    return Price(sizes.estimate(operands[0]).multiply(sizes.estimate(operands[1])).add(ONE))


def _price_pairs_twice(sizes: Sizes, operands: Operands, overload: str) -> Price:
    product = sizes.estimate(operands[0]).multiply(sizes.estimate(operands[1]))
    return Price(product.add(product).add(ONE))


def _price_range(sizes: Sizes, operands: Operands, overload: str) -> Price:
    count = _get_constant(operands[0])
    size = Range(max(count, 0), max(count, 0)) if count is not None else UNKNOWN
    return Price(_MADE.add(size), size)


def _price_rearrangement(sizes: Sizes, operands: Operands, overload: str) -> Price:
    size = sizes.estimate(operands[0])
    return Price(_MADE.add(size), size)


def _price_sort(sizes: Sizes, operands: Operands, overload: str) -> Price:
    """The price of sorting, which is that of comparing every element with every other."""
    size = sizes.estimate(operands[0])
    square = size.multiply(size)
    texts = "_string_" in overload or "_bytes_" in overload
    return Price(_MADE.add(square.scale(2 + STRING_FACTOR * texts)), square)


def _price_search(sizes: Sizes, operands: Operands, overload: str) -> Price:
    """The price of reading a list or a text once."""
    element, size = sizes.find_element(operands[0])
    whole = sizes.estimate(operands[0])
    if element is None:
        return Price(whole.scale(STRING_FACTOR))
    if element.kind in (Kind.STRING, Kind.BYTES):
        return Price(whole.multiply(ONE.add(size.scale(STRING_FACTOR))))
    return Price(whole.multiply(ONE))


def _get_constant(node: Expr) -> int | None:
    if isinstance(node, Literal_) and isinstance(node.value, int):
        return node.value
    return None


# Kubernetes


def _price_check(sizes: Sizes, operands: Operands, overload: str) -> Price:
    return Price(Range(350_000, 350_000))


def _price_selector(sizes: Sizes, operands: Operands, overload: str) -> Price:
    return Price(estimate_selector(sizes.estimate(operands[1])))


def _price_validation(sizes: Sizes, operands: Operands, overload: str) -> Price:
    return Price(sizes.estimate(operands[1]).scale(STRING_FACTOR).scale(128 * REGEX_FACTOR))


_ADDRESS = Range(4, 16)


def _price_contains_ip(sizes: Sizes, operands: Operands, overload: str) -> Price:
    cost = _ADDRESS.add(_ADDRESS).scale(STRING_FACTOR)
    if overload.endswith("_string"):
        cost = cost.add(sizes.estimate(operands[1]).scale(STRING_FACTOR))
    return Price(cost)


def _price_contains_cidr(sizes: Sizes, operands: Operands, overload: str) -> Price:
    address = _price_contains_ip(sizes, operands, overload).cost
    return Price(address.add(_ADDRESS.scale(STRING_FACTOR)).add(ONE))


_BY_OVERLOAD: Mapping[str, _Pricing] = {
    **dict.fromkeys(BY_SIZE, _price_comparison),
    "equals": _price_equality,
    "add_bytes": _price_concatenation,
    "add_list": _price_list_addition,
    "add_string": _price_concatenation,
    "bytes_to_string": _price_to_string,
    "cidr_ip": lambda sizes, operands, overload: _NOMINAL,
    "contains_string": _price_contains,
    "ends_with_string": _price_reading(1, at=1),
    "in_list": _price_membership,
    "list_reverse": _price_rearrangement,
    "matches_string": _price_matches,
    "starts_with_string": _price_reading(1, at=1),
    "string_to_bytes": _price_to_bytes,
}
_BY_FUNCTION: Mapping[str, _Pricing] = {
    **dict.fromkeys(PARSERS, _price_reading(1)),
    **dict.fromkeys(SEARCHES, _price_search),
    "@sortByAssociatedKeys": _price_sort,
    "check": _price_check,
    "containsCIDR": _price_contains_cidr,
    "containsIP": _price_contains_ip,
    "distinct": _price_sort,
    "fieldSelector": _price_selector,
    "find": _price_find,
    "findAll": _price_find,
    "flatten": _price_rearrangement,
    "format": _price_reading(1),
    "ip.isCanonical": _price_reading(2),
    "join": _price_join,
    "jsonpatch.escapeKey": _price_copy,
    "labelSelector": _price_selector,
    "lists.range": _price_range,
    "lowerAscii": _price_copy,
    "replace": _price_replace,
    "sets.contains": _price_pairs,
    "sets.equivalent": _price_pairs_twice,
    "sets.intersects": _price_pairs,
    "slice": _price_rearrangement,
    "sort": _price_sort,
    "split": _price_split,
    "strings.quote": _price_quote,
    "substring": _price_copy,
    "trim": _price_copy,
    "upperAscii": _price_copy,
    "url": _price_copy,
    "validate": _price_validation,
}
