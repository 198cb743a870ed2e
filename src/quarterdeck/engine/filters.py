"""Filters of aggregations: which objects count. The value to compare with is always text."""

from collections.abc import Callable
from typing import Any, TypeAlias

from quarterdeck.apis.clusterpulse.metric_source import AggregationFilter, FilterOperator
from quarterdeck.engine import compat
from quarterdeck.engine.values import BOOL, NULL, NUMBER, TEXT, parse_number, to_text
from quarterdeck.kit.patterns import PatternError, compile_re2

Predicate: TypeAlias = Callable[[Any], bool]

OPERATOR_SUMMARIES: dict[FilterOperator, str] = {
    "equals": "The same text, number or boolean; `3` and `3.0` are the same number.",
    "notEquals": "Not equal. Null differs from every value.",
    "contains": "The text form contains the value.",
    "startsWith": "The text form begins with the value.",
    "endsWith": "The text form ends with the value.",
    "greaterThan": "A number, or a text that is a number, is greater than the value.",
    "lessThan": "A number, or a text that is a number, is less than the value.",
    "in": "Equal to one of several values, compared as by `equals`: `[a, b, c]` or `a,b,c`.",
    "matches": "A regular expression (RE2) matches anywhere in the text form.",
}
"""What each operator tests, for the reference page. A null matches `notEquals` only."""

_ONE_KIND = (TEXT, TEXT | NULL, NUMBER, NUMBER | NULL, BOOL, BOOL | NULL)


class FilterError(ValueError):
    """Raised when a filter is invalid."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(message)


class CompiledFilter:
    """Tests columns.

    Raises:
        FilterError: if the value does not suit the operator.
    """

    def __init__(self, spec: AggregationFilter, *, is_compat: bool = False) -> None:
        self.field = spec.field
        other = compat.build_predicate(spec.operator, spec.value) if is_compat else None
        self._test = other or compile_predicate(spec.operator, spec.value)
        self._is_compat = is_compat
        self._operator = spec.operator
        self._value = spec.value
        self._limit = parse_number(spec.value)

    def select(self, column: list[Any], kinds: int) -> list[bool]:
        """For each value whether it passes. Equal values of one kind are tested once."""
        if kinds == NUMBER and (limit := self._limit) is not None:
            if self._operator == "greaterThan":
                return [value > limit for value in column]
            if self._operator == "lessThan":
                return [value < limit for value in column]
        if kinds == TEXT and self._operator == "equals":
            wanted = self._value
            return [value == wanted for value in column]
        if self._is_compat or kinds not in _ONE_KIND:
            return [self._test(value) for value in column]
        known: dict[Any, bool] = {}
        for value in set(column):
            known[value] = self._test(value)
        return list(map(known.__getitem__, column))


def compile_predicate(operator: FilterOperator, wanted: str) -> Predicate:
    """The test of one value.

    Raises:
        FilterError: if `wanted` does not suit the operator.
    """
    match operator:
        case "equals":
            return _build_equality(wanted)
        case "notEquals":
            is_equal = _build_equality(wanted)
            return lambda value: not is_equal(value)
        case "contains":
            return lambda value: value is not None and wanted in to_text(value)
        case "startsWith":
            return lambda value: value is not None and to_text(value).startswith(wanted)
        case "endsWith":
            return lambda value: value is not None and to_text(value).endswith(wanted)
        case "greaterThan" | "lessThan":
            return _order(wanted, is_greater=operator == "greaterThan")
        case "in":
            tests = [_build_equality(part.strip()) for part in wanted.strip("[] ").split(",")]
            return lambda value: any(test(value) for test in tests)
        case "matches":
            return _matches(wanted)


def _build_equality(wanted: str) -> Predicate:
    number = parse_number(wanted)

    def test(value: Any) -> bool:
        if isinstance(value, str):
            return value == wanted
        if isinstance(value, bool):
            return wanted == ("true" if value else "false")
        if isinstance(value, int | float):
            return value == number
        return value is not None and to_text(value) == wanted

    return test


def _order(wanted: str, *, is_greater: bool) -> Predicate:
    limit = parse_number(wanted)
    if limit is None:
        raise FilterError(f"{wanted!r} is not a number", "write a number such as 0.5")

    def test(value: Any) -> bool:
        if isinstance(value, str):
            value = parse_number(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return value > limit if is_greater else value < limit

    return test


def _matches(wanted: str) -> Predicate:
    try:
        search = compile_re2(wanted).search
    except PatternError as error:
        raise FilterError(f"{wanted!r} is not a regular expression (RE2): {error}") from error
    return lambda value: value is not None and search(to_text(value))
