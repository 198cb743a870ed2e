"""`'%s is %d'.format([…])`."""

import math
import re
from collections.abc import Sequence
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.library.conversions import format_double, type_value
from quarterdeck.cel.operations.classes import class_of, no_overload
from quarterdeck.cel.types import Type
from quarterdeck.cel.values import Duration, Timestamp, UInt
from quarterdeck.meta.field import quote

_CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]+))?(.)?)", re.S)


def render(text: str, values: Sequence[Any]) -> str:
    """Fill the clauses of a format string."""
    if class_of(values) is not list:
        raise no_overload()
    used = 0

    def clause(found: re.Match[str]) -> str:
        nonlocal used
        if found[0] == "%%":
            return "%"
        if used >= len(values):
            raise EvaluationError(f"index {used} out of range")
        value = values[used]
        used += 1
        return _clause(found[2] or "", found[1], value)

    return _CLAUSE.sub(clause, text)


def _clause(verb: str, precision: str | None, value: Any) -> str:
    digits = 6 if precision is None else int(precision)
    match verb:
        case "s":
            return _text(value, nested=False)
        case "d":
            return _decimal(value)
        case "f":
            return _number(value, f".{digits}f")
        case "e":
            return _scientific(_number(value, f".{digits}e"))
        case "b":
            return _binary(value)
        case "x" | "X":
            return _hexadecimal(value, verb)
        case "o":
            if type(value) not in (int, UInt):
                raise _wrong("octal", "integers", value)
            return f"{int(value):o}"
    raise EvaluationError(
        f'could not parse formatting clause: unrecognized formatting clause "{verb}"'
    )


def _wrong(what: str, allowed: str, value: Any) -> EvaluationError:
    return EvaluationError(
        f"error during formatting: {what} clause can only be used on {allowed}, "
        f"was given {type_value(value).name}"
    )


def _decimal(value: Any) -> str:
    if type(value) is float and not math.isfinite(value):
        return _special(value)
    if type(value) not in (int, UInt):
        raise _wrong("decimal", "integers", value)
    return str(int(value))


def _number(value: Any, spec: str) -> str:
    if type(value) not in (int, UInt, float):
        raise _wrong("fixed-point" if spec[-1] == "f" else "scientific", "doubles", value)
    number = float(value)
    return format(number, spec) if math.isfinite(number) else _special(number)


_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def _scientific(text: str) -> str:
    """`3.14e+00` the way cel-go writes it: 3.14×10⁰⁰."""
    mantissa, marker, power = text.partition("e")
    return f"{mantissa}×10{power.lstrip('+').translate(_RAISED)}" if marker else text


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _binary(value: Any) -> str:
    if type(value) is bool:
        return "1" if value else "0"
    if type(value) not in (int, UInt):
        raise _wrong("only integers and bools can be formatted as binary,", "integers", value)
    return f"{int(value):b}"


def _hexadecimal(value: Any, verb: str) -> str:
    match value:
        case bool():
            pass
        case int():
            return format(int(value), verb)
        case str():
            text = value.encode().hex()
            return text.upper() if verb == "X" else text
        case bytes():
            return value.hex().upper() if verb == "X" else value.hex()
    raise _wrong("hexadecimal", "integers, byte buffers, and strings", value)


def _text(value: Any, *, nested: bool) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case int():
            return str(int(value))
        case str():
            return quote(value) if nested else value
        case float():
            return _number(value, ".6f") if nested else format_double(value)
        case bytes():
            text = value.decode(errors="replace")
            return f"b{quote(text)}" if nested else text
        case Duration():
            return f'duration("{value}")' if nested else str(value)
        case Timestamp():
            return f'timestamp("{value}")' if nested else str(value)
        case Type():
            return value.name
        case dict():
            entries = sorted((_text(key, nested=True), item) for key, item in value.items())
            return "{" + ", ".join(f"{k}:{_text(v, nested=True)}" for k, v in entries) + "}"
        case list() | tuple():
            return "[" + ", ".join(_text(item, nested=True) for item in value) + "]"
    raise _wrong("string", "strings, bools, bytes, ints, doubles, maps, lists, types, "
                 "durations, and timestamps", value)  # fmt: skip
