"""Builds `status.fieldValidation` of fields, computed fields, aggregations and alerts."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from quarterdeck.apis.clusterpulse.metric_source import (
    Aggregation,
    FieldExtraction,
    FieldValidation,
    MetricSourceSpec,
)
from quarterdeck.engine.builder import Builder
from quarterdeck.engine.conversion import is_default_valid
from quarterdeck.engine.errors import Problem
from quarterdeck.engine.paths import NoMatch
from quarterdeck.engine.values import NUMBER

_NUMERIC_FUNCTIONS = frozenset({"sum", "avg", "min", "max", "percentile", "median"})


class Coverage(Protocol):
    """What a collection found: a `Collector`, or its stored result."""

    @property
    def count(self) -> int:
        """Objects kept."""
        ...

    @property
    def found(self) -> Collection[str]:
        """Fields that at least one object had."""
        ...

    @property
    def converted(self) -> Collection[str]:
        """Fields and computed fields that had a value for at least one object."""
        ...


def validate_fields(
    spec: MetricSourceSpec, collectors: Sequence[Coverage] = ()
) -> tuple[FieldValidation, ...]:
    """Validate a spec by itself, and by what its collections have found.

    With collectors, a field without a default that no object had is a warning.
    """
    builder = Builder(spec)
    builder.build()
    return tuple(_Validator(spec, builder, collectors).validate())


class _Validator:
    def __init__(
        self, spec: MetricSourceSpec, builder: Builder, collectors: Sequence[Coverage]
    ) -> None:
        self._spec = spec
        self._builder = builder
        self._fed = [collector for collector in collectors if collector.count]
        self._problems: dict[tuple[str, str], list[Problem]] = defaultdict(list)
        for problem in builder.problems:
            self._problems[problem.field.partition("[")[0], problem.name].append(problem)

    def validate(self) -> Iterator[FieldValidation]:
        for field in self._spec.fields:
            yield self._build_validation("fields", field.name, self._find_doubt_of_field(field))
        for computed in self._spec.computed:
            yield self._build_validation(
                "computed", computed.name, self._find_doubt_of_computed(computed.name)
            )
        for aggregation in self._spec.aggregations:
            doubt = self._find_doubt_of_aggregation(aggregation)
            yield self._build_validation("aggregations", aggregation.name, doubt)
        for rule in self._spec.alerts:
            yield self._build_validation("alerts", rule.name, "")

    def _build_validation(self, part: str, name: str, doubt: str) -> FieldValidation:
        if problems := self._problems.get((part, name)):
            message = "; ".join(str(problem) for problem in problems)
            return FieldValidation(field=name, status="invalid", message=message)
        if doubt:
            return FieldValidation(field=name, status="warning", message=doubt)
        return FieldValidation(field=name, status="valid")

    def _find_doubt_of_field(self, field: FieldExtraction) -> str:
        path = next((each.path for each in self._builder.fields if each.name == field.name), ())
        for step in path:
            if isinstance(step, NoMatch):
                return (
                    f"[{step.text}] in {field.path} never finds anything; write a number, *, "
                    "a quoted key or a condition"
                )
        if field.default is not None and not is_default_valid(field.type, field.default):
            return f"default {field.default!r} cannot be read as {field.type}"
        if not self._fed:
            return ""
        if not any(field.name in collector.found for collector in self._fed):
            if field.default is not None:
                return ""
            return f"no object had anything at {field.path}; check the path"
        if not any(field.name in collector.converted for collector in self._fed):
            return f"no value at {field.path} could be read as {field.type}; check the type"
        return ""

    def _find_doubt_of_computed(self, name: str) -> str:
        if not self._fed or any(name in collector.converted for collector in self._fed):
            return ""
        return "the value is null for every object; check the fields it is computed from"

    def _find_doubt_of_aggregation(self, aggregation: Aggregation) -> str:
        if aggregation.function == "percentile" and aggregation.percentile is None:
            return "percentile is not set, so 0 (the minimum) is computed; set percentile"
        kinds = self._builder.kinds.get(aggregation.field, NUMBER)
        if aggregation.function in _NUMERIC_FUNCTIONS and not kinds & NUMBER:
            return f"{aggregation.field} has no numbers, so there is nothing to compute"
        return ""
