"""Evaluates expressions like the original ClusterPulse, for `expressionMode: compat`.

Null counts as 0 in arithmetic, text counts as 0 in arithmetic and order, lengths are bytes, `==`
goes by the left side, and an unknown function gives null when it is reached. What crashed the
original, and NaN, which no store can keep, is null. Evaluated object by object: existing sources
must work as they did, not fast.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from quarterdeck.apis.clusterpulse.metric_source import ComputedType
from quarterdeck.engine.columns import Columns
from quarterdeck.engine.expressions import library
from quarterdeck.engine.expressions.compiler import Moment
from quarterdeck.engine.expressions.functions import FUNCTIONS
from quarterdeck.engine.expressions.tree import (
    Binary,
    Call,
    Chain,
    Condition,
    Expression,
    Literal,
    Name,
    Unary,
    find_names,
)
from quarterdeck.engine.values import MAX_INTEGER, to_text

_EXPONENT_FROM = 6
_EXPONENT_BELOW = -4
_UNITS = ("B", "Ki", "Mi", "Gi", "Ti", "Pi")

Row: TypeAlias = Mapping[str, Any]


class _Fault(Exception):
    """Raised where the original fails to evaluate a row."""


def to_number(value: Any) -> float:
    """The number of a value: null and text are 0."""
    return float(value) if isinstance(value, int | float) else 0.0


def is_true(value: Any) -> bool:
    """Whether a value is true; a list always is."""
    return bool(value) if value is None or isinstance(value, bool | int | float | str) else True


def to_compat_text(value: Any) -> str:
    """The text of a value; large and small fractions have an exponent."""
    if isinstance(value, float) and not value.is_integer() and math.isfinite(value):
        return _format_general(value)
    return to_text(value)


def _format_general(value: float) -> str:
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    power = len(digits) + int(exponent) - 1
    if _EXPONENT_BELOW <= power < _EXPONENT_FROM:
        return to_text(value)
    mantissa = "".join(map(str, digits)).rstrip("0")
    fraction = f".{mantissa[1:]}" if len(mantissa) > 1 else ""
    return (
        f"{'-' if sign else ''}{mantissa[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):02}"
    )


class CompatExpression:
    """An expression under the original's rules."""

    def __init__(self, tree: Expression, type_: ComputedType) -> None:
        self.names = tuple(sorted(find_names(tree)))
        self._tree = tree
        self._type = type_

    def evaluate(self, columns: Columns, size: int, moment: Moment) -> list[Any]:
        """The values for `size` objects."""
        evaluator = _Evaluator(moment)
        used = {name: columns[name] for name in self.names}
        return [
            _coerce(evaluator.evaluate(self._tree, used, index), self._type)
            for index in range(size)
        ]


class _Evaluator:
    def __init__(self, moment: Moment) -> None:
        self._moment = moment

    def evaluate(self, tree: Expression, columns: Mapping[str, list[Any]], index: int) -> Any:
        try:
            return self._evaluate(tree, {name: column[index] for name, column in columns.items()})
        except _Fault:
            return None

    def _evaluate(self, node: Expression, row: Row) -> Any:
        match node:
            case Literal(value=value):
                return value
            case Name(name=name):
                return row[name]
            case Unary(operator="!", operand=operand):
                return not is_true(self._evaluate(operand, row))
            case Unary(operand=operand):
                return -to_number(self._evaluate(operand, row))
            case Binary(operator=symbol, left=left, right=right):
                return _BINARY[symbol](self._evaluate(left, row), self._evaluate(right, row))
            case Chain():
                return self._evaluate_chain(node, row)
            case Condition():
                raise _Fault
            case Call():
                return self._call(node, row)

    def _evaluate_chain(self, node: Chain, row: Row) -> Any:
        if node.operator == "&&":
            return all(is_true(self._evaluate(each, row)) for each in node.operands)
        if node.operator == "||":
            return any(is_true(self._evaluate(each, row)) for each in node.operands)
        value = None
        for each in node.operands:
            if (value := self._evaluate(each, row)) is not None:
                break
        return value

    def _call(self, node: Call, row: Row) -> Any:
        function = FUNCTIONS.get(node.function)
        count = len(node.arguments)
        if function is None or not function.is_original or count < function.min_arguments:
            raise _Fault
        if function.max_arguments is not None and count > function.max_arguments:
            raise _Fault
        arguments = [self._evaluate(each, row) for each in node.arguments]
        if node.function == "now":
            return self._moment.text
        if node.function == "age":
            return library.age(to_compat_text(arguments[0]), self._moment.seconds)
        return _CALLS[node.function](arguments)


