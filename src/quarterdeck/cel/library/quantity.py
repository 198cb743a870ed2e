"""Resource quantities."""

from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.introduction import NEVER
from quarterdeck.cel.operations.classes import no_overload_error
from quarterdeck.cel.values import INT_MAX, INT_MIN
from quarterdeck.kit.quantity import Quantity, QuantityError

DECLARATIONS = """
quantity string_to_quantity (string) Quantity
isQuantity is_quantity_string (string) bool
sign quantity_sign (Quantity) int
isInteger quantity_is_integer Quantity.() bool
asInteger quantity_get_int Quantity.() int
asApproximateFloat quantity_get_float Quantity.() double
isLessThan quantity_is_less_than Quantity.(Quantity) bool
isGreaterThan quantity_is_greater_than Quantity.(Quantity) bool
compareTo quantity_compare_to Quantity.(Quantity) int
add quantity_add Quantity.(Quantity) Quantity
add quantity_add_int Quantity.(int) Quantity
sub quantity_sub Quantity.(Quantity) Quantity
sub quantity_sub_int Quantity.(int) Quantity
"""
LATER = {NEVER: "sign quantity_sign Quantity.() int"}
"""Kubernetes documents `sign` as a member function, but declares only the global one."""


def _parse(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except QuantityError as error:
        raise EvaluationError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except QuantityError:
        return False
    return True


def _is_integer(value: Quantity) -> bool:
    return value.is_integer() and INT_MIN <= value.as_int() <= INT_MAX


def _to_integer(value: Quantity) -> int:
    if not _is_integer(value):
        raise EvaluationError("cannot convert value to integer")
    return value.as_int()


def _to_quantity(value: Any) -> Quantity:
    if isinstance(value, Quantity):
        return value
    if type(value) is int:
        return Quantity.of(value)
    raise no_overload_error()


def _compare(left: Quantity, right: Any) -> int:
    if not isinstance(right, Quantity):
        raise no_overload_error()
    return (left - right).sign()


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "quantity": {str: _parse},
    "isQuantity": {str: _is_quantity},
    "sign": {Quantity: lambda value: value.sign()},
    "isInteger": {Quantity: _is_integer},
    "asInteger": {Quantity: _to_integer},
    "asApproximateFloat": {Quantity: lambda value: value.as_float()},
    "isLessThan": {Quantity: lambda left, right: _compare(left, right) < 0},
    "isGreaterThan": {Quantity: lambda left, right: _compare(left, right) > 0},
    "compareTo": {Quantity: _compare},
    "add": {Quantity: lambda left, right: left + _to_quantity(right)},
    "sub": {Quantity: lambda left, right: left - _to_quantity(right)},
}
