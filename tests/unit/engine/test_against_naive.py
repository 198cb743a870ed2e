"""The compiled engine against the naive one, on sources and objects that nobody wrote."""

import math
import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.engine.naive import NaiveSource, aggregate
from tests.unit.engine.sources import NOW, source

from quarterdeck.apis.clusterpulse.metric_source import (
    Aggregation,
    AggregationFilter,
    ComputedField,
    ComputedType,
    FieldExtraction,
)
from quarterdeck.engine import SourceError, compile_source
from quarterdeck.engine.expressions.functions import FUNCTIONS

EXAMPLES = 3000 if os.environ.get("QUARTERDECK_FULL") else 80
NOW_TEXT = "2026-11-15T12:00:00Z"

FIELDS = (
    FieldExtraction(name="i", path=".spec.i", type="integer"),
    FieldExtraction(name="j", path=".spec.j", type="integer", default="3"),
    FieldExtraction(name="f", path=".spec.f", type="float"),
    FieldExtraction(name="s", path=".spec.s"),
    FieldExtraction(name="t", path=".status.t", default="none"),
    FieldExtraction(name="b", path=".status.b", type="boolean"),
    FieldExtraction(name="q", path=".status.list[0].q", type="quantity"),
    FieldExtraction(name="ts", path=".metadata.creationTimestamp", type="timestamp"),
    FieldExtraction(name="n", path=".status.list", type="arrayLength"),
    FieldExtraction(name="d", path=".spec.d", type="duration"),
    FieldExtraction(name="all", path=".status.list[*].q", type="quantity"),
    FieldExtraction(name="ready", path='.status.list[?(@.k=="Ready")].v', type="boolean"),
)
NAMES = [field.name for field in FIELDS]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "a", "Ready", "1", "2.5", "500m", "1Gi", "true", "90s", NOW_TEXT, "é"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["k", "v", "q", "i"]), inner, max_size=3)
    ),
    max_leaves=4,
)
entries = st.fixed_dictionaries(
    {},
    optional={
        "q": st.sampled_from(["500m", "1Gi", "x", 3]) | json_values,
        "k": st.sampled_from(["Ready", "Other"]),
        "v": json_values,
    },
)
objects = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"name": st.sampled_from(["a", "b"])},
            optional={
                "namespace": st.sampled_from(["x", "y"]),
                "creationTimestamp": st.sampled_from(
                    [NOW_TEXT, "bad", None, "2020-02-30T00:00:00Z"]
                ),
            },
        )
    },
    optional={
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "i": st.integers(-5, 5) | json_values,
                "j": st.integers(-5, 5) | json_values,
                "f": st.floats(-10, 10) | json_values,
                "s": st.sampled_from(["a", "b", ""]) | json_values,
                "d": st.sampled_from(["1h", "bad", ""]) | json_values,
            },
        )
        | json_values,
        "status": st.fixed_dictionaries(
            {},
            optional={
                "t": st.sampled_from(["Running", "Pending"]) | json_values,
                "b": st.booleans() | json_values,
                "list": st.lists(entries, max_size=3) | json_values,
            },
        )
        | json_values,
    },
)

literals = st.sampled_from(
    ["null", "true", "false", "0", "1", "2", "0.5", "1e308", "'a'", "''", "'1'"]
) | st.integers(0, 1000).map(str)
BINARY = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "??"]


def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def call(name: str) -> st.SearchStrategy[str]:
        function = FUNCTIONS[name]
        most = (
            function.max_arguments
            if function.max_arguments is not None
            else function.min_arguments + 2
        )
        return st.lists(inner, min_size=function.min_arguments, max_size=most).map(
            lambda given: f"{name}({', '.join(given)})"
        )

    return st.one_of(
        st.tuples(inner, st.sampled_from(BINARY), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["-", "!"]), inner).map(lambda t: f"{t[0]}{t[1]}"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} ? {t[1]} : {t[2]})"),
        st.sampled_from(sorted(FUNCTIONS)).flatmap(call),
    )


expressions = st.recursive(literals | st.sampled_from([*NAMES, "name"]), combine, max_leaves=8)
TYPES: tuple[ComputedType, ...] = ("string", "integer", "float", "boolean")
types: st.SearchStrategy[ComputedType] = st.sampled_from(TYPES)
filters = st.builds(
    AggregationFilter,
    field=st.sampled_from([*NAMES, "c0"]),
    operator=st.sampled_from(
        [
            "equals",
            "notEquals",
            "contains",
            "startsWith",
            "endsWith",
            "greaterThan",
            "in",
            "matches",
        ]
    ),
    value=st.sampled_from(["1", "2.5", "0", "3"]),
)
aggregations = st.builds(
    Aggregation,
    name=st.just("result"),
    field=st.sampled_from([*NAMES, "c0", "c1"]),
    function=st.sampled_from(
        ["count", "sum", "avg", "min", "max", "percentile", "distinct", "median"]
    ),
    filter=st.none() | filters,
    group_by=st.sampled_from(["", "s", "t", "b", "i", "c0", "all"]),
    percentile=st.sampled_from([0, 50, 95, 100]),
)


def same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(same(found[k], wanted[k]) for k in wanted)
    if isinstance(wanted, float) and isinstance(found, int | float):
        return math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9)
    return bool(found == wanted)


def strictly_equal(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return found == wanted and [type(each) for each in found.values()] == [
        type(each) for each in wanted.values()
    ]


def draw_computed(data: st.DataObject, name: str) -> ComputedField:
    """A computed field that compiles; what the checker refuses is replaced by something simple."""
    field = ComputedField(name=name, expression=data.draw(expressions), type=data.draw(types))
    try:
        compile_source(source(*FIELDS, computed=[field]))
    except SourceError:
        return ComputedField(name=name, expression="i", type=field.type)
    return field


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(data=st.data(), batch=st.lists(objects, max_size=6))
def test_rows_are_those_of_the_naive_engine(data: st.DataObject, batch: list[Any]) -> None:
    spec = source(*FIELDS, computed=[draw_computed(data, f"c{index}") for index in range(3)])
    compiled = compile_source(spec)
    naive = NaiveSource(spec, now=NOW.timestamp(), now_text=NOW_TEXT)
    cut = data.draw(st.integers(0, len(batch)))
    collector = compiled.collector(now=NOW)
    found = [
        dict(row.values)
        for part in (batch[:cut], batch[cut:])
        for row in collector.feed(part).resources()
    ]
    wanted = naive.rows(batch)
    for given_row, wanted_row in zip(found, wanted, strict=True):
        assert strictly_equal(given_row, wanted_row), (given_row, wanted_row)


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(data=st.data(), batch=st.lists(objects, max_size=12))
def test_aggregations_are_those_of_the_naive_engine(data: st.DataObject, batch: list[Any]) -> None:
    computed = [draw_computed(data, "c0"), ComputedField(name="c1", expression="i + q")]
    wanted = data.draw(aggregations)
    spec = source(*FIELDS, computed=computed, aggregations=[wanted])
    compiled = compile_source(spec)
    rows = NaiveSource(spec, now=NOW.timestamp(), now_text=NOW_TEXT).rows(batch)
    cut = data.draw(st.integers(0, len(batch)))
    collector = compiled.collector(now=NOW)
    kept = [*collector.feed(batch[:cut]).resources(), *collector.feed(batch[cut:]).resources()]
    expected = aggregate(rows, wanted)
    if isinstance(expected, float) and not math.isfinite(expected):
        expected = None
    assert same(collector.finish()["result"], expected)
    assert same(compiled.aggregate(kept)["result"], expected)
