"""Kubernetes quantities: `500m`, `1.5Gi`, `12e6`.

A quantity is an exact number of nano-units with the notation it was written in. Kubernetes' rules:
nothing finer than nano (rounded away from zero), nothing beyond 2**63-1 (capped), and one canonical
text per value and notation, in which no precision is lost and the mantissa is whole.
"""

import enum
import functools
import re
from typing import Self

_NANO = 10**9
_LIMIT = (2**63 - 1) * _NANO
_MOST_DIGITS = 100
"""More digits make no difference: quantities have at most 19 before the point and 9 after."""
_SHORT = 24
"""Longest text whose value is cached."""

_SHAPE = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([eE][+-]?\d+|[numkKMGTPE]i?|)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {power: suffix for suffix, power in _BINARY.items()} | {0: ""}


class Notation(enum.Enum):
    """How a quantity is written."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


class QuantityError(ValueError):
    """Raised when a text is not a quantity."""


@functools.total_ordering
class Quantity:
    """An exact amount; immutable, compared by value whatever the notation."""

    __slots__ = ("nano", "notation")

    nano: int
    notation: Notation

    def __init__(self, nano: int, notation: Notation = Notation.DECIMAL) -> None:
        object.__setattr__(self, "nano", max(-_LIMIT, min(_LIMIT, nano)))
        object.__setattr__(self, "notation", notation)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Quantity is immutable")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read every form of the grammar.

        Raises:
            QuantityError: if the text is not a quantity.
        """
        nano, notation = (_parse_short if len(text) <= _SHORT else _parse)(text)
        return cls(nano, notation)

    @classmethod
    def of(cls, amount: int, notation: Notation = Notation.DECIMAL) -> Self:
        """A whole number of units."""
        return cls(amount * _NANO, notation)

    def __str__(self) -> str:
        if self.nano == 0:
            return "0"
        if self.notation is Notation.BINARY and abs(self.nano) >= 1024 * _NANO:
            return _format_binary(self.nano)
        return _format_decimal(self.nano, exponent=self.notation is Notation.EXPONENT)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nano == other.nano

    def __lt__(self, other: "Quantity") -> bool:
        return self.nano < other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __bool__(self) -> bool:
        return self.nano != 0

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano + other.nano, _choose_notation(self, other))

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano - other.nano, _choose_notation(self, other))

    def __neg__(self) -> "Quantity":
        return Quantity(-self.nano, self.notation)

    def __mul__(self, factor: int) -> "Quantity":
        return Quantity(self.nano * factor, self.notation)

    __rmul__ = __mul__

    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.nano > 0) - (self.nano < 0)

    def is_integer(self) -> bool:
        """Whether it is a whole number of units."""
        return self.nano % _NANO == 0

    def as_int(self) -> int:
        """Whole units, rounded away from zero as Kubernetes' `Value` does."""
        return _round_away(self.nano, _NANO)

    def as_milli(self) -> int:
        """Whole thousandths, rounded away from zero as Kubernetes' `MilliValue` does."""
        return _round_away(self.nano, _NANO // 1000)

    def round_to_milli(self) -> "Quantity":
        """The same in whole thousandths, rounded away from zero."""
        return Quantity(self.as_milli() * (_NANO // 1000), self.notation)

    def as_float(self) -> float:
        """The nearest float."""
        return self.nano / _NANO


def _parse(text: str) -> tuple[int, Notation]:
    match = _SHAPE.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise QuantityError(_explain_invalid(text))
    sign, whole, fraction, suffix = match.groups()
    if len(text) > _MOST_DIGITS:
        whole, fraction = _limit_digits(whole, fraction or "")
    factor_up, factor_down, notation = _find_scale(suffix, text)
    digits = int((whole + (fraction or "")) or "0") * factor_up * _NANO
    nano = -(-digits // (factor_down * 10 ** len(fraction or "")))
    return -nano if sign == "-" else nano, notation


_parse_short = functools.lru_cache(maxsize=1024)(_parse)
"""Caches parsed quantities: a cluster has few different ones, and every write parses them."""


def _find_scale(suffix: str, text: str) -> tuple[int, int, Notation]:
    """Multiplier, divisor and notation of a suffix."""
    if (power := _BINARY.get(suffix)) is not None:
        return 1024**power, 1, Notation.BINARY
    if (exponent := _DECIMAL.get(suffix)) is not None:
        return *_compute_power_of_ten(exponent), Notation.DECIMAL
    if suffix[1:] and suffix[0] in "eE" and suffix[1:] != "i":
        exponent = int(suffix[1 : _MOST_DIGITS + 1])
        if abs(exponent) > 2**31:
            raise QuantityError(_explain_invalid(text))
        return *_compute_power_of_ten(max(-60, min(60, exponent))), Notation.EXPONENT
    raise QuantityError(_explain_invalid(text))


def _limit_digits(whole: str, fraction: str) -> tuple[str, str]:
    """Limit the digits without changing the result: too large stays so, fractions round up."""
    whole = whole.lstrip("0")
    if len(whole) > _MOST_DIGITS:
        return "9" * _MOST_DIGITS, ""
    rest = fraction[_MOST_DIGITS:].strip("0")
    return whole, fraction[:_MOST_DIGITS] + ("1" if rest else "")


def _compute_power_of_ten(exponent: int) -> tuple[int, int]:
    return (10**exponent, 1) if exponent >= 0 else (1, 10**-exponent)


def _explain_invalid(text: str) -> str:
    if not text:
        return "quantities must not be empty: write a number such as 500m or 1Gi"
    return (
        f"{text!r} is not a quantity: quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


def _round_away(value: int, unit: int) -> int:
    magnitude = -(-abs(value) // unit)
    return -magnitude if value < 0 else magnitude


def _format_binary(nano: int) -> str:
    value = _round_away(nano, _NANO)
    power = 0
    while power < 6 and value % 1024 == 0:
        value //= 1024
        power += 1
    return f"{value}{_BINARY_SUFFIX[power]}"


def _format_decimal(nano: int, *, exponent: bool) -> str:
    value, power = nano, -9
    while power < 18 and value % 1000 == 0:
        value //= 1000
        power += 3
    if exponent:
        return f"{value}e{power}" if power else str(value)
    return f"{value}{_DECIMAL_SUFFIX[power]}"


def _choose_notation(left: Quantity, right: Quantity) -> Notation:
    """The notation of a result: that of the left operand, or of the right one if left is zero."""
    return right.notation if left.nano == 0 else left.notation
