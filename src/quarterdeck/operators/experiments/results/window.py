"""The time that metrics are collected for, and how queries write it. Pure."""

from datetime import datetime
from typing import NamedTuple

from quarterdeck.kit import rfc3339
from quarterdeck.operators.experiments.results.document import TimeRange

MINIMUM_S = 30.0
"""A shorter run has no metrics: collectors scrape every 15 to 30 seconds."""
_STEPS = ((300.0, 15), (3600.0, 60))
_LAST_STEP = 300
_NARROWED = {1: 600.0, 2: 300.0}
_NARROWEST_S = 120.0


class Window(NamedTuple):
    """From the creation of an experiment until its end."""

    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end - self.start).total_seconds()

    @property
    def is_long_enough(self) -> bool:
        """Whether metrics can be there."""
        return self.seconds >= MINIMUM_S

    def describe(self) -> TimeRange:
        """As results show it."""
        return TimeRange(
            start=rfc3339.format_time(self.start),
            end=rfc3339.format_time(self.end),
            duration=format_duration(self.seconds),
            step_seconds=step_s(self.seconds),
        )


def step_s(seconds: float) -> int:
    """The resolution of range queries."""
    return next((step for limit, step in _STEPS if seconds < limit), _LAST_STEP)


def query_duration_s(seconds: float, iteration: int) -> float:
    """`$DURATION` of a collection: all of it, then less, for series that came late."""
    if iteration <= 0:
        return seconds
    return _NARROWED.get(iteration, _NARROWEST_S)


def format_duration(seconds: float) -> str:
    """A duration as PromQL writes it, in whole seconds and without sign."""
    rest = int(abs(seconds))
    if rest == 0:
        return "0s"
    text = ""
    for unit, size in (("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text


def parse_times(created: str, ended: datetime) -> Window:
    """The window of an experiment."""
    start = rfc3339.parse(created) if created else ended
    return Window(min(start, ended), max(start, ended))
