"""Whatever is written in a source, or stands in an object, the engine answers; it never breaks."""

import math
from typing import Any, get_args

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine.sources import NOW, aggregation, computed, field, source

from quarterdeck.apis.clusterpulse.metric_source import ExpressionMode, FilterOperator
from quarterdeck.engine import SourceError, compile_source, validate_fields
from quarterdeck.engine.expressions.errors import ExpressionError
from quarterdeck.engine.expressions.parser import parse
from quarterdeck.engine.filters import FilterError, compile_predicate
from quarterdeck.engine.paths import PathError, format_segments, parse_compat_path, parse_path

SIGNS = [*"()+-*/%<>!?:,'\"\\ .[]@&|=$", "==", "&&", "||", "??", "?(", "[*]", "[-1]", "\x00", "\n"]
WORDS = ["a", "b1", "null", "true", "1", "2.5", "1e9", "'x'", "coalesce(", "if(", "min(", "é"]
PIECES = st.sampled_from([*SIGNS, *WORDS])
written = st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=30)
modes: st.SearchStrategy[ExpressionMode] = st.sampled_from(["standard", "compat"])
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["a", "b", "metadata", "name", "labels"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(written, st.booleans())
def test_expressions_are_read_or_refused_at_a_place(text: str, compat: bool) -> None:
    try:
        parse(text, compat=compat)
    except ExpressionError as error:
        assert 0 <= error.position <= len(text)
        assert error.message


@given(written)
def test_paths_are_read_or_refused_at_a_place(text: str) -> None:
    assert isinstance(format_segments(parse_compat_path(text)), list)
    try:
        assert format_segments(parse_path(text))
    except PathError as error:
        assert 0 <= error.position <= max(len(text), 1)
        assert error.message


@given(written, st.sampled_from(get_args(FilterOperator)), documents)
def test_filters_work_or_are_refused(wanted: str, operator: FilterOperator, value: Any) -> None:
    try:
        test = compile_predicate(operator, wanted)
    except FilterError as error:
        assert error.message
    else:
        assert test(value) in (True, False)


@given(written, written, modes, st.lists(st.dictionaries(st.sampled_from("ab"), documents)))
def test_sources_collect_from_anything_or_are_refused(
    path: str, expression: str, mode: ExpressionMode, objects: list[Any]
) -> None:
    spec = source(
        field("a", path),
        field("b1", ".a", "float"),
        computed=[computed("c", expression), computed("d", expression, "string")],
        aggregations=[aggregation("sum", "c", group_by="a"), aggregation("distinct", "d")],
        mode=mode,
    )
    spec = msgspec.structs.replace(
        spec,
        aggregations=(
            *(
                msgspec.structs.replace(each, name=str(n))
                for n, each in enumerate(spec.aggregations)
            ),
        ),
    )
    statuses = {each.field: each.status for each in validate_fields(spec)}
    assert len(statuses) == 6
    try:
        compiled = compile_source(spec)
    except SourceError as error:
        assert error.problems
        assert "invalid" in statuses.values()
        return
    assert "invalid" not in statuses.values()
    collector = compiled.collector(now=NOW)
    rows = collector.feed(objects).resources()
    assert len(rows) == len(objects)
    numbers = [value for row in rows for value in row.values.values() if isinstance(value, float)]
    assert all(map(math.isfinite, numbers))
    assert msgspec.json.encode([rows, collector.finish()])
