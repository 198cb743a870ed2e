"""Times as Kubernetes writes them: RFC 3339 in UTC, whole seconds, or with microseconds."""

import functools
import re
from datetime import UTC, datetime, timedelta, timezone

_SHAPE = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))",
    re.ASCII,
)


class TimeError(ValueError):
    """Raised when a text is not an RFC 3339 time."""


def parse(text: str) -> datetime:
    """Read a time; digits beyond microseconds are cut.

    Raises:
        TimeError: naming the text.
    """
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise TimeError(f"{text!r} is not an RFC 3339 time such as 2006-01-02T15:04:05Z")
    *numbers, fraction, sign, hours, minutes = match.groups()
    zone: timezone = UTC
    if sign:
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        zone = timezone(-offset if sign == "-" else offset)
    micro = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        year, month, day, hour, minute, second = (int(number) for number in numbers)
        return datetime(year, month, day, hour, minute, second, micro, zone).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise TimeError(f"{text!r} is not a time: {error}") from error


def format_time(moment: datetime) -> str:
    """Whole seconds: how `metav1.Time` is written."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return _format_second(
        moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second
    )


@functools.lru_cache(maxsize=16)
def _format_second(year: int, month: int, day: int, *clock: int) -> str:
    """Format a time in whole seconds; cached, as many objects are written in the same second."""
    hour, minute, second = clock
    return f"{datetime(year, month, day, hour, minute, second).isoformat()}Z"


def format_micro(moment: datetime) -> str:
    """Six digits of microseconds: how `metav1.MicroTime` is written."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"
