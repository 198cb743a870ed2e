"""Arithmetic of CEL: integers have 64 bits, and an overflow is an error."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.operations.classes import class_of, no_overload_error
from quarterdeck.cel.operations.containers import add_lists
from quarterdeck.cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, Timestamp, UInt


def check_int(value: int) -> int:
    """The value, if it fits 64 bits."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvaluationError("integer overflow")


def check_uint(value: int) -> UInt:
    """The value as unsigned, if it fits 64 bits."""
    if 0 <= value <= UINT_MAX:
        return UInt(value)
    raise EvaluationError("unsigned integer overflow")


def divide_int(left: int, right: int) -> int:
    """Division that rounds towards zero."""
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return check_int(quotient if (left < 0) == (right < 0) else -quotient)


def modulo_int(left: int, right: int) -> int:
    """The remainder, with the sign of the dividend."""
    if right == 0:
        raise EvaluationError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise EvaluationError("integer overflow")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def divide_double(left: float, right: float) -> float:
    """Division by IEEE 754, which is never an error: x / 0 is infinite or NaN."""
    if right:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, math.copysign(1, left) * math.copysign(1, right))


def multiply_double(left: float, right: float) -> float:
    """Multiplication of doubles that may still be stored as JSON integers."""
    return float(left) * float(right)


_Binary = Mapping[tuple[type, type], Callable[[Any, Any], Any]]

_ADD: _Binary = {
    (int, int): lambda a, b: check_int(a + b),
    (UInt, UInt): lambda a, b: check_uint(int(a) + int(b)),
    (float, float): lambda a, b: a + b,
    (str, str): lambda a, b: a + b,
    (bytes, bytes): lambda a, b: a + b,
    (list, list): add_lists,
    (Duration, Duration): lambda a, b: Duration(a.ns + b.ns),
    (Duration, Timestamp): lambda a, b: Timestamp(a.ns + b.ns, b.offset),
    (Timestamp, Duration): lambda a, b: Timestamp(a.ns + b.ns, a.offset),
}
_SUBTRACT: _Binary = {
    (int, int): lambda a, b: check_int(a - b),
    (UInt, UInt): lambda a, b: check_uint(int(a) - int(b)),
    (float, float): lambda a, b: a - b,
    (Duration, Duration): lambda a, b: Duration(a.ns - b.ns),
    (Timestamp, Duration): lambda a, b: Timestamp(a.ns - b.ns, a.offset),
    (Timestamp, Timestamp): lambda a, b: Duration(a.ns - b.ns),
}
_MULTIPLY: _Binary = {
    (int, int): lambda a, b: check_int(a * b),
    (UInt, UInt): lambda a, b: check_uint(int(a) * int(b)),
    (float, float): lambda a, b: a * b,
}
_DIVIDE: _Binary = {
    (int, int): divide_int,
    (UInt, UInt): lambda a, b: check_uint(divide_int(int(a), int(b))),
    (float, float): divide_double,
}
_MODULO: _Binary = {
    (int, int): modulo_int,
    (UInt, UInt): lambda a, b: check_uint(modulo_int(int(a), int(b))),
}


def _build_operator(table: _Binary) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        operation = table.get((class_of(left), class_of(right)))
        if operation is None:
            raise no_overload_error()
        return operation(left, right)

    return apply


add = _build_operator(_ADD)
subtract = _build_operator(_SUBTRACT)
multiply = _build_operator(_MULTIPLY)
divide = _build_operator(_DIVIDE)
modulo = _build_operator(_MODULO)


def negate(value: Any) -> Any:
    """Unary minus."""
    if type(value) is int:
        return check_int(-value)
    if type(value) is float:
        return -value
    raise no_overload_error()
