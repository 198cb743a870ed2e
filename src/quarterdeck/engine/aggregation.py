"""Aggregations: columns to running numbers, one batch after the other.

To add a function, write a state with `update` and `result`, and add it to `STATES`.
"""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any, Protocol

from quarterdeck.apis.clusterpulse.metric_source import Aggregation, AggregationFunction
from quarterdeck.engine import compat
from quarterdeck.engine.columns import Columns
from quarterdeck.engine.filters import CompiledFilter
from quarterdeck.engine.results import AggregationValue, Number
from quarterdeck.engine.values import LIST, NULL, NUMBER, TEXT, to_text

UNKNOWN_GROUP = "_unknown_"
"""The group of objects without a value to group by."""

_MOST_PARTS = 1000

FUNCTION_SUMMARIES: dict[AggregationFunction, str] = {
    "count": "The number of objects.",
    "sum": "The sum; 0 without numbers.",
    "avg": "The mean; null without numbers.",
    "min": "The smallest number; null without numbers.",
    "max": "The largest number; null without numbers.",
    "percentile": "The percentile by linear interpolation; null without numbers.",
    "distinct": "The number of different values that are not null.",
    "median": "The middle number, or the mean of the middle two; null without numbers.",
}


class State(Protocol):
    """What an aggregation knows so far."""

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
        return _finite(_add((self._whole, *self._parts)))


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
        """The middle."""
        ordered = sorted(self._values)
        if not ordered:
            return None
        middle = len(ordered) // 2
        if len(ordered) % 2:
            return ordered[middle]
        return ordered[middle - 1] / 2 + ordered[middle] / 2


class Distinct:
    """Every different value."""

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


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def new_state(spec: Aggregation, *, is_compat: bool = False) -> State:
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


class CompiledAggregation:
    """An aggregation that makes sense; `start` gives what counts one collection."""

    def __init__(
        self, spec: Aggregation, filter_: CompiledFilter | None, *, is_compat: bool = False
    ) -> None:
        self.spec = spec
        self.filter = filter_
        self.is_compat = is_compat

    def start(self) -> "Running":
        """A new count."""
        return Running(self)


class Running:
    """One aggregation over one collection."""

    def __init__(self, aggregation: CompiledAggregation) -> None:
        self._aggregation = aggregation
        self._spec = aggregation.spec
        self._count = 0
        self._counts: Counter[str] = Counter()
        self._states: dict[str, State] = {}
        if self._spec.function != "count" and not self._spec.group_by:
            self._states[""] = self._new()

    def _new(self) -> State:
        return new_state(self._spec, is_compat=self._aggregation.is_compat)

    def update(self, batch: "BatchView") -> None:
        """Take one batch."""
        mask = batch.mask(self._aggregation.filter)
        keys = batch.keys(self._spec.group_by, is_compat=self._aggregation.is_compat)
        if self._spec.function == "count":
            self._update_count(mask, keys, batch.size)
        else:
            self._update_values(batch, mask, keys)

    def _update_count(self, mask: list[bool] | None, keys: Sequence[str] | None, size: int) -> None:
        if keys is None:
            self._count += size if mask is None else mask.count(True)
        else:
            self._counts.update(keys if mask is None else compress(keys, mask))

    def _update_values(
        self, batch: "BatchView", mask: list[bool] | None, keys: Sequence[str] | None
    ) -> None:
        wants_numbers = self._spec.function != "distinct"
        values, counted = batch.values(self._spec.field, mask, numbers=wants_numbers)
        if keys is None:
            self._states[""].update(values)
            return
        for key in set(keys if mask is None else compress(keys, mask)) - self._states.keys():
            self._states[key] = self._new()
        groups: defaultdict[str, list[Any]] = defaultdict(list)
        chosen = keys if counted is None else compress(keys, counted)
        for key, value in zip(chosen, values, strict=True):
            groups[key].append(value)
        for key, members in groups.items():
            self._states[key].update(members)

    def result(self) -> AggregationValue:
        """The number, or one per group."""
        if self._spec.group_by:
            if self._spec.function == "count":
                return dict(self._counts)
            return {key: state.result() for key, state in self._states.items()}
        return self._count if self._spec.function == "count" else self._states[""].result()


class BatchView:
    """Columns of a batch as aggregations look at them; what several need is made once."""

    def __init__(self, columns: Columns, size: int) -> None:
        self.size = size
        self._columns = columns
        self._masks: dict[int, list[bool]] = {}
        self._keys: dict[str, Sequence[str]] = {}

    def mask(self, filter_: CompiledFilter | None) -> list[bool] | None:
        """Which objects pass a filter; None is all of them."""
        if filter_ is None:
            return None
        known = self._masks.get(id(filter_))
        if known is None:
            known = self._masks[id(filter_)] = filter_.select(
                self._columns[filter_.field], self._columns.kinds(filter_.field)
            )
        return known

    def keys(self, field: str, *, is_compat: bool) -> Sequence[str] | None:
        """The group of each object; None without groups."""
        if not field:
            return None
        if field not in self._keys:
            self._keys[field] = self._make_keys(field, is_compat=is_compat)
        return self._keys[field]

    def _make_keys(self, field: str, *, is_compat: bool) -> Sequence[str]:
        column = self._columns.get(field)
        if column is None:
            return [UNKNOWN_GROUP] * self.size
        kinds = self._columns.kinds(field)
        if kinds == TEXT:
            return column
        if is_compat:
            return [compat.group_key(value) for value in column]
        return [UNKNOWN_GROUP if value is None else to_text(value) for value in column]

    def values(
        self, field: str, mask: list[bool] | None, *, numbers: bool
    ) -> tuple[Sequence[Any], list[bool] | None]:
        """The values that count, and which objects they belong to."""
        column = self._columns[field]
        kinds = self._columns.kinds(field)
        if kinds == NUMBER or (not numbers and not kinds & (NULL | LIST)):
            return (column if mask is None else list(compress(column, mask))), mask
        if numbers:
            counts = [type(value) is int or type(value) is float for value in column]
        else:
            counts = [value is not None for value in column]
        if mask is not None:
            counts = [first and second for first, second in zip(counts, mask, strict=True)]
        chosen = list(compress(column, counts))
        if not numbers and kinds & LIST:
            chosen = [to_text(value) if type(value) is list else value for value in chosen]
        return chosen, counts
