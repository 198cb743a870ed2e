"""Cron schedules: computes the next time."""

import functools
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from quarterdeck.kit import duration

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_SEARCH_LIMIT = timedelta(days=366 * 5)
_MINUTE = timedelta(minutes=1)
_NANO = 1_000_000_000


class ScheduleError(ValueError):
    """Raised when a text is not a schedule."""


class Schedule(NamedTuple):
    """The values that each field of a cron schedule allows."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool
    every_s: float = 0.0
    """The interval of `@every`; the fields are not used then."""

    def find_next(self, moment: datetime, zone: str | None = None) -> datetime | None:
        """Find the first time after a moment, in UTC; None if there is none in five years."""
        if self.every_s:
            return moment.replace(microsecond=0) + timedelta(seconds=self.every_s)
        place = _load_zone(zone) if zone else moment.tzinfo
        time = moment.astimezone(UTC).replace(second=0, microsecond=0) + _MINUTE
        end = time + _SEARCH_LIMIT
        while time < end:
            local = time.astimezone(place)
            step = self._compute_step(local)
            if step is None:
                return time.astimezone(moment.tzinfo)
            # a midnight that comes twice may have come already
            time = max(step.astimezone(UTC), time + _MINUTE)
        return None

    def _compute_step(self, local: datetime) -> datetime | None:
        """Compute the next candidate after a local time that does not match; None if it does.

        Days are steps of the calendar, hours and minutes steps of time: as in Kubernetes, a wall
        time that a clock change skips does not come that day, and one that is repeated comes twice.
        """
        if local.month not in self.months:
            year, month = divmod(local.month, 12)
            return datetime(local.year + year, month + 1, 1, tzinfo=local.tzinfo)
        if not self._has_day(local):
            midnight = datetime(local.year, local.month, local.day, tzinfo=local.tzinfo)
            return midnight + timedelta(days=1)
        if local.hour not in self.hours:
            return local.astimezone(UTC) + timedelta(minutes=60 - local.minute)
        if local.minute not in self.minutes:
            return local.astimezone(UTC) + _MINUTE
        return None

    def _has_day(self, wall: datetime) -> bool:
        """Whether day and weekday match; if both are restricted, one of them is enough."""
        day, weekday = wall.day in self.days, wall.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return day and weekday
        return day or weekday


def _load_zone(name: str) -> tzinfo:
    """Load a time zone; few schedules name one, so its data is loaded when one does."""
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


@functools.lru_cache(maxsize=1024)
def parse_schedule(text: str) -> Schedule:
    """Read a schedule.

    Raises:
        ScheduleError: if the text is not a schedule.
    """
    if text.startswith("@every "):
        return _parse_every(text.removeprefix("@every "))
    fields = _MACROS.get(text, text).split()
    if len(fields) != 5:
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: {text!r}")
    try:
        minutes = _parse_field(fields[0], 0, 59)
        hours = _parse_field(fields[1], 0, 23)
        days = _parse_field(fields[2], 1, 31)
        months = _parse_field(fields[3], 1, 12, _MONTHS)
        weekdays = _parse_field(fields[4], 0, 6, _DAYS)
    except ValueError as error:
        raise ScheduleError(f"invalid schedule: {text!r}") from error
    return Schedule(
        minutes,
        hours,
        days,
        months,
        weekdays,
        any_day=fields[2][0] in "*?",
        any_weekday=fields[4][0] in "*?",
    )


def _parse_every(text: str) -> Schedule:
    try:
        seconds = max(1.0, duration.parse(text) / _NANO)
    except ValueError as error:
        raise ScheduleError(f"invalid duration: {text!r}") from error
    none: frozenset[int] = frozenset()
    return Schedule(none, none, none, none, none, any_day=True, any_weekday=True, every_s=seconds)


def _parse_field(field: str, low: int, high: int, words: tuple[str, ...] = ()) -> frozenset[int]:
    return frozenset(
        value for part in field.split(",") for value in _parse_part(part, low, high, words)
    )


def _parse_part(text: str, low: int, high: int, words: tuple[str, ...]) -> range:
    spread, slash, step = text.partition("/")
    first, dash, last = spread.partition("-")
    if first in ("*", "?"):
        start, end = low, high
    else:
        start = _parse_number(first, low, words)
        end = _parse_number(last, low, words) if dash else high if slash else start
    if not low <= start <= end <= high:
        raise ValueError(text)
    return range(start, end + 1, int(step) if slash else 1)


def _parse_number(text: str, low: int, words: tuple[str, ...]) -> int:
    return words.index(text.lower()) + low if text.lower() in words else int(text)
