"""`'%s is %d'.format([…])`.

Answers are those of cel-go, which prints doubles with golang.org/x/text for English readers.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.library.conversions import FUNCTIONS, get_type
from quarterdeck.cel.operations.classes import class_of, no_overload_error
from quarterdeck.cel.types import Type
from quarterdeck.cel.values import Duration, Timestamp, UInt
from quarterdeck.meta.field import quote
from quarterdeck.meta.release import has_feature

_CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]*))?(.)?)", re.S)
_REFUSALS: Mapping[str, str] = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
    "types, durations, and timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
_DIGITS = 6
"""Digits after the point if the clause has no precision."""
_MAX_INT = (1 << 63) - 1


class Clause(NamedTuple):
    """A formatting clause such as `%.2f`: its letter and its precision."""

    verb: str
    precision: int | None


def find_clauses(text: str) -> list[re.Match[str]]:
    """The clauses of a format string that take an argument, not yet parsed."""
    return [found for found in _CLAUSE.finditer(text) if found[0] != "%%"]


def parse_clause(found: re.Match[str]) -> Clause:
    """Parse a formatting clause.

    Raises:
        EvaluationError: for an unknown letter, or an invalid precision.
    """
    precision, verb = found[1], found[2]
    if verb is None:
        if precision is None:
            raise EvaluationError("unexpected end of string")
        raise _precision_error("could not find end of precision specifier")
    if precision is not None and not (precision and int(precision[:20]) <= _MAX_INT):
        problem = "value out of range" if precision else "invalid syntax"
        raise _precision_error(
            "error while converting precision to integer: "
            f'strconv.Atoi: parsing "{precision}": {problem}'
        )
    if verb not in _REFUSALS:
        first_byte = chr(verb.encode()[0])
        raise EvaluationError(
            f'could not parse formatting clause: unrecognized formatting clause "{first_byte}"'
        )
    return Clause(verb, None if precision is None else int(precision))


def _precision_error(problem: str) -> EvaluationError:
    return EvaluationError(
        f"could not parse formatting clause: error while parsing precision: {problem}"
    )


def describe_refusal(verb: str, type_name: str) -> str:
    """The error of a clause that cannot format a value of this type."""
    return f"error during formatting: {_REFUSALS[verb]}, was given {type_name}"


def render(text: str, values: Sequence[Any]) -> str:
    """Fill the clauses of a format string."""
    if class_of(values) is not list:
        raise no_overload_error()
    used = 0

    def fill(found: re.Match[str]) -> str:
        nonlocal used
        if found[0] == "%%":
            return "%"
        if used >= len(values):
            raise EvaluationError(f"index {used} out of range")
        value = values[used]
        used += 1
        return _format_clause(parse_clause(found), value)

    return _CLAUSE.sub(fill, text)


def _format_clause(clause: Clause, value: Any) -> str:
    match clause.verb:
        case "s":
            return _format_text(value)
        case "f":
            return _format_fixed(_require_double("f", value), clause.precision)
        case "e":
            return _format_scientific(_require_double("e", value), clause.precision)
        case "x" | "X":
            return _format_hexadecimal(value, clause.verb)
        case "b" if type(value) is bool:
            return "1" if value else "0"
        case verb if type(value) in (int, UInt):
            return format(int(value), verb)
        case verb:
            raise _refusal_error(verb, value)


def _refusal_error(verb: str, value: Any) -> EvaluationError:
    return EvaluationError(describe_refusal(verb, get_type(value).name))


def _require_double(verb: str, value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is str and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    raise _refusal_error(verb, value)


_SPECIAL: Mapping[str, str] = {"inf": "∞", "-inf": "-∞", "nan": "NaN"}
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_TOO_LONG = "%!(NOVERB)"


def _is_too_long(precision: int) -> bool:
    """Whether x/text rejects a precision: its value without the last digit is above 1000000."""
    return precision // 10 > 1_000_000


def _format_fixed(number: float, precision: int | None) -> str:
    digits = _DIGITS if precision is None else precision
    if _is_too_long(digits):
        return _TOO_LONG
    if not math.isfinite(number):
        return _SPECIAL[str(number)]
    # x/text keeps eight bits of it
    return format(number or 0.0, f",.{digits & 0xFF}f")


def _format_scientific(number: float, precision: int | None) -> str:
    """`3.14e+00` the way cel-go writes it: 3.14 × 10⁰⁰, the precision taken for a width."""
    width = _DIGITS if precision is None else precision
    if _is_too_long(width):
        return _TOO_LONG
    if not math.isfinite(number):
        return _SPECIAL[str(number)].rjust(width & 0xFFFF)
    mantissa, _, power = format(number, f".{_DIGITS}e").partition("e")
    times = "×" if has_feature("NewerExpressions") else "\u202f×\u202f"
    shown = f"{mantissa}{times}10{power.lstrip('+').translate(_RAISED)}"
    return shown.rjust(width & 0xFFFF)


def _format_hexadecimal(value: Any, verb: str) -> str:
    match value:
        case bool():
            pass
        case int():
            return format(int(value), verb)
        case str():
            return _format_hexadecimal(value.encode(), verb)
        case bytes():
            return value.hex().upper() if verb == "X" else value.hex()
    raise _refusal_error(verb, value)


def _format_text(value: Any) -> str:
    match value:
        case None:
            return "null"
        case Type():
            return value.name
        case dict():
            entries = sorted((_format_key(key), item) for key, item in value.items())
            return "{" + ", ".join(f"{key}:{_format_item(item)}" for key, item in entries) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_format_item, value)) + "]"
    convert = FUNCTIONS["string"].get(type(value))
    if convert is None:
        raise _refusal_error("s", value)
    try:
        return str(convert(value))
    except EvaluationError as error:
        raise EvaluationError(
            f'error during formatting: could not convert argument "{error}" to string'
        ) from None


def _format_key(key: Any) -> str:
    if type(key) is float or key is None:
        name = get_type(key).name
        raise EvaluationError(
            f"error during formatting: no formatting function for map key of type {name}"
        )
    return _format_item(key)


def _format_item(value: Any) -> str:
    """Format a key or value inside a list or map, as a CEL literal."""
    match value:
        case str():
            return quote(value)
        case bytes():
            return f"b{quote(_format_text(value))}"
        case float():
            return format(value, ".6f") if math.isfinite(value) else _quote_special(value)
        case Duration():
            return f'duration("{value}")'
        case Timestamp():
            return f'timestamp("{value}")'
        case None | bool() | int() | Type() | dict() | list() | tuple():
            return _format_text(value)
    raise EvaluationError(
        f"error during formatting: no formatting function for {get_type(value).name}"
    )


def _quote_special(value: float) -> str:
    return '"NaN"' if math.isnan(value) else '"+Inf"' if value > 0 else '"-Inf"'
