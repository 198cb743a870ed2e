"""Operators on values whose types are only known now.

Compiled code uses these where the checker could not decide; the interpreter uses nothing else.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.types import Type
from quarterdeck.cel.values import (
    INT_MAX,
    INT_MIN,
    NONE,
    UINT_MAX,
    Duration,
    MapList,
    Optional,
    SetList,
    Timestamp,
    UInt,
    some,
)

_PLAIN: Mapping[type, type] = {SetList: list, MapList: list, tuple: list}
_NUMBERS = frozenset({int, UInt, float})


def no_overload() -> EvaluationError:
    """No signature fits these arguments."""
    return EvaluationError("no such overload")


def class_of(value: Any) -> type:
    """The Python class a value counts as."""
    kind = type(value)
    return _PLAIN.get(kind, kind)


# integers


def checked_int(value: int) -> int:
    """The value, if it fits 64 bits."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvaluationError("integer overflow")


def checked_uint(value: int) -> UInt:
    """The value as unsigned, if it fits 64 bits."""
    if 0 <= value <= UINT_MAX:
        return UInt(value)
    raise EvaluationError("unsigned integer overflow")


def divide_int(left: int, right: int) -> int:
    """Division that rounds towards zero."""
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return checked_int(quotient if (left < 0) == (right < 0) else -quotient)


def modulo_int(left: int, right: int) -> int:
    """The remainder, with the sign of the dividend."""
    if right == 0:
        raise EvaluationError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise EvaluationError("integer overflow")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def divide_double(left: float, right: float) -> float:
    """Division as IEEE 754 has it: never an error."""
    if right:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, math.copysign(1, left) * math.copysign(1, right))


def multiply_double(left: float, right: float) -> float:
    """Multiplication of doubles that may still be stored as JSON integers."""
    return float(left) * float(right)


# arithmetic by class

_Binary = Mapping[tuple[type, type], Callable[[Any, Any], Any]]

_ADD: _Binary = {
    (int, int): lambda a, b: checked_int(a + b),
    (UInt, UInt): lambda a, b: checked_uint(int(a) + int(b)),
    (float, float): lambda a, b: a + b,
    (str, str): lambda a, b: a + b,
    (bytes, bytes): lambda a, b: a + b,
    (list, list): lambda a, b: add_lists(a, b),
    (Duration, Duration): lambda a, b: Duration(a.ns + b.ns),
    (Duration, Timestamp): lambda a, b: Timestamp(a.ns + b.ns, b.offset),
    (Timestamp, Duration): lambda a, b: Timestamp(a.ns + b.ns, a.offset),
}
_SUBTRACT: _Binary = {
    (int, int): lambda a, b: checked_int(a - b),
    (UInt, UInt): lambda a, b: checked_uint(int(a) - int(b)),
    (float, float): lambda a, b: a - b,
    (Duration, Duration): lambda a, b: Duration(a.ns - b.ns),
    (Timestamp, Duration): lambda a, b: Timestamp(a.ns - b.ns, a.offset),
    (Timestamp, Timestamp): lambda a, b: Duration(a.ns - b.ns),
}
_MULTIPLY: _Binary = {
    (int, int): lambda a, b: checked_int(a * b),
    (UInt, UInt): lambda a, b: checked_uint(int(a) * int(b)),
    (float, float): lambda a, b: a * b,
}
_DIVIDE: _Binary = {
    (int, int): divide_int,
    (UInt, UInt): lambda a, b: checked_uint(divide_int(int(a), int(b))),
    (float, float): divide_double,
}
_MODULO: _Binary = {
    (int, int): modulo_int,
    (UInt, UInt): lambda a, b: checked_uint(modulo_int(int(a), int(b))),
}


def _binary(table: _Binary) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        operation = table.get((class_of(left), class_of(right)))
        if operation is None:
            raise no_overload()
        return operation(left, right)

    return apply


add = _binary(_ADD)
subtract = _binary(_SUBTRACT)
multiply = _binary(_MULTIPLY)
divide = _binary(_DIVIDE)
modulo = _binary(_MODULO)


def negate(value: Any) -> Any:
    """Unary minus."""
    if type(value) is int:
        return checked_int(-value)
    if type(value) is float:
        return -value
    raise no_overload()


def add_lists(left: list[Any], right: list[Any]) -> list[Any]:
    """Concatenation, or what the left list's x-kubernetes-list-type makes of it."""
    if type(left) is SetList:
        fresh = [item for item in right if not contains(left, item)]
        return SetList([*left, *fresh])
    if type(left) is MapList:
        return _merge(left, right)
    return [*left, *right]


def _merge(left: MapList, right: list[Any]) -> MapList:
    places = {left.key(item): index for index, item in enumerate(left)}
    merged = list(left)
    for item in right:
        key = left.key(item)
        if key in places:
            merged[places[key]] = item
        else:
            places[key] = len(merged)
            merged.append(item)
    return MapList(merged, left.keys)


# comparison


