"""Type conversions, `size`, and the string functions of the language itself."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.library.time import parse_duration, parse_timestamp
from quarterdeck.cel.operations.arithmetic import check_int, check_uint
from quarterdeck.cel.operations.classes import no_overload_error
from quarterdeck.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    LIST,
    MAP,
    NULL,
    QUANTITY,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    optional_of,
)
from quarterdeck.cel.values import (
    INT_MAX,
    INT_MIN,
    SECOND,
    UINT_MAX,
    Duration,
    MapList,
    Optional,
    SetList,
    Timestamp,
    UInt,
)
from quarterdeck.kit.patterns import PatternError, compile_re2
from quarterdeck.kit.quantity import Quantity

DECLARATIONS = ""

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_CLASSES: Mapping[type, Type] = {
    bool: BOOL,
    int: INT,
    UInt: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    list: LIST,
    SetList: LIST,
    MapList: LIST,
    dict: MAP,
    type(None): NULL,
    Duration: DURATION,
    Timestamp: TIMESTAMP,
    Type: TYPE,
    Optional: optional_of(DYN),
    Quantity: QUANTITY,
}


def get_type(value: Any) -> Type:
    """`type(value)`."""
    if (found := _CLASSES.get(type(value))) is not None:
        return found
    declared = getattr(value, "cel_type", None)
    if isinstance(declared, Type):
        return declared
    raise no_overload_error()


def format_double(value: float) -> str:
    """A double as Go's shortest `%g` prints it."""
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    shortest = repr(value)
    digits = re.sub(r"e.*|[-.]", "", shortest).strip("0") or "0"
    power = _find_exponent(shortest) if digits != "0" else 0
    if -4 <= power < 6:
        return f"{value:.{max(0, len(digits) - 1 - power)}f}"
    sign = "-" if value < 0 else ""
    point = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{point}e{'+' if power >= 0 else '-'}{abs(power):02d}"


def _find_exponent(shortest: str) -> int:
    """The decimal exponent of a number as `repr` wrote it."""
    body, _, exponent = shortest.lstrip("-").partition("e")
    whole, _, fraction = body.partition(".")
    shift = int(exponent or 0)
    if whole.strip("0"):
        return len(whole) - 1 + shift
    return -(len(fraction) - len(fraction.lstrip("0")) + 1) + shift


def _conversion_error(wanted: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from 'string' to '{wanted}'")


def _string_to_bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _conversion_error("bool")


def _string_to_int(text: str) -> int:
    if re.fullmatch(r"[+-]?[0-9]+", text) and len(text) < 30:
        value = int(text)
        if INT_MIN <= value <= INT_MAX:
            return value
    raise _conversion_error("int")


def _string_to_uint(text: str) -> UInt:
    if re.fullmatch(r"[0-9]+", text) and len(text) < 30 and int(text) <= UINT_MAX:
        return UInt(int(text))
    raise _conversion_error("uint")


_DECIMAL = re.compile(
    r"[+-]?(?:inf|infinity)|nan|"
    r"[+-]?(?:{0}\.?(?:{0})?|\.{0})(?:e[+-]?{0})?".format(r"[0-9](?:_?[0-9])*"),
    re.IGNORECASE,
)
_HEXADECIMAL = re.compile(
    r"[+-]?0x(?:_?{0}\.?(?:{0})?|\.{0})p[+-]?[0-9](?:_?[0-9])*".format(r"[0-9a-f](?:_?[0-9a-f])*"),
    re.IGNORECASE,
)


def _string_to_double(text: str) -> float:
    """A number as Go's `ParseFloat` reads it: hexadecimal ones and underscores too."""
    try:
        if _HEXADECIMAL.fullmatch(text):
            return float.fromhex(text.replace("_", ""))
        if not _DECIMAL.fullmatch(text):
            raise _conversion_error("double")
    except OverflowError:
        raise _conversion_error("double") from None
    value = float(text)
    if math.isinf(value) and "n" not in text.lower():
        raise _conversion_error("double")
    return value


def _double_to_int(value: float) -> int:
    if math.isnan(value) or not -(2.0**63) < value < 2.0**63:
        raise EvaluationError("integer overflow")
    return check_int(int(value))


def _double_to_uint(value: float) -> UInt:
    if math.isnan(value) or not 0 <= value < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return check_uint(int(value))


def _bytes_to_string(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _to_seconds(value: Timestamp) -> int:
    return value.ns // SECOND


def _identity(value: Any) -> Any:
    return value


def matches(text: str, pattern: str) -> bool:
    """Whether an RE2 pattern matches anywhere."""
    if type(pattern) is not str:
        raise no_overload_error()
    try:
        return compile_re2(pattern).search(text)
    except PatternError as error:
        raise EvaluationError(str(error)) from None


def _with_string_argument(test: Callable[[str, str], bool]) -> Callable[[str, str], bool]:
    def apply(text: str, other: str) -> bool:
        if type(other) is not str:
            raise no_overload_error()
        return test(text, other)

    return apply


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "size": {str: len, bytes: len, list: len, dict: len},
    "bool": {bool: _identity, str: _string_to_bool},
    "bytes": {bytes: _identity, str: lambda text: text.encode()},
    "double": {float: _identity, int: float, UInt: float, str: _string_to_double},
    "duration": {
        Duration: _identity,
        str: parse_duration,
        int: lambda seconds: Duration(seconds * SECOND),
    },
    "int": {
        int: _identity,
        float: _double_to_int,
        UInt: lambda value: check_int(int(value)),
        str: _string_to_int,
        Timestamp: _to_seconds,
        Duration: lambda value: value.ns,
    },
    "uint": {
        UInt: _identity,
        int: check_uint,
        float: _double_to_uint,
        str: _string_to_uint,
    },
    "string": {
        str: _identity,
        bool: lambda value: "true" if value else "false",
        int: str,
        UInt: lambda value: str(int(value)),
        float: format_double,
        bytes: _bytes_to_string,
        Duration: str,
        Timestamp: str,
    },
    "timestamp": {
        Timestamp: _identity,
        str: parse_timestamp,
        int: lambda seconds: Timestamp(seconds * SECOND),
    },
    "contains": {str: _with_string_argument(lambda text, part: part in text)},
    "startsWith": {str: _with_string_argument(lambda text, part: text.startswith(part))},
    "endsWith": {str: _with_string_argument(lambda text, part: text.endswith(part))},
    "matches": {str: matches},
}
