"""Short ways to make sources and to evaluate one expression, for the tests of the engine."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from quarterdeck.apis.clusterpulse.metric_source import (
    Aggregation,
    AggregationFilter,
    ComputedField,
    ComputedType,
    ExpressionMode,
    FieldExtraction,
    FieldType,
    MetricSourceSpec,
    MetricTarget,
)
from quarterdeck.engine import CompiledSource, Resource, compile_source

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
PODS = MetricTarget(api_version="v1", kind="Pod")


def field(
    name: str, path: str = "", type_: FieldType = "string", default: str | None = None
) -> FieldExtraction:
    return FieldExtraction(name=name, path=path or f".{name}", type=type_, default=default)


def computed(name: str, expression: str, type_: ComputedType = "float") -> ComputedField:
    return ComputedField(name=name, expression=expression, type=type_)


def source(
    *fields: FieldExtraction,
    computed: Sequence[ComputedField] = (),
    aggregations: Sequence[Aggregation] = (),
    mode: ExpressionMode = "standard",
    target: MetricTarget = PODS,
) -> MetricSourceSpec:
    return MetricSourceSpec(
        source=target,
        fields=fields or (field("anything"),),
        computed=tuple(computed),
        aggregations=tuple(aggregations),
        expression_mode=mode,
    )


def type_of(value: object) -> FieldType:
    """The field type that keeps a Python value as it is."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return "float" if isinstance(value, float) else "string"


def evaluate(
    expression: str,
    values: Mapping[str, Any] | None = None,
    *,
    type_: ComputedType | None = None,
    mode: ExpressionMode = "standard",
) -> Any:
    """What a computed field is for one object with these values.

    Without a type every type is tried and the one that loses nothing is taken: text, then number.
    """
    values = values or {}
    fields = [field(name, type_=type_of(value)) for name, value in values.items()]
    types: tuple[ComputedType, ...] = (type_,) if type_ else ("string", "float", "boolean")
    spec = source(
        *fields,
        computed=[computed(f"result_{each}", expression, each) for each in types],
        mode=mode,
    )
    batch = compile_source(spec).collector(now=NOW).feed([dict(values)])
    found = {each: batch.columns[f"result_{each}"][0] for each in types}
    return found[type_] if type_ else found


def collect(spec: MetricSourceSpec, objects: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    batch = compile_source(spec).collector(now=NOW).feed(objects)
    return [dict(row.values) for row in batch.resources()]


def extract(
    obj: Mapping[str, Any],
    path: str,
    type_: FieldType = "string",
    default: str | None = None,
    *,
    mode: ExpressionMode = "standard",
) -> Any:
    """What one path finds in one object."""
    spec = source(field("value", path, type_, default), mode=mode)
    return collect(spec, [obj])[0]["value"]


def aggregate(
    rows: Iterable[Mapping[str, Any]],
    aggregation: Aggregation,
    *,
    mode: ExpressionMode = "standard",
) -> Any:
    """One aggregation over rows."""
    listed = list(rows)
    names = {name: value for row in listed for name, value in row.items()}
    names.setdefault(aggregation.field or "v", None)
    if aggregation.group_by:
        names.setdefault(aggregation.group_by, None)
    fields = [field(name, type_=type_of(value)) for name, value in names.items()]
    compiled: CompiledSource = compile_source(
        source(*fields, aggregations=[aggregation], mode=mode)
    )
    resources = [
        Resource(id=str(index), name=str(index), values=dict(row))
        for index, row in enumerate(listed)
    ]
    return compiled.aggregate(resources)[aggregation.name]


def aggregation(
    function: Any,
    field: str = "v",
    *,
    filter_: tuple[str, Any, str] | None = None,
    group_by: str = "",
    percentile: int | None = None,
) -> Aggregation:
    chosen = None
    if filter_ is not None:
        chosen = AggregationFilter(field=filter_[0], operator=filter_[1], value=filter_[2])
    return Aggregation(
        name="result",
        field="" if function == "count" else field,
        function=function,
        filter=chosen,
        group_by=group_by,
        percentile=percentile,
    )
