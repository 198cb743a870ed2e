"""Field types and filters of the original ClusterPulse, for `expressionMode: compat`."""

from collections.abc import Callable
from typing import Any

from quarterdeck.apis.clusterpulse.metric_source import FieldType
from quarterdeck.engine.conversion import CONVERTERS, ConversionError, Converter
from quarterdeck.engine.values import MAX_INTEGER, MISSING, parse_number, to_text

_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5}
_SUFFIXES: dict[str, int] = {
    **{suffix: 1024**power for suffix, power in _BINARY.items()},
    **{suffix: 1000**power for power, suffix in enumerate("KMGTP", start=1)},
    "k": 1024,
    "m": 1024**2,
    "g": 1024**3,
}


def to_quantity(value: Any) -> int:
    """Millicores of a text that ends with m, else bytes; 0 where it cannot be read."""
    text = to_text(value).strip()
    if text.endswith("m"):
        cores = parse_number(text[:-1])
        return _to_whole(cores / 1000 * 1000) if cores is not None else 0
    return parse_memory(text)


def parse_memory(text: str) -> int:
    """Bytes by suffix, with the original's meaning of k, m and g."""
    text = text.strip()
    for suffix, factor in _SUFFIXES.items():
        if text.endswith(suffix):
            amount = parse_number(text[: -len(suffix)])
            return _to_whole(amount * factor) if amount is not None else 0
    try:
        return int(text) if len(text) < 20 else 0
    except ValueError:
        return 0


def _to_whole(amount: float) -> int:
    """The whole number; 0 where it is out of range."""
    return int(amount) if -MAX_INTEGER <= amount < MAX_INTEGER else 0


def convert_default(type_: FieldType, text: str) -> Any:
    """A default as the original reads it: some types leave it as text."""
    match type_:
        case "integer" | "float":
            try:
                return CONVERTERS[type_](text)
            except ConversionError:
                return 0
        case "boolean":
            return text.lower() == "true"
        case "quantity":
            return parse_memory(text)
        case _:
            return text


class CompatColumnConverter:
    """Converts columns of one field by the original's rules."""

    def __init__(self, type_: FieldType, default: Any) -> None:
        self._one: Converter = to_quantity if type_ == "quantity" else CONVERTERS[type_]
        self._default = default

    def convert(self, raw: list[Any]) -> list[Any]:
        """The converted values, one per raw value."""
        return [self._convert(value) for value in raw]

    def _convert(self, value: Any) -> Any:
        if value is None:
            return None
        if value is MISSING:
            return self._default
        try:
            return self._one(value)
        except ConversionError:
            return self._default


def group_key(value: Any) -> str:
    """The group of a value: texts only; a number is the character with its code."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and 0 <= value < 0x110000:
        return "\ufffd" if 0xD800 <= value < 0xE000 else chr(int(value))
    return "_unknown_"


def _as_number(value: Any) -> float:
    if isinstance(value, str):
        return parse_number(value) or 0.0
    return float(value) if isinstance(value, int | float) else 0.0


def _is_whole(text: str) -> bool:
    return len(text) < 20 and text[text.startswith(("+", "-")) :].isdecimal()


def _are_equal(value: Any, wanted: str) -> bool:
    if isinstance(value, str):
        return value == wanted
    if isinstance(value, bool):
        return wanted == ("true" if value else "false")
    if isinstance(value, int):
        return _is_whole(wanted) and value == int(wanted)
    return isinstance(value, float) and value == parse_number(wanted)


def build_predicate(operator: str, wanted: str) -> Callable[[Any], bool] | None:
    """The original's test where it differs from ours; None where it does not."""
    limit = parse_number(wanted) or 0.0
    match operator:
        case "equals":
            return lambda value: value is not None and _are_equal(value, wanted)
        case "notEquals":
            return lambda value: value is not None and not _are_equal(value, wanted)
        case "greaterThan":
            return lambda value: value is not None and _as_number(value) > limit
        case "lessThan":
            return lambda value: value is not None and _as_number(value) < limit
        case _:
            return None
