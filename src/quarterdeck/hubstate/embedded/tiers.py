"""Samples of one series at three resolutions: raw, five minutes, one hour. Pure.

Raw samples stay for two hours, five-minute roll-ups for two days, hourly ones for the retention. A
roll-up keeps sum, count, least, greatest and last, so every reduction stays exact over it.
"""

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from quarterdeck.hubstate.ports import Reduction

HOUR_S = 3600.0
STEP_S = 300.0
RAW_S = 2 * HOUR_S
FINE_S = 48 * HOUR_S
_WIDTH = 6


class Point(NamedTuple):
    """One sample, or the roll-up of several; `at` is the time of the last one."""

    at: float
    total: float
    weight: float
    least: float
    greatest: float
    last: float

    @classmethod
    def of(cls, at: float, value: float) -> "Point":
        """A single sample."""
        return cls(at, value, 1.0, value, value, value)


class Column:
    """Points in the order of time, six numbers each in one array: there are very many columns."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers: array[float] | None = None

    def append(self, point: Point) -> None:
        """Insert a point in order of time; it replaces one of the same time."""
        if self._numbers is None:
            self._numbers = array("d")
        at = self._find(point.at)
        is_there = at < len(self) and self._numbers[at * _WIDTH] == point.at
        end = (at + 1) * _WIDTH if is_there else at * _WIDTH
        self._numbers[at * _WIDTH : end] = array("d", point)

    def replace(self, start: float, end: float, points: Iterable[Point]) -> None:
        """Replace the points with start <= at < end by others, given in order of time."""
        numbers = array("d", chain.from_iterable(points))
        if self._numbers is None:
            self._numbers = numbers or None
            return
        low, high = self._find(start) * _WIDTH, self._find(end) * _WIDTH
        self._numbers[low:high] = numbers

    def list_between(self, start: float, end: float) -> Iterator[Point]:
        """Points with start <= at < end."""
        numbers = self._numbers
        for index in range(self._find(start), self._find(end)):
            assert numbers is not None
            yield Point(*numbers[index * _WIDTH : (index + 1) * _WIDTH])

    def drop_before(self, moment: float) -> None:
        """Drop the points before a moment."""
        if self._numbers is not None:
            del self._numbers[: self._find(moment) * _WIDTH]

    def _find(self, moment: float) -> int:
        """The number of points before a time."""
        numbers = self._numbers
        if not numbers or moment <= numbers[0]:
            return 0
        if numbers[-_WIDTH] < moment:
            return len(self)
        return bisect_left(range(len(self)), moment, key=lambda index: numbers[index * _WIDTH])

    def __len__(self) -> int:
        return len(self._numbers) // _WIDTH if self._numbers is not None else 0


class Tiers:
    """One series."""

    __slots__ = ("coarse", "fine", "raw_times", "raw_values")

    def __init__(self) -> None:
        self.raw_times = array("d")
        self.raw_values = array("d")
        self.fine = Column()
        self.coarse = Column()

    def add(self, at: float, value: float) -> None:
        """Add a sample; a second one of the same time replaces the first."""
        times = self.raw_times
        index = len(times) if not times or times[-1] < at else bisect_left(times, at)
        if index < len(times) and times[index] == at:
            self.raw_values[index] = value
            return
        times.insert(index, at)
        self.raw_values.insert(index, value)

    def add_all(self, numbers: Sequence[float]) -> None:
        """Add samples, given as alternating times and values."""
        for at, value in zip(numbers[::2], numbers[1::2], strict=True):
            self.add(at, value)

    def list_raw(self, start: float, end: float) -> Iterator[Point]:
        """Samples with start <= at < end."""
        low, high = bisect_left(self.raw_times, start), bisect_left(self.raw_times, end)
        for index in range(low, high):
            yield Point.of(self.raw_times[index], self.raw_values[index])

    def list_points(self, start: float, end: float) -> list[Point]:
        """The points with start <= at < end at the finest resolution; no sample counts twice."""
        coarse, fine = self._find_alone(start, end)
        return sorted((*coarse, *fine, *self.list_raw(start, end)))

    def seal(self, start: float, end: float) -> tuple[list[Point], list[Point]]:
        """Roll up the samples with start <= at < end; returns the fine and coarse roll-ups.

        Roll-ups of samples that were already dropped are kept beside the new ones: if the clock
        was set back, the same hour is sealed twice.
        """
        coarse, fine = self._find_alone(start, end)
        fine = sorted((*fine, *roll_up(self.list_raw(start, end), STEP_S)))
        coarse = sorted((*coarse, *roll_up(fine, HOUR_S)))
        self.fine.replace(start, end, fine)
        self.coarse.replace(start, end, coarse)
        return fine, coarse

    def _find_alone(self, start: float, end: float) -> tuple[list[Point], list[Point]]:
        """Coarse and fine roll-ups whose samples were dropped.

        A roll-up has the time of its last sample; the samples are gone if no finer point has it.
        """
        raw = set(self.raw_times[bisect_left(self.raw_times, start) :])
        fine = list(self.fine.list_between(start, end))
        known = {each.at for each in fine}
        coarse = [each for each in self.coarse.list_between(start, end) if each.at not in known]
        return coarse, [each for each in fine if each.at not in raw]

    def list_raw_hours(self, start: float, end: float) -> Iterator[float]:
        """The beginnings of hours that have samples with start <= at < end."""
        times = self.raw_times
        index = bisect_left(times, start)
        while index < len(times) and times[index] < end:
            hour = math.floor(times[index] / HOUR_S) * HOUR_S
            yield hour
            index = bisect_left(times, hour + HOUR_S, index)

    def drop_raw_before(self, moment: float) -> None:
        """Drop the samples before a moment."""
        count = bisect_left(self.raw_times, moment)
        del self.raw_times[:count]
        del self.raw_values[:count]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left."""
        return not self.raw_times and not len(self.fine) and not len(self.coarse)


def roll_up(points: Iterable[Point], step_s: float) -> list[Point]:
    """One point for each step that has any; steps are counted from the epoch."""
    found: dict[float, Point] = {}
    for point in points:
        slot = math.floor(point.at / step_s)
        before = found.get(slot)
        found[slot] = point if before is None else _join(before, point)
    return list(found.values())


def _join(left: Point, right: Point) -> Point:
    return Point(
        right.at,
        left.total + right.total,
        left.weight + right.weight,
        min(left.least, right.least),
        max(left.greatest, right.greatest),
        right.last,
    )


def reduce_points(
    points: Iterable[Point], *, start: float, end: float, step_s: float, reduction: Reduction
) -> tuple[tuple[float, float], ...]:
    """One value per step, from the points after the previous step up to this one."""
    count = int((end - start) / step_s + 1e-9) + 1
    moments = [start + number * step_s for number in range(count)]
    found: dict[int, Point] = {}
    for point in points:
        index = bisect_left(moments, point.at - 1e-6)
        if index < len(moments) and point.at > moments[index] - step_s:
            before = found.get(index)
            found[index] = point if before is None else _join(before, point)
    return tuple(
        (moments[index], _reduce_point(found[index], reduction)) for index in sorted(found)
    )


def _reduce_point(point: Point, reduction: Reduction) -> float:
    match reduction:
        case "avg":
            return point.total / point.weight
        case "min":
            return point.least
        case "max":
            return point.greatest
        case "last":
            return point.last
