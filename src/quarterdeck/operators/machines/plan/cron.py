"""Decides whether a cron schedule was due recently. Pure.

Schedules have five fields, in UTC, with `*`, lists, ranges and steps.
"""

import functools
from datetime import datetime, timedelta

_LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_LONGEST_GAP_S = 8 * 366 * 86400.0
"""Longest time between two due times: two 29 Februaries with a year such as 2100 between."""
_NAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


class InvalidSchedule(ValueError):
    """Raised when a text is not a schedule; names the field."""


@functools.lru_cache(maxsize=128)
def parse_schedule(text: str) -> tuple[frozenset[int], ...]:
    """The minutes, hours, days, months and weekdays of a schedule.

    Raises:
        InvalidSchedule: naming the field that cannot be read.
    """
    fields = _NAMES.get(text.strip(), text).split()
    if len(fields) != len(_LIMITS):
        raise InvalidSchedule(f"schedule {text!r} has {len(fields)} fields, not 5")
    parsed = [_parse_field(field, *limits) for field, limits in zip(fields, _LIMITS, strict=True)]
    parsed[4] = frozenset(day % 7 for day in parsed[4])
    return tuple(parsed)


def is_active(text: str, duration_s: float, now: datetime) -> bool:
    """Whether a schedule was due less than `duration_s` ago.

    Raises:
        InvalidSchedule: if the text is not a schedule.
    """
    schedule = parse_schedule(text)
    moment = now.replace(second=0, microsecond=0)
    earliest = now - timedelta(seconds=min(duration_s, _LONGEST_GAP_S))
    while moment > earliest:
        if not _is_day(schedule, moment):
            moment = moment.replace(hour=0, minute=0) - timedelta(minutes=1)
            continue
        if moment.hour in schedule[1] and moment.minute in schedule[0]:
            return True
        moment -= timedelta(minutes=1)
    return False


def _is_day(schedule: tuple[frozenset[int], ...], moment: datetime) -> bool:
    """Whether a day is due; if days and weekdays are both restricted, either one is enough."""
    _, _, days, months, weekdays = schedule
    if moment.month not in months:
        return False
    in_days, in_week = moment.day in days, moment.isoweekday() % 7 in weekdays
    is_free_day, is_free_week = len(days) == 31, len(weekdays) == 7
    if is_free_day or is_free_week:
        return in_days and in_week
    return in_days or in_week


def _parse_field(text: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step_text = part.partition("/")
        first, _, last = span.partition("-")
        try:
            step = int(step_text) if step_text else 1
            if span == "*":
                start, end = low, high
            else:
                start = int(first)
                end = int(last) if last else (high if step_text else start)
        except ValueError:
            raise InvalidSchedule(f"schedule field {text!r}: {part!r} is not a number") from None
        if not (low <= start <= end <= high and step > 0):
            raise InvalidSchedule(f"schedule field {text!r}: {part!r} is not within {low}-{high}")
        found.update(range(start, end + 1, step))
    return frozenset(found)
