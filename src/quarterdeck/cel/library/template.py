"""`'%s is %d'.format([…])`."""

import math
import re
from collections.abc import Sequence
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.library.conversions import format_double, get_type
from quarterdeck.cel.operations.classes import class_of, no_overload_error
from quarterdeck.cel.types import Type
from quarterdeck.cel.values import Duration, Timestamp, UInt
from quarterdeck.meta.field import quote

_CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]+))?(.)?)", re.S)


def render(text: str, values: Sequence[Any]) -> str:
    """Fill the clauses of a format string."""
    if class_of(values) is not list:
        raise no_overload_error()
    used = 0

    def clause(found: re.Match[str]) -> str:
        nonlocal used
        if found[0] == "%%":
            return "%"
        if used >= len(values):
            raise EvaluationError(f"index {used} out of range")
        value = values[used]
        used += 1
        return _format_clause(found[2] or "", found[1], value)

    return _CLAUSE.sub(clause, text)


def _format_clause(verb: str, precision: str | None, value: Any) -> str:
    digits = 6 if precision is None else int(precision)
    match verb:
        case "s":
            return _format_text(value, nested=False)
        case "d":
            return _format_decimal(value)
        case "f":
            return _format_number(value, f".{digits}f")
        case "e":
            return _format_scientific(_format_number(value, f".{digits}e"))
        case "b":
            return _format_binary(value)
        case "x" | "X":
            return _format_hexadecimal(value, verb)
        case "o":
            if type(value) not in (int, UInt):
                raise _clause_error("octal", "integers", value)
            return f"{int(value):o}"
    raise EvaluationError(
        f'could not parse formatting clause: unrecognized formatting clause "{verb}"'
    )


def _clause_error(what: str, allowed: str, value: Any) -> EvaluationError:
    return EvaluationError(
        f"error during formatting: {what} clause can only be used on {allowed}, "
        f"was given {get_type(value).name}"
    )


def _format_decimal(value: Any) -> str:
    if type(value) is float and not math.isfinite(value):
        return _format_special(value)
    if type(value) not in (int, UInt):
        raise _clause_error("decimal", "integers", value)
    return str(int(value))


def _format_number(value: Any, spec: str) -> str:
    if type(value) not in (int, UInt, float):
        raise _clause_error("fixed-point" if spec[-1] == "f" else "scientific", "doubles", value)
    number = float(value)
    return format(number, spec) if math.isfinite(number) else _format_special(number)


_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def _format_scientific(text: str) -> str:
    """`3.14e+00` the way cel-go writes it: 3.14×10⁰⁰."""
    mantissa, marker, power = text.partition("e")
    return f"{mantissa}×10{power.lstrip('+').translate(_RAISED)}" if marker else text


def _format_special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _format_binary(value: Any) -> str:
    if type(value) is bool:
        return "1" if value else "0"
    if type(value) not in (int, UInt):
        raise _clause_error(
            "only integers and bools can be formatted as binary,", "integers", value
        )
    return f"{int(value):b}"


def _format_hexadecimal(value: Any, verb: str) -> str:
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
    raise _clause_error("hexadecimal", "integers, byte buffers, and strings", value)


def _format_text(value: Any, *, nested: bool) -> str:
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
            return _format_number(value, ".6f") if nested else format_double(value)
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
            entries = sorted((_format_text(key, nested=True), item) for key, item in value.items())
            return "{" + ", ".join(f"{k}:{_format_text(v, nested=True)}" for k, v in entries) + "}"
        case list() | tuple():
            return "[" + ", ".join(_format_text(item, nested=True) for item in value) + "]"
    raise _clause_error("string", "strings, bools, bytes, ints, doubles, maps, lists, types, "
                 "durations, and timestamps", value)  # fmt: skip
