"""Computes aggregations over the columns of a collection, batch by batch.

The state of each function between batches is in `states`; this module selects its values.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import compress
from math import isfinite
from typing import Any

from quarterdeck.apis.clusterpulse.metric_source import Aggregation, AggregationFunction
from quarterdeck.engine import compat
from quarterdeck.engine.columns import Columns
from quarterdeck.engine.filters import CompiledFilter
from quarterdeck.engine.results import AggregationValue, Number
from quarterdeck.engine.states import State, create_state
from quarterdeck.engine.values import LIST, NULL, NUMBER, TEXT, to_text

UNKNOWN_GROUP = "_unknown_"
"""The group of objects without a value to group by."""

FUNCTION_SUMMARIES: dict[AggregationFunction, str] = {
    "count": "The number of objects.",
    "sum": "The sum; 0 if there are no numbers.",
    "avg": "The mean; null if there are no numbers.",
    "min": "The smallest number; null if there are no numbers.",
    "max": "The largest number; null if there are no numbers.",
    "percentile": "The percentile by linear interpolation; null if there are no numbers.",
    "distinct": "The number of different values that are not null.",
    "median": "The middle number, or the mean of the middle two; null if there are no numbers.",
}


class CompiledAggregation:
    """A valid aggregation; `start` begins one collection."""

    def __init__(
        self, spec: Aggregation, filter_: CompiledFilter | None, *, is_compat: bool = False
    ) -> None:
        self.spec = spec
        self.filter = filter_
        self.is_compat = is_compat

    def start(self) -> "RunningAggregation":
        """Start the aggregation of one collection."""
        return RunningAggregation(self)


class RunningAggregation:
    """One aggregation over one collection."""

    def __init__(self, aggregation: CompiledAggregation) -> None:
        self._aggregation = aggregation
        self._spec = aggregation.spec
        self._count = 0
        self._counts: Counter[str] = Counter()
        self._sums: dict[str, Number] = {}
        self._states: dict[str, State] = {}
        if self._spec.function != "count" and not self._spec.group_by:
            self._states[""] = self._create_state()

    def _create_state(self) -> State:
        return create_state(self._spec, is_compat=self._aggregation.is_compat)

    def update(self, batch: "BatchView") -> None:
        """Add one batch."""
        mask = batch.select_rows(self._aggregation.filter)
        keys = batch.group_rows(self._spec.group_by, is_compat=self._aggregation.is_compat)
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
        values, counted = batch.select_values(self._spec.field, mask, numbers=wants_numbers)
        if keys is None:
            self._states[""].update(values)
            return
        present = set(keys if mask is None else compress(keys, mask))
        chosen = keys if counted is None else list(compress(keys, counted))
        if self._spec.function == "sum":
            self._update_sums(present, chosen, values)
            return
        for key in present - self._states.keys():
            self._states[key] = self._create_state()
        groups: defaultdict[str, list[Any]] = defaultdict(list)
        for key, value in zip(chosen, values, strict=True):
            groups[key].append(value)
        for key, members in groups.items():
            self._states[key].update(members)

    def _update_sums(self, present: set[str], keys: Sequence[str], values: Sequence[Any]) -> None:
        """Sums by group: groups are many and small, so a state for each would cost more."""
        sums = self._sums
        for key in present - sums.keys():
            sums[key] = 0
        for key, value in zip(keys, values, strict=True):
            sums[key] += value

    def result(self) -> AggregationValue:
        """The number, or one per group."""
        if self._spec.group_by:
            if self._spec.function == "count":
                return dict(self._counts)
            if self._spec.function == "sum":
                return {
                    key: total if isfinite(total) else None for key, total in self._sums.items()
                }
            return {key: state.result() for key, state in self._states.items()}
        return self._count if self._spec.function == "count" else self._states[""].result()


class BatchView:
    """Masks, groups and values of a batch; what several aggregations need is computed once."""

    def __init__(self, columns: Columns, size: int) -> None:
        self.size = size
        self._columns = columns
        self._masks: dict[int, list[bool]] = {}
        self._keys: dict[str, Sequence[str]] = {}

    def select_rows(self, filter_: CompiledFilter | None) -> list[bool] | None:
        """Return which objects match a filter; None means all."""
        if filter_ is None:
            return None
        known = self._masks.get(id(filter_))
        if known is None:
            known = self._masks[id(filter_)] = filter_.select(
                self._columns[filter_.field], self._columns.get_kinds(filter_.field)
            )
        return known

    def group_rows(self, field: str, *, is_compat: bool) -> Sequence[str] | None:
        """Return the group of each object; None without groups."""
        if not field:
            return None
        if field not in self._keys:
            self._keys[field] = self._make_keys(field, is_compat=is_compat)
        return self._keys[field]

    def _make_keys(self, field: str, *, is_compat: bool) -> Sequence[str]:
        column = self._columns.get(field)
        if column is None:
            return [UNKNOWN_GROUP] * self.size
        kinds = self._columns.get_kinds(field)
        if kinds == TEXT:
            return column
        if is_compat:
            return [compat.group_key(value) for value in column]
        return [UNKNOWN_GROUP if value is None else to_text(value) for value in column]

    def select_values(
        self, field: str, mask: list[bool] | None, *, numbers: bool
    ) -> tuple[Sequence[Any], list[bool] | None]:
        """Return the values that count, and which objects they belong to."""
        column = self._columns[field]
        kinds = self._columns.get_kinds(field)
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
