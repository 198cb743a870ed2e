"""Schedules of CronJobs, as the parser Kubernetes uses reads them."""

import re

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[int, int, tuple[str, ...]], ...] = (
    (0, 59, ()),
    (0, 23, ()),
    (1, 31, ()),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_MAX_NUMBER = 2**63 - 1
_MAX_DIGITS = 19
_WORDS = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)


def validate_schedule(schedule: str) -> str | None:
    """Find what is wrong with a schedule, or nothing."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = schedule.partition(" ")[2].strip()
    if not schedule:
        return "empty spec string"
    if schedule.startswith("@"):
        return _validate_macro(schedule)
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        listed = " ".join(fields)
        return f"expected exactly 5 fields, found {len(fields)}: [{listed}]"
    for text, (low, high, words) in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            if found := _validate_part(part, low, high, words):
                return found
    return None


def _validate_macro(schedule: str) -> str | None:
    if schedule in _WORDS:
        return None
    if schedule.startswith("@every "):
        if re.fullmatch(r"(\d+(\.\d+)?(ns|us|ms|s|m|h))+", schedule[7:]):
            return None
        return f'failed to parse duration {schedule}: time: invalid duration "{schedule[7:]}"'
    return f"unrecognized descriptor: {schedule}"


def _validate_part(text: str, low: int, high: int, words: tuple[str, ...]) -> str | None:
    spread, slash, step = text.partition("/")
    first, dash, last = spread.partition("-")
    if first in ("*", "?"):
        start, end = low, high
    else:
        bounds = [_parse_number(each, low, words) for each in ([first, last] if dash else [first])]
        for each, given in zip(bounds, (first, last), strict=False):
            if each is None:
                return _format_number_error(given)
            if each > _MAX_NUMBER:
                return _format_number_error(given, "value out of range")
        start, end = bounds[0] or 0, bounds[-1] or 0
        if slash and not dash:
            end = high
    stride = _parse_number(step, 0, ()) if slash else 1
    if stride is None:
        return _format_number_error(step)
    if stride > _MAX_NUMBER:
        return _format_number_error(step, "value out of range")
    if start < low:
        return f"beginning of range ({start}) below minimum ({low}): {text}"
    if end > high:
        return f"end of range ({end}) above maximum ({high}): {text}"
    if start > end:
        return f"beginning of range ({start}) beyond end of range ({end}): {text}"
    if stride == 0:
        return f"step of range should be a positive number: {text}"
    return None


def _format_number_error(text: str, problem: str = "invalid syntax") -> str:
    return f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": {problem}'


def _parse_number(text: str, low: int, words: tuple[str, ...]) -> int | None:
    if text.lower() in words:
        return words.index(text.lower()) + low
    if not (text.isascii() and text.isdigit()):
        return None
    return int(text.lstrip("0")[: _MAX_DIGITS + 1] or "0")