def equal(left: Any, right: Any) -> bool:
    """CEL's equality: numbers by value, everything else only within its own type."""
    a, b = class_of(left), class_of(right)
    if a is not b:
        if a not in _NUMBERS or b not in _NUMBERS:
            return False
        return float(left) == float(right) if float in (a, b) else int(left) == int(right)
    if a is list:
        return _equal_lists(left, right)
    if a is dict:
        return len(left) == len(right) and all(
            key in right and equal(value, right[key]) for key, value in left.items()
        )
    if a is Optional:
        return left.present == right.present and equal(left.value, right.value)
    if a is Type:
        return bool(left.kind is right.kind and left.name == right.name)
    return bool(left == right)


def not_equal(left: Any, right: Any) -> bool:
    """The opposite of `equal`."""
    return not equal(left, right)


def _equal_lists(left: Any, right: Any) -> bool:
    if len(left) != len(right):
        return False
    if type(left) is SetList:
        return all(contains(right, item) for item in left) and all(
            contains(left, item) for item in right
        )
    if type(left) is MapList:
        known = {left.key(item): item for item in left}
        return all((key := left.key(item)) in known and equal(known[key], item) for item in right)
    return all(map(equal, left, right))


_ORDERED = frozenset({bool, str, bytes, Duration, Timestamp})


def _ordered(left: Any, right: Any) -> tuple[Any, Any]:
    """Two values that may be ordered, as Python would compare them.

    An integer meets a double as a double, whatever precision that costs.
    """
    a, b = type(left), type(right)
    if a is b and (a in _ORDERED or a in _NUMBERS):
        return left, right
    if a not in _NUMBERS or b not in _NUMBERS:
        raise no_overload()
    return (float(left), float(right)) if float in (a, b) else (left, right)


def less(left: Any, right: Any) -> bool:
    """`<`."""
    left, right = _ordered(left, right)
    return bool(left < right)


def less_equals(left: Any, right: Any) -> bool:
    """`<=`."""
    left, right = _ordered(left, right)
    return bool(left <= right)


def greater(left: Any, right: Any) -> bool:
    """`>`."""
    left, right = _ordered(left, right)
    return bool(left > right)


def greater_equals(left: Any, right: Any) -> bool:
    """`>=`."""
    left, right = _ordered(left, right)
    return bool(left >= right)


# containers


def contains(container: Any, item: Any) -> bool:
    """`item in container` for lists."""
    return any(equal(element, item) for element in container)


def is_in(item: Any, container: Any) -> bool:
    """`in` for lists and maps."""
    kind = class_of(container)
    if kind is list:
        return contains(container, item)
    if kind is dict:
        return _has_key(container, item)
    raise no_overload()


def _has_key(container: dict[Any, Any], key: Any) -> bool:
    if type(key) not in _KEYS:
        return False
    return key in container and _same_key(container, key)


_KEYS = frozenset({bool, int, UInt, float, str})


def _same_key(container: dict[Any, Any], key: Any) -> bool:
    """Whether a key that Python found is one for CEL too: true is not 1."""
    if type(key) is str:
        return True
    return any(
        candidate == key and (type(candidate) is bool) == (type(key) is bool)
        for candidate in container
    )


def index(container: Any, key: Any) -> Any:
    """`container[key]`."""
    kind = class_of(container)
    if kind is dict:
        if _has_key(container, key):
            return container[key]
        raise EvaluationError(f"no such key: {show(key)}")
    if kind is list:
        return container[_position(container, key)]
    if kind is Optional:
        return optional_index(container, key)
    raise no_overload()


def _position(container: Any, key: Any) -> int:
    if type(key) is float and key.is_integer():
        key = int(key)
    if type(key) not in (int, UInt):
        raise EvaluationError(f"unsupported index type '{type(key).__name__}' in list")
    if not 0 <= key < len(container):
        raise EvaluationError(f"index out of bounds: {int(key)}")
    return int(key)


def optional_index(container: Any, key: Any) -> Optional:
    """`container[?key]`."""
    if isinstance(container, Optional):
        if not container.present:
            return NONE
        container = container.value
    kind = class_of(container)
    if kind is dict:
        return some(container[key]) if _has_key(container, key) else NONE
    if kind is list:
        if type(key) not in (int, UInt):
            raise no_overload()
        return some(container[key]) if 0 <= key < len(container) else NONE
    raise no_overload()


def select(operand: Any, field: str) -> Any:
    """`operand.field` where the operand is a map, or an optional of one."""
    if isinstance(operand, dict):
        if field in operand:
            return operand[field]
        raise EvaluationError(f"no such key: {field}")
    if isinstance(operand, Optional):
        return optional_select(operand, field)
    raise no_overload()


def optional_select(operand: Any, field: str) -> Optional:
    """`operand.?field`."""
    if isinstance(operand, Optional):
        if not operand.present:
            return NONE
        operand = operand.value
    if not isinstance(operand, dict):
        raise no_overload()
    return some(operand[field]) if field in operand else NONE


def has(operand: Any, field: str) -> bool:
    """`has(operand.field)`."""
    if isinstance(operand, Optional):
        return operand.present and has(operand.value, field)
    if not isinstance(operand, dict):
        raise no_overload()
    return field in operand


def size(value: Any) -> int:
    """`size(value)`: characters, bytes, elements or entries."""
    if class_of(value) in (str, bytes, list, dict):
        return len(value)
    raise no_overload()


def show(value: Any) -> str:
    """A value as error messages print it."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case _:
            return str(value)
