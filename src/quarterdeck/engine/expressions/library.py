"""The functions of the language. Arguments are already converted; None means null."""

import math
from collections.abc import Callable
from typing import Any

from quarterdeck.engine.times import parse_time
from quarterdeck.engine.values import parse_number, to_number, to_text
from quarterdeck.kit import duration as durations
from quarterdeck.kit.patterns import PatternError, compile_re2
from quarterdeck.kit.quantity import Quantity, QuantityError

MAX_TEXT = 65536
"""Characters of a computed text; a longer one is null."""
_MOST_DECIMALS = 300
_UNITS = ("B", "Ki", "Mi", "Gi", "Ti", "Pi")
_SECOND = 1e9


def bound_text(text: str) -> str | None:
    """The text, or null if it is too long to keep for every object."""
    return text if len(text) <= MAX_TEXT else None


def substr(text: str, start: float, length: float | None = None) -> str:
    """A part by characters; a start outside the text gives nothing."""
    if not 0 <= start < len(text):
        return ""
    begin = int(start)
    if length is None:
        return text[begin:]
    return text[begin : begin + int(min(length, len(text)))] if length > 0 else ""


def contains(value: Any, part: str) -> bool:
    """Whether a text has a part, or a list an element."""
    if isinstance(value, list):
        return part in map(to_text, value)
    return part in to_text(value)


def length(value: Any) -> float:
    """Characters of a text, elements of a list."""
    return float(len(value if isinstance(value, list) else to_text(value)))


def rounder(decimals: float) -> Callable[[float], float]:
    """A function that rounds half away from zero; negative decimals round to tens."""
    if not abs(decimals) <= _MOST_DECIMALS:
        return (lambda value: value) if decimals > 0 else (lambda value: value * 0.0)
    scale = 10.0 ** int(decimals)

    def apply(value: float) -> float:
        scaled = value * scale
        whole = scaled // 1.0
        rest = scaled - whole  # exact: the two are less than one apart
        if rest > 0.5 or (rest == 0.5 and scaled > 0.0):
            whole += 1.0
        return whole / scale

    return apply


def round_to(value: float, decimals: float = 0.0) -> float:
    """Round half away from zero."""
    return rounder(decimals)(value)


def floor(value: float) -> float:
    """The value rounded down to a whole number."""
    return float(math.floor(value)) if math.isfinite(value) else value


def ceil(value: float) -> float:
    """The value rounded up to a whole number."""
    return float(math.ceil(value)) if math.isfinite(value) else value


def remainder(left: float, right: float) -> float:
    """The remainder with the sign of the dividend."""
    try:
        return math.fmod(left, right)
    except ValueError:
        return math.nan


def percentage(part: float, total: float) -> float:
    """How many hundredths of the total; 0 if the total is 0."""
    return part / total * 100.0 if total else 0.0


def clamp(value: float, low: float, high: float) -> float:
    """The value, but not below `low` nor above `high`."""
    return low if value < low else high if value > high else value


def age(text: str, now: float) -> float | None:
    """Seconds since a time; negative if it is in the future."""
    moment = parse_time(text)
    return None if moment is None else now - moment


def between(start: str, end: str) -> float | None:
    """Seconds from one time to another."""
    first, last = parse_time(start), parse_time(end)
    return None if first is None or last is None else last - first


def format_bytes(value: float) -> str:
    """Two decimals and a binary unit."""
    if not math.isfinite(value):
        return to_text(value)
    power = 0
    while abs(value) >= 1024 and power < len(_UNITS) - 1:
        value /= 1024
        power += 1
    return f"{value:.2f}{_UNITS[power]}"


def parse_value(value: Any) -> float | None:
    """The number of a number, boolean or numeric text."""
    return parse_number(value.strip()) if isinstance(value, str) else to_number(value)


def parse_quantity(text: str) -> float | None:
    """Base units of a Kubernetes quantity."""
    try:
        return Quantity.parse(text).as_float()
    except QuantityError:
        return None


def parse_duration(text: str) -> float | None:
    """Seconds of a Go duration."""
    try:
        return durations.parse(text) / _SECOND
    except durations.DurationError:
        return None


def matches(text: str, pattern: str) -> bool | None:
    """Whether an RE2 pattern matches anywhere; null if the pattern is not one."""
    try:
        return compile_re2(pattern).search(text)
    except PatternError:
        return None


def replace(text: str, old: str, new: str) -> str | None:
    """Every occurrence replaced; null if the result is too long."""
    times = text.count(old)
    if len(text) + times * (len(new) - len(old)) > MAX_TEXT:
        return None
    return text.replace(old, new)


def split(text: str, separator: str) -> list[str]:
    """The parts between separators; the characters if the separator is empty."""
    return text.split(separator) if separator else list(text)


def join(values: list[Any], separator: str) -> str | None:
    """The text forms with a separator between them; null if the result is too long."""
    texts = [to_text(value) for value in values]
    if sum(map(len, texts)) + len(separator) * (len(texts) - 1) > MAX_TEXT:
        return None
    return separator.join(texts)


def numbers(values: list[Any]) -> list[float]:
    """The numbers of a list."""
    return [number for value in values if (number := to_number(value)) is not None]


def total(values: list[Any]) -> float | None:
    """The sum of the numbers of a list; null if it is too large."""
    try:
        return math.fsum(numbers(values))
    except (OverflowError, ValueError):  # a partial sum is not finite
        return None


def average(values: list[Any]) -> float | None:
    """The mean of the numbers of a list; null without any, or if their sum is too large."""
    found = numbers(values)
    sum_ = total(found)
    return sum_ / len(found) if found and sum_ is not None else None


def count(values: list[Any]) -> float:
    """The number of elements."""
    return float(len(values))
