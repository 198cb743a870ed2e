"""Durations as Go writes them: `1h2m3.5s`, `300ms`, `-1.5h`; integers of nanoseconds."""

import re
from datetime import timedelta

NANOSECOND = 1
MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

MAXIMUM = 2**63 - 1
MINIMUM = -(2**63)
_MOST_DIGITS = 30
"""More make no difference: the longest duration has 19."""

_UNITS = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "μs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_PART = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)


class DurationError(ValueError):
    """Raised when a text is not a Go duration."""


class DurationTooLong(DurationError):
    """Raised when a duration is longer than Go's longest, 292 years."""


def parse(text: str) -> int:
    """Read a duration into nanoseconds.

    Raises:
        DurationError: naming the text, and what is missing.
    """
    sign, rest = -1 if text.startswith("-") else 1, text.lstrip("+-") if text[:1] in "+-" else text
    if len(text) - len(rest) > 1 or not rest:
        raise DurationError(f"time: invalid duration {_quote(text)}")
    if rest == "0":
        return 0
    total = 0
    position = 0
    while position < len(rest):
        match = _PART.match(rest, position)
        if match is None or not (match[1] or match[2]):
            raise DurationError(_explain_invalid(text, rest[position:]))
        total += _to_nanoseconds(match[1], match[2] or "", _UNITS[match[3]])
        position = match.end()
    if not MINIMUM <= sign * total <= MAXIMUM:
        raise DurationTooLong(f"time: invalid duration {_quote(text)}")
    return sign * total


def parse_seconds(text: str) -> float:
    """Parse a duration into seconds; longer ones are limited to 292 years.

    A timeout of 99999999999h means "never", and must not be an error.

    Raises:
        DurationError: if the text is not a duration.
    """
    try:
        return parse(text) / SECOND
    except DurationTooLong:
        return (MINIMUM if text.startswith("-") else MAXIMUM) / SECOND


def from_seconds(seconds: int) -> timedelta:
    """Build a duration from seconds, as Go multiplies: over 292 years the product wraps around.

    Fields such as `terminationGracePeriodSeconds` may have any number of 64 bits.
    """
    wrapped = (seconds * SECOND - MINIMUM) % (MAXIMUM - MINIMUM + 1) + MINIMUM
    return timedelta(microseconds=wrapped // MICROSECOND)


def _to_nanoseconds(whole: str, fraction: str, unit: int) -> int:
    if len(whole.lstrip("0")) > _MOST_DIGITS:
        return MAXIMUM + 1
    value = int(whole[-_MOST_DIGITS:] or "0") * unit
    fraction = fraction[:_MOST_DIGITS]
    if fraction:
        value += int(fraction) * unit // 10 ** len(fraction)
    return value


def _explain_invalid(text: str, rest: str) -> str:
    number = re.match(r"[0-9.]*", rest)
    after = rest[number.end() :] if number else rest
    if number and number[0].strip("."):
        unit = re.match(r"[^0-9.]*", after)
        if unit and unit[0]:
            return f"time: unknown unit {_quote(unit[0])} in duration {_quote(text)}"
        return f"time: missing unit in duration {_quote(text)}"
    return f"time: invalid duration {_quote(text)}"


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def format_duration(nanoseconds: int) -> str:
    """Write a duration as Go's `Duration.String` does."""
    if nanoseconds == 0:
        return "0s"
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest < SECOND:
        for name, unit in (("ns", NANOSECOND), ("µs", MICROSECOND), ("ms", MILLISECOND)):
            if rest < unit * 1000:
                return f"{sign}{_format_decimal(rest, unit)}{name}"
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    text = f"{_format_decimal(rest, SECOND)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else f"{sign}{text}"


def _format_decimal(value: int, unit: int) -> str:
    whole, fraction = divmod(value, unit)
    if not fraction:
        return str(whole)
    digits = str(fraction).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}"
