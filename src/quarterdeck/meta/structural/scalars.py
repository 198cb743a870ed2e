"""Checks of strings and numbers against their limits, shared by `fast` and `explain`."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from quarterdeck.kit.patterns import PatternError, compile_re2
from quarterdeck.meta.schema import Node
from quarterdeck.meta.structural.formats import find_format_check

Predicate = Callable[[Any], bool]

_INT64 = 1 << 63
_SAFE = (1 << 53) - 1
_LONGEST_CACHED = 64


def type_name(value: Any) -> str:
    """Return the JSON type of a value; integers that fit into 64 bits are `integer`."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer" if -_INT64 <= value < _INT64 else "number"
        case float():
            return "number"
        case list():
            return "array"
        case _:
            return "object"


def is_whole(value: Any) -> bool:
    """Whether a value is a 64-bit integer, or a float without fraction that is exact."""
    if type(value) is int:
        return -_INT64 <= value < _INT64
    return type(value) is float and value.is_integer() and abs(value) <= _SAFE


def allows_null(node: Node) -> bool:
    """Whether null is valid, which depends only on the type and enumeration of the node."""
    if (node.type or node.int_or_string) and not node.nullable:
        return False
    return not node.enum or None in node.enum


def is_one_of(value: Any, choices: Sequence[Any]) -> bool:
    """Whether a value equals one of the choices as in JSON: `true` is not 1, but 1.0 is."""
    return any(value == choice and _is_comparable(value, choice) for choice in choices)


def _is_comparable(value: Any, choice: Any) -> bool:
    return isinstance(value, bool) == isinstance(choice, bool)


def has_repeats(values: Sequence[Any]) -> bool:
    """Whether two members are equal."""
    return any(is_one_of(value, values[:index]) for index, value in enumerate(values))


def matches(pattern: str, text: str) -> bool:
    """Whether a text matches the pattern of a schema; an invalid pattern matches nothing."""
    if len(text) <= _LONGEST_CACHED:
        return _matches_cached(pattern, text)
    return _search(pattern, text)


@functools.lru_cache(maxsize=1024)
def _matches_cached(pattern: str, text: str) -> bool:
    """Match a short text; cached, because texts such as condition types repeat in every write."""
    return _search(pattern, text)


def _search(pattern: str, text: str) -> bool:
    try:
        return compile_re2(pattern).search(text)
    except PatternError:
        return False


def is_multiple(value: int | float, factor: int | float) -> bool:
    """Whether a number is a multiple; integers are divided as integers."""
    if type(value) is int:
        whole = int(factor)
        return whole > 0 and value % whole == 0
    ratio = value / factor if factor >= 1 else 1 / factor * value
    return math.isfinite(ratio) and ratio.is_integer()


def is_below(value: int | float, limit: int | float, *, exclusive: bool) -> bool:
    """Whether a number is below a minimum; for integers the limit is truncated to an integer."""
    limit = int(limit) if type(value) is int else limit
    return value <= limit if exclusive else value < limit


def is_above(value: int | float, limit: int | float, *, exclusive: bool) -> bool:
    """Whether a number exceeds a maximum."""
    limit = int(limit) if type(value) is int else limit
    return value >= limit if exclusive else value > limit


def compile_scalar_predicate(node: Node) -> Predicate | None:
    """Compile the test of a scalar node besides its type; None if it has no other rules."""
    tests = [test for test in (_compile_string(node), _compile_number(node)) if test is not None]
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    first, second = tests
    return lambda value: first(value) and second(value)


def find_integer_limits(node: Node) -> tuple[int, int] | None:
    """Return the limits of an integer node without other rules; None for other nodes.

    Most numbers in most kinds are of this form: ports, replicas, seconds.
    """
    limits = (node.minimum, node.maximum)
    is_simple = node.type == "integer" and not (
        node.nullable or node.int_or_string or node.enum or node.multiple_of is not None
    )
    if not is_simple or limits == (None, None) or node.all_of or node.any_of or node.one_of:
        return None
    if node.not_ or not all(limit is None or math.isfinite(limit) for limit in limits):
        return None
    lowest, highest = -_INT64, _INT64 - 1
    if node.minimum is not None:
        lowest = max(lowest, int(node.minimum) + node.exclusive_minimum)
    if node.maximum is not None:
        highest = min(highest, int(node.maximum) - node.exclusive_maximum)
    return lowest, highest


def compile_bounded_integer(node: Node) -> Predicate | None:
    """Compile one test for an integer node that has limits only; None for other nodes."""
    limits = find_integer_limits(node)
    if limits is None:
        return None
    lowest, highest = limits
    test_others = _compile_number(node)

    def test(value: Any) -> bool:
        if type(value) is int:
            return lowest <= value <= highest
        return is_whole(value) and (test_others is None or test_others(value))

    return test


def checks_type(node: Node) -> bool:
    """Whether the test of a string node's limits includes its type."""
    return node.type == "string" and _compile_string(node) is not None


def _compile_string(node: Node) -> Predicate | None:
    low, high, pattern = node.min_length or 0, node.max_length, node.pattern
    known_format = find_format_check(node.format)
    if not low and high is None and not pattern and known_format is None:
        return None

    is_string = node.type == "string"

    def test(value: Any) -> bool:
        if type(value) is not str:
            return not is_string
        if len(value) < low or (high is not None and len(value) > high):
            return False
        if pattern and not matches(pattern, value):
            return False
        return known_format is None or known_format(value)

    return test


def _compile_number(node: Node) -> Predicate | None:
    low, high, factor = node.minimum, node.maximum, node.multiple_of
    if low is None and high is None and factor is None:
        return None
    above_only, below_only = node.exclusive_minimum, node.exclusive_maximum

    def test(value: Any) -> bool:
        if type(value) is not int and type(value) is not float:
            return True
        return not (
            (low is not None and is_below(value, low, exclusive=above_only))
            or (high is not None and is_above(value, high, exclusive=below_only))
            or (factor is not None and not is_multiple(value, factor))
        )

    return test
