"""The time range of metrics queries, and its PromQL form. Pure."""

from datetime import datetime
from typing import NamedTuple

from quarterdeck.kit import rfc3339
from quarterdeck.operators.experiments.results.document import TimeRange

MINIMUM_S = 30.0
"""Shortest run that has metrics, because collectors scrape every 15 to 30 seconds."""
_STEPS = ((300.0, 15), (3600.0, 60))
_LAST_STEP = 300
_NARROWED = {1: 600.0, 2: 300.0}
_NARROWEST_S = 120.0


class Window(NamedTuple):
    """The time from the creation of an experiment until its end."""

    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        """The length of the window."""
        return (self.end - self.start).total_seconds()

    @property
    def is_long_enough(self) -> bool:
        """Whether the run was long enough to have metrics."""
        return self.seconds >= MINIMUM_S

    def describe(self) -> TimeRange:
        """Build the form that results have."""
        return TimeRange(
            start=rfc3339.format_time(self.start),
            end=rfc3339.format_time(self.end),
            duration=format_duration(self.seconds),
            step_seconds=compute_step_s(self.seconds),
        )


def compute_step_s(seconds: float) -> int:
    """The resolution of range queries."""
    return next((step for limit, step in _STEPS if seconds < limit), _LAST_STEP)


def compute_query_duration_s(seconds: float, iteration: int) -> float:
    """`$DURATION` of a collection: the whole window first, then less, for late series."""
    if iteration <= 0:
        return seconds
    return _NARROWED.get(iteration, _NARROWEST_S)


def format_duration(seconds: float) -> str:
    """Format a duration for PromQL, in whole seconds and without sign."""
    rest = int(abs(seconds))
    if rest == 0:
        return "0s"
    text = ""
    for unit, size in (("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text


def parse_times(created: str, ended: datetime) -> Window:
    """Build the window from the creation of an experiment to its end."""
    start = rfc3339.parse(created) if created else ended
    return Window(min(start, ended), max(start, ended))
