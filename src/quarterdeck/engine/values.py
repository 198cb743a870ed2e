"""Values of the engine: their kinds, their text, their truth, their number.

A column is a list with one value per object. Its kinds are a set of bits, found once per column;
code is compiled for the kinds that are there.
"""

import math
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any, Final

NULL: Final = 1
BOOL: Final = 2
NUMBER: Final = 4
TEXT: Final = 8
LIST: Final = 16
ANY: Final = NULL | BOOL | NUMBER | TEXT | LIST

KIND_NAMES = {NULL: "null", BOOL: "a boolean", NUMBER: "a number", TEXT: "text", LIST: "a list"}

MAX_INTEGER = 2.0**63
_WHOLE_DIGITS = 1e21
"""Whole numbers below are written digit by digit, larger ones as the shortest decimal."""


class Missing:
    """The type of `MISSING`, the result of a path that finds nothing. Differs from null."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()

_KINDS: dict[type, int] = {
    type(None): NULL,
    bool: BOOL,
    int: NUMBER,
    float: NUMBER,
    str: TEXT,
    list: LIST,
    Missing: NULL,
}


def find_kinds(column: Collection[Any]) -> int:
    """The kinds of value that a column has."""
    kinds = 0
    for type_ in set(map(type, column)):
        kinds |= _KINDS.get(type_, LIST)
    return kinds


def name_kinds(kinds: int) -> str:
    """Describe kinds: `a number or text`. Null is left out, as every value may be null."""
    kinds = kinds & ~NULL or kinds
    return " or ".join(name for bit, name in KIND_NAMES.items() if kinds & bit)


def to_text(value: Any) -> str:
    """The text form: null is empty, whole numbers have no decimals, there is no exponent."""
    if value is None:
        return ""
    if value.__class__ is str:
        return str(value)
    if value.__class__ is bool:
        return "true" if value else "false"
    if isinstance(value, float):
        return number_to_text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        pairs = (f"{key}:{to_text(value[key])}" for key in sorted(value))
        return f"map[{' '.join(pairs)}]"
    return f"[{' '.join(map(to_text, value))}]"


def number_to_text(value: float) -> str:
    """`3`, `3.14`, `1234567.5`, `0.0000001`."""
    if value.is_integer() and -_WHOLE_DIGITS < value < _WHOLE_DIGITS:
        return str(int(value))
    text = repr(value)
    if "e" in text:
        return format(Decimal(text), "f")
    return _NOT_FINITE.get(text, text)


_NOT_FINITE = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}


def to_number(value: Any) -> float | None:
    """The number of a number or boolean; nothing else is one."""
    if value.__class__ is float:
        return float(value)
    if value.__class__ is bool or isinstance(value, int):
        try:
            return float(value)
        except OverflowError:
            return None
    return None


def parse_number(text: str) -> float | None:
    """Read a decimal number; None if the text is not a number, or not a finite one."""
    try:
        value = float(text)
    except ValueError:
        return None
    is_plain = "_" not in text and not text[:1].isspace() and not text[-1:].isspace()
    return value if is_plain and math.isfinite(value) else None


def are_finite(column: Sequence[float]) -> bool:
    """Whether every number of a column is finite. Fast when they are."""
    return math.isfinite(sum(column)) or all(map(math.isfinite, column))
