"""The state of an aggregation between batches, one class per function.

To add a function, write a class with `update` and `result`, and add it to `create_state`.
"""

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from quarterdeck.apis.clusterpulse.metric_source import Aggregation
from quarterdeck.engine.results import Number

_MOST_PARTS = 1000


class State(Protocol):
    """The state of an aggregation so far."""

    def update(self, values: Sequence[Any]) -> None:
        """Take the values of one batch: numbers, or for `distinct` anything but null."""
        ...

    def result(self) -> Number | None:
        """The number so far."""
        ...


class Sum:
    """Exact for whole numbers; fractions are added with one rounding per batch."""

    def __init__(self) -> None:
        self._whole = 0
        self._parts: list[float] = []

    def update(self, values: Sequence[Any]) -> None:
        """Add them."""
        if set(map(type, values)) <= {int}:
            self._whole += sum(values)
        else:
            self._parts.append(_add(values))
            if len(self._parts) >= _MOST_PARTS:
                self._parts = [_add(self._parts)]

    def result(self) -> Number | None:
        """The sum; a number that is not finite is null."""
        if not self._parts:
            return self._whole
        return _drop_infinite(_add((self._whole, *self._parts)))


class Average:
    """Sum and number of values."""

    def __init__(self) -> None:
        self._sum = Sum()
        self._count = 0

    def update(self, values: Sequence[Any]) -> None:
        """Add them."""
        self._sum.update(values)
        self._count += len(values)

    def result(self) -> Number | None:
        """The mean."""
        total = self._sum.result()
        return total / self._count if self._count and total is not None else None


class Extreme:
    """The smallest or largest value."""

    def __init__(self, choose: Callable[[Iterable[Any]], Any]) -> None:
        self._choose = choose
        self._value: Number | None = None

    def update(self, values: Sequence[Any]) -> None:
        """Compare with them."""
        if values:
            best = self._choose(values)
            self._value = best if self._value is None else self._choose((self._value, best))

    def result(self) -> Number | None:
        """The value."""
        return self._value


class Percentile:
    """Keeps every number, eight bytes each."""

    def __init__(self, percentile: float) -> None:
        self._percentile = percentile
        self._values = array("d")

    def update(self, values: Sequence[Any]) -> None:
        """Keep them."""
        self._values.extend(values)

    def result(self) -> Number | None:
        """Linear interpolation between the two nearest."""
        ordered = sorted(self._values)
        if not ordered:
            return None
        place = self._percentile / 100 * (len(ordered) - 1)
        low, high = math.floor(place), math.ceil(place)
        part = place - low
        found = ordered[low] + (ordered[high] - ordered[low]) * part
        return found if math.isfinite(found) else ordered[low] * (1 - part) + ordered[high] * part


class Median(Percentile):
    """The mean of the middle two, not an interpolation: large numbers do not overflow."""

    def __init__(self) -> None:
        super().__init__(50.0)

    def result(self) -> Number | None:
        """The median."""
        ordered = sorted(self._values)
        if not ordered:
            return None
        middle = len(ordered) // 2
        if len(ordered) % 2:
            return ordered[middle]
        return ordered[middle - 1] / 2 + ordered[middle] / 2


class Distinct:
    """Counts distinct values."""

    def __init__(self, *, by_type: bool = False) -> None:
        self._seen: set[Any] = set()
        self._by_type = by_type

    def update(self, values: Sequence[Any]) -> None:
        """Remember them."""
        if self._by_type:
            self._seen.update((type(value), value) for value in values)
        else:
            self._seen.update(values)

    def result(self) -> Number | None:
        """How many there are."""
        return len(self._seen)


def _add(values: Sequence[Any]) -> float:
    """The sum with one rounding; infinite where it is too large."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return float(sum(values))


def _drop_infinite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def create_state(spec: Aggregation, *, is_compat: bool = False) -> State:
    """The empty state of an aggregation other than count."""
    match spec.function:
        case "sum":
            return Sum()
        case "avg":
            return Average()
        case "min":
            return Extreme(min)
        case "max":
            return Extreme(max)
        case "percentile":
            is_lost = is_compat and bool(spec.group_by)
            return Percentile(0 if is_lost else spec.percentile or 0)
        case "distinct":
            return Distinct(by_type=is_compat)
        case "median":
            return Median()
        case "count":
            raise ValueError("count has no state of values")
