"""Parses and limits the time ranges of history queries. Pure."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from quarterdeck.hubstate.ports import Reduction
from quarterdeck.kit import duration, rfc3339
from quarterdeck.services.hub.errors import BadRequest

MAX_POINTS = 11_000
MAX_RANGE = timedelta(days=400)
MIN_STEP = timedelta(seconds=1)
_DAYS = re.compile(r"(\d{1,9})d", re.ASCII)
_NUMBER = re.compile(r"\d{1,12}(\.\d{1,9})?", re.ASCII)


class RangeParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Metric and time range of a history query."""

    metric: str = ""
    range: str = "1h"
    step: str = "1m"
    start: str = ""
    end: str = ""
    agg: Reduction = "avg"


def describe_metrics(names: Iterable[str]) -> msgspec.Meta:
    """The OpenAPI description of a required metric parameter with these names."""
    return msgspec.Meta(extra_json_schema={"enum": sorted(names), "x-required": True})


class TimeRange(msgspec.Struct, frozen=True):
    """A range that is within the limits."""

    start: datetime
    end: datetime
    step: timedelta


def read_range(given: RangeParameters, now: datetime) -> TimeRange:
    """The range of a query: `start` to `end`, or `range` up to `end` or now.

    Raises:
        BadRequest: naming the parameter.
    """
    end = read_time(given.end, "end") if given.end else now.replace(microsecond=0)
    span = read_span(given.range, "range")
    if not given.start and span > MAX_RANGE:
        raise BadRequest(f"range {given.range!r} is longer than {MAX_RANGE.days} days")
    try:
        start = read_time(given.start, "start") if given.start else end - span
    except OverflowError as error:
        raise BadRequest("start is out of range") from error
    step = read_span(given.step, "step")
    if step < MIN_STEP:
        raise BadRequest(f"step {given.step!r} must be at least {MIN_STEP.total_seconds():.0f} s")
    if end < start:
        raise BadRequest("end is before start")
    if end - start > MAX_RANGE:
        raise BadRequest(f"the range is longer than {MAX_RANGE.days} days")
    points = int((end - start) / step) + 1
    if points > MAX_POINTS:
        raise BadRequest(
            f"the range has {points} points, at most {MAX_POINTS} are allowed: choose a longer step"
        )
    return TimeRange(start, end, step)


def read_span(text: str, name: str) -> timedelta:
    """A Go duration such as 90m, or days such as 7d.

    Raises:
        BadRequest: naming the parameter.
    """
    days = _DAYS.fullmatch(text)
    try:
        if days is not None:
            span = timedelta(days=int(days[1]))
        else:
            span = timedelta(microseconds=duration.parse(text) // 1000)
    except (duration.DurationError, OverflowError) as error:
        raise BadRequest(f"{name} {text!r} is not a duration such as 90m or 7d") from error
    if span <= timedelta(0):
        raise BadRequest(f"{name} {text!r} must be greater than 0")
    return span


def read_time(text: str, name: str) -> datetime:
    """Unix seconds or an RFC 3339 time.

    Raises:
        BadRequest: naming the parameter.
    """
    try:
        if _NUMBER.fullmatch(text):
            return datetime.fromtimestamp(float(text), UTC)
        return rfc3339.parse(text)
    except (rfc3339.TimeError, ValueError, OverflowError, OSError) as error:
        raise BadRequest(f"{name} {text!r} is not unix seconds or an RFC 3339 time") from error