def _are_equal(left: Any, right: Any) -> bool:
    """Equality by the left side's type; whole numbers from fields never equal anything."""
    if left is None or right is None:
        return left is right
    if isinstance(left, str):
        return left == to_compat_text(right)
    if isinstance(left, bool):
        return left == is_true(right)
    return isinstance(left, float) and left == to_number(right)


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str) or isinstance(right, str):
        return to_compat_text(left) + to_compat_text(right)
    return to_number(left) + to_number(right)


def _divide(left: Any, right: Any) -> float | None:
    divisor = to_number(right)
    return to_number(left) / divisor if divisor else None


def _compute_remainder(left: Any, right: Any) -> float | None:
    divisor = to_number(right)
    return library.remainder(to_number(left), divisor) if divisor else None


def _apply_to_numbers(apply: Callable[[float, float], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: apply(to_number(left), to_number(right))


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "==": _are_equal,
    "!=": lambda left, right: not _are_equal(left, right),
    "<": _apply_to_numbers(operator.lt),
    "<=": _apply_to_numbers(operator.le),
    ">": _apply_to_numbers(operator.gt),
    ">=": _apply_to_numbers(operator.ge),
    "+": _add,
    "-": _apply_to_numbers(operator.sub),
    "*": _apply_to_numbers(operator.mul),
    "/": _divide,
    "%": _compute_remainder,
}


def _take_substring(arguments: Sequence[Any]) -> str:
    data, start = to_compat_text(arguments[0]).encode(), to_number(arguments[1])
    if not -1 < start < len(data):
        return ""
    begin, end = max(0, int(start)), len(data)
    if len(arguments) > 2:
        length = to_number(arguments[2])
        if not length > -1:
            raise _Fault
        end = begin + int(min(length, len(data)))
    return data[begin:end].decode(errors="replace")


def _format_bytes(value: float) -> str:
    power = 0
    while value >= 1024 and power < len(_UNITS) - 1:
        value /= 1024
        power += 1
    return f"{value:.2f}{_UNITS[power]}"


def _on_numbers(apply: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    return lambda arguments: apply(*map(to_number, arguments))


def _on_texts(apply: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    return lambda arguments: apply(*map(to_compat_text, arguments))


_CALLS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "concat": lambda arguments: "".join(map(to_compat_text, arguments)),
    "lower": _on_texts(str.lower),
    "upper": _on_texts(str.upper),
    "len": lambda arguments: float(len(to_compat_text(arguments[0]).encode())),
    "substr": _take_substring,
    "contains": _on_texts(lambda value, part: part in value),
    "startsWith": _on_texts(str.startswith),
    "endsWith": _on_texts(str.endswith),
    "round": _on_numbers(library.round_to),
    "floor": _on_numbers(library.floor),
    "ceil": _on_numbers(library.ceil),
    "abs": _on_numbers(abs),
    "min": _on_numbers(min),
    "max": _on_numbers(max),
    "coalesce": lambda arguments: next((each for each in arguments if each is not None), None),
    "formatBytes": _on_numbers(_format_bytes),
    "toString": _on_texts(str),
    "toNumber": _on_numbers(float),
}


def _coerce(value: Any, type_: ComputedType) -> Any:
    if value is None:
        return None
    match type_:
        case "string":
            return library.bound_text(to_compat_text(value))
        case "boolean":
            return is_true(value)
    found = to_number(value)
    if not math.isfinite(found):
        return None
    if type_ == "float":
        return found
    return int(found) if -MAX_INTEGER <= found < MAX_INTEGER else None
