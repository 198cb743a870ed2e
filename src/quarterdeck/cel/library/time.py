"""Timestamps and durations: reading them, and their parts."""

import re
import zoneinfo
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.values import SECOND, Duration, Timestamp
from quarterdeck.kit import duration

DECLARATIONS = ""

_RFC3339 = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_timestamp(text: str) -> Timestamp:
    """An RFC 3339 text, to the nanosecond."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise _conversion_error("google.protobuf.Timestamp")
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise _conversion_error("google.protobuf.Timestamp") from None
    since = moment - _EPOCH
    seconds = since.days * 86400 + since.seconds
    offset = 0
    if found[8]:
        offset = (int(found[9]) * 3600 + int(found[10]) * 60) * (1 if found[8] == "+" else -1)
    fraction = int((found[7] or "").ljust(9, "0")[:9])
    return Timestamp((seconds - offset) * SECOND + fraction, offset)


def parse_date(text: str) -> Timestamp:
    """A full date, midnight UTC."""
    return parse_timestamp(f"{text}T00:00:00Z")


def parse_duration(text: str) -> Duration:
    """A Go duration such as `1h30m`."""
    try:
        return Duration(duration.parse(text))
    except duration.DurationError:
        raise _conversion_error("google.protobuf.Duration") from None


def _conversion_error(wanted: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from 'string' to '{wanted}'")


def _find_zone(name: str) -> tzinfo:
    if found := re.fullmatch(r"([+-]?)(\d{1,2}):(\d{2})", name):
        offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return timezone(-offset if found[1] == "-" else offset)
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None


def _build_getter(read: Callable[[datetime], int]) -> Callable[..., int]:
    def part(moment: Timestamp, zone: str | None = None) -> int:
        if zone is not None and type(zone) is not str:
            raise EvaluationError("no such overload")
        at = moment.to_datetime()
        return read(at.astimezone(_find_zone(zone)) if zone else at)

    return part


def _truncate(value: int, unit: int) -> int:
    quotient = abs(value) // unit
    return -quotient if value < 0 else quotient


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "getDate": {Timestamp: _build_getter(lambda at: at.day)},
    "getDayOfMonth": {Timestamp: _build_getter(lambda at: at.day - 1)},
    "getDayOfWeek": {Timestamp: _build_getter(lambda at: at.isoweekday() % 7)},
    "getDayOfYear": {Timestamp: _build_getter(lambda at: at.timetuple().tm_yday - 1)},
    "getFullYear": {Timestamp: _build_getter(lambda at: at.year)},
    "getMonth": {Timestamp: _build_getter(lambda at: at.month - 1)},
    "getHours": {
        Timestamp: _build_getter(lambda at: at.hour),
        Duration: lambda value: _truncate(value.ns, 3600 * SECOND),
    },
    "getMinutes": {
        Timestamp: _build_getter(lambda at: at.minute),
        Duration: lambda value: _truncate(value.ns, 60 * SECOND),
    },
    "getSeconds": {
        Timestamp: _build_getter(lambda at: at.second),
        Duration: lambda value: _truncate(value.ns, SECOND),
    },
    "getMilliseconds": {
        Timestamp: _build_getter(lambda at: at.microsecond // 1000),
        Duration: lambda value: _truncate(value.ns, SECOND // 1000),
    },
}
