"""Field types: convert raw values to the values of a column.

A value that is null stays null. One that is missing, or that the type cannot take, becomes the
field's default, or null without one. To add a field type, write a function from one raw value to
the converted one, raising `ConversionError`, and add it to `CONVERTERS`.
"""

import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from quarterdeck.apis.clusterpulse.metric_source import FieldType
from quarterdeck.engine.times import are_usual_times, parse_time
from quarterdeck.engine.values import MISSING, Missing, are_finite, parse_number, to_text
from quarterdeck.kit import duration as durations
from quarterdeck.kit.quantity import Quantity, QuantityError

Column: TypeAlias = list[Any]
Converter: TypeAlias = Callable[[Any], Any]

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_LARGEST = 2**63
_MOST_REMEMBERED = 4096
_SECOND = 1_000_000_000


class ConversionError(ValueError):
    """Raised when a value cannot be converted to a type."""


def to_string(value: Any) -> str:
    """Any value has a text form."""
    return to_text(value)


def to_integer(value: Any) -> int:
    """Whole numbers; fractions are cut, texts must be whole."""
    if type(value) is int and -_LARGEST <= value < _LARGEST:
        return value
    if isinstance(value, float) and -_LARGEST <= value < _LARGEST:
        return int(value)
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return to_integer(int(value))
    raise ConversionError


def to_float(value: Any) -> float:
    """Finite numbers, also as text."""
    if isinstance(value, str):
        value = parse_number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConversionError
    try:
        found = float(value)
    except OverflowError:
        raise ConversionError from None
    if not math.isfinite(found):
        raise ConversionError
    return found


def to_boolean(value: Any) -> bool:
    """Texts are true if they say true or 1, numbers if they are not 0."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.lower() == "true" or value == "1"
    if isinstance(value, int | float):
        return value != 0
    raise ConversionError


def to_quantity(value: Any) -> int | float:
    """Base units: bytes of memory, cores of CPU; whole where they are whole."""
    if type(value) is int:
        return to_integer(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ConversionError
        return int(value) if value.is_integer() and abs(value) < _LARGEST else value
    if not isinstance(value, str):
        raise ConversionError
    if value.endswith("K"):
        value = f"{value[:-1]}k"
    try:
        found = Quantity.parse(value)
    except QuantityError:
        raise ConversionError from None
    return found.as_int() if found.is_integer() else found.as_float()


def to_timestamp(value: Any) -> str:
    """RFC 3339 text, unchanged; the empty text stays."""
    if isinstance(value, str) and (not value or parse_time(value) is not None):
        return value
    raise ConversionError


def to_length(value: Any) -> int:
    """Elements of a list, members of an object."""
    if isinstance(value, list | dict):
        return len(value)
    raise ConversionError


def to_duration(value: Any) -> int:
    """Whole seconds of a duration such as 1h30m; the empty text is 0."""
    if value == "":
        return 0
    try:
        nanoseconds = durations.parse(to_text(value))
    except durations.DurationError:
        raise ConversionError from None
    seconds = abs(nanoseconds) // _SECOND
    return -seconds if nanoseconds < 0 else seconds


CONVERTERS: dict[FieldType, Converter] = {
    "string": to_string,
    "integer": to_integer,
    "float": to_float,
    "boolean": to_boolean,
    "quantity": to_quantity,
    "timestamp": to_timestamp,
    "arrayLength": to_length,
    "duration": to_duration,
}

TYPE_SUMMARIES: dict[FieldType, str] = {
    "string": "Text. Numbers and booleans are written out, a list as `[a b]`.",
    "integer": "A whole number. Fractions are dropped; a text must be a whole number.",
    "float": "A finite number, also given as text.",
    "boolean": "A text is true if it is `true` in any case or `1`; a number if it is not 0.",
    "quantity": "A Kubernetes quantity in base units: `1Gi` is 1073741824, `500m` is 0.5.",
    "timestamp": "An RFC 3339 time, kept as text.",
    "arrayLength": "The number of elements of a list or members of an object.",
    "duration": "A duration such as `1h30m` in whole seconds: 5400.",
}
_UNCHANGED: dict[FieldType, frozenset[type]] = {
    "string": frozenset({str, type(None)}),
    "integer": frozenset({int, type(None)}),
    "boolean": frozenset({bool, type(None)}),
}
_REMEMBERED = frozenset({str, type(None), Missing})


def convert_default(type_: FieldType, text: str) -> Any:
    """The value of a default, which is always written as text; 0 where a number cannot be read."""
    match type_:
        case "boolean":
            return text.lower() == "true"
        case "arrayLength":
            return _convert_or(to_integer, text, 0)
        case "string" | "timestamp":
            return text
        case _:
            return _convert_or(CONVERTERS[type_], text, 0)


def is_default_valid(type_: FieldType, text: str) -> bool:
    """Whether a default can be read as the type."""
    converter = to_integer if type_ == "arrayLength" else CONVERTERS[type_]
    if type_ == "boolean":
        return text.lower() in ("true", "false")
    return _convert_or(converter, text, MISSING) is not MISSING


def _convert_or(converter: Converter, value: Any, otherwise: Any) -> Any:
    try:
        return converter(value)
    except ConversionError:
        return otherwise


class _Memo(dict[Any, Any]):
    """Caches converted texts; it is cleared when it is full."""

    def __init__(self, convert: Converter) -> None:
        self._convert = convert

    def __missing__(self, key: Any) -> Any:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        value = self[key] = self._convert(key)
        return value


class ColumnConverter:
    """Converts columns of one field, and counts what it found."""

    def __init__(self, type_: FieldType, default: Any, *, is_list: bool = False) -> None:
        self._type = type_
        self._default = default
        self._is_list = is_list
        self._one = CONVERTERS[type_]
        self._memo = _Memo(self._convert)

    def convert(self, raw: Column) -> Column:
        """The converted values, one per raw value."""
        types = set(map(type, raw))
        if self._type == "timestamp" and types == {str} and are_usual_times(raw):
            return raw
        if self._type == "arrayLength" and types <= {list, dict}:
            return list(map(len, raw))
        if self._is_list and self._type != "arrayLength":
            return [self._convert_list(value) for value in raw]
        if types <= _UNCHANGED.get(self._type, frozenset()):
            if self._type != "integer" or _fits_integer(raw, has_null=type(None) in types):
                return raw
        elif self._type == "float" and types <= {int, float}:
            column = _convert_to_floats(raw)
            if column is not None:
                return column
        elif types <= _REMEMBERED:
            return list(map(self._memo.__getitem__, raw))
        return [self._memo[value] if type(value) is str else self._convert(value) for value in raw]

    def _convert(self, value: Any) -> Any:
        if value is None:
            return None
        if value is MISSING:
            return self._default
        try:
            return self._one(value)
        except ConversionError:
            return self._default

    def _convert_list(self, value: Any) -> Any:
        """Each element that can be converted; the default where there is no list."""
        if value is MISSING:
            return self._default
        found = (_convert_or(self._one, element, MISSING) for element in value)
        return [element for element in found if element is not MISSING]


def _fits_integer(raw: Column, *, has_null: bool) -> bool:
    numbers = [value for value in raw if value is not None] if has_null else raw
    return not numbers or (min(numbers) >= -_LARGEST and max(numbers) < _LARGEST)


def _convert_to_floats(raw: Column) -> Column | None:
    """The numbers as floats, or None if one of them is too large."""
    try:
        column = list(map(float, raw))
    except OverflowError:
        return None
    return column if are_finite(column) else None
