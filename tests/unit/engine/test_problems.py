"""What is wrong with a source is said all at once, with its place and what to do."""

from typing import Any

import msgspec
import pytest
from tests.unit.engine.sources import NOW, aggregation, collect, computed, evaluate, field, source

from quarterdeck.apis.clusterpulse.metric_source import (
    AlertRule,
    Collection,
    MetricSourceSpec,
    MetricTarget,
)
from quarterdeck.engine import Problem, SourceError, compile_source, validate_fields


def problems(spec: MetricSourceSpec) -> tuple[Problem, ...]:
    with pytest.raises(SourceError) as caught:
        compile_source(spec)
    return caught.value.problems


@pytest.mark.parametrize(
    ("expression", "position", "message", "hint"),
    [
        ("a = 1", 2, "unexpected character '='", "use == to compare"),
        ("a & b", 2, "unexpected character '&'", "use && for and"),
        ("a.b", 1, "unexpected character '.'", "names have no dots"),
        ("1 2", 2, "unexpected number '2'", "put an operator"),
        ("1 +", 3, "unexpected end of the expression", "write a value"),
        ("(1 + 2", 6, "expected ')', found end", "close the parenthesis"),
        ("min(1", 5, "expected ')'", "close the arguments of min"),
        ("a ? b", 5, "expected ':'", "test ? then : otherwise"),
        ("'abc", 0, "the string is not closed", "close it with '"),
        ("1 < 2 < 3", 6, "comparisons cannot be chained", "a < b && b < c"),
        ("nosuch(1)", 0, "unknown function 'nosuch'", ""),
        ("rund(1)", 0, "unknown function 'rund'", "did you mean round"),
        ("min(1)", 0, "min takes 2 arguments, not 1", "write min(a, b)"),
        ("round()", 0, "round takes 1 to 2 arguments, not 0", "write round(number[, decimals])"),
        ("concat()", 0, "concat takes 1 or more arguments", ""),
        ("lower('a', 'b')", 0, "lower takes 1 argument, not 2", ""),
        ("replcas + 1", 0, "unknown field 'replcas'", "did you mean replicas"),
        ("1 + phase * 2", 4, "* requires a number, got text", "toNumber()"),
        ("phase > 3", 6, "> cannot compare text with a number", "toNumber()"),
        ("matches(phase, '(')", 15, "the pattern is not a regular expression", ""),
        ("sum(replicas)", 4, "sum requires a list", "[*]"),
        ("1e999", 0, "the number is too large", ""),
        ("$x", 0, "unexpected character '$'", ""),
    ],
)
def test_expressions_are_refused_at_their_place(
    expression: str, position: int, message: str, hint: str
) -> None:
    fields = [field("replicas", type_="integer"), field("phase"), field("a"), field("b")]
    (problem, *_) = problems(source(*fields, computed=[computed("c", expression)]))
    assert message in problem.message
    assert problem.position == position
    assert hint in problem.hint
    assert problem.field == "computed[0].expression"
    assert f"at column {position + 1}" in str(problem)


def test_every_problem_is_named_at_once() -> None:
    spec = source(
        field("a", ".x["),
        field("a", ".y"),
        field("b", "."),
        computed=[computed("c", "nosuch(1) + missing"), computed("b", "1"), computed("", "1")],
        aggregations=[
            aggregation("sum", "missing"),
            aggregation("count", filter_=("a", "matches", "(")),
            aggregation("count", filter_=("a", "greaterThan", "many"), group_by="gone"),
        ],
        target=MetricTarget(api_version="", kind=""),
    )
    found = {problem.field: problem.message for problem in problems(spec)}
    assert found == {
        "source.apiVersion": "source.apiVersion is required",
        "source.kind": "source.kind is required",
        "fields[0].path": "the bracket is not closed",
        "fields[1].name": "duplicate field name",
        "fields[2].path": "path cannot be empty",
        "computed[0].expression": "unknown field 'missing'",
        "computed[1].name": "computed field name conflicts with extracted field",
        "computed[2].name": "computed field name cannot be empty",
        "aggregations[0].field": "unknown field 'missing'",
        "aggregations[1].name": "duplicate aggregation name",
        "aggregations[1].filter.value": found["aggregations[1].filter.value"],
        "aggregations[2].name": "duplicate aggregation name",
        "aggregations[2].filter.value": "'many' is not a number",
        "aggregations[2].groupBy": "unknown field 'gone'",
    }


@pytest.mark.parametrize(
    ("path", "position"),
    [
        (".a[", 2),
        (".a['x", 2),
        (".a['x'", 2),
        (".a[]", 2),
        (".a[?(@.x==)]", 10),
        (".a[?(x)]", 5),
        (".a[?@.x]", 4),
        (".a[?(@.x=='y']", 13),
    ],
)
def test_paths_are_refused_at_their_place(path: str, position: int) -> None:
    (problem,) = problems(source(field("a", path)))
    assert problem.position == position
    assert problem.hint


def test_a_longer_cycle_is_named() -> None:
    chain = [computed("a", "b"), computed("b", "c + x"), computed("c", "a"), computed("d", "a")]
    (problem,) = problems(source(field("x", type_="float"), computed=chain))
    assert "cycle: a → b → c → a" in problem.message
    (problem,) = problems(source(computed=[computed("a", "a + 1")]))
    assert "cycle: a → a" in problem.message


def test_validation_judges_every_entry() -> None:
    spec = source(
        field("good", ".metadata.name"),
        field("absent", ".metadata.nothing"),
        field("optional", ".metadata.nothing", default="x"),
        field("wrong", ".metadata.name", "quantity"),
        field("strange", ".a[b]"),
        field("number", ".x", "integer", "many"),
        computed=[computed("fine", "len(good)"), computed("bad", "nosuch()")],
        aggregations=[aggregation("percentile", "fine")],
    )
    alone = {each.field: each.status for each in validate_fields(spec)}
    assert alone == {
        "good": "valid",
        "absent": "valid",
        "optional": "valid",
        "wrong": "valid",
        "strange": "warning",
        "number": "warning",
        "fine": "valid",
        "bad": "invalid",
        "result": "warning",
    }


def test_validation_knows_what_a_collection_found() -> None:
    spec = source(
        field("good", ".metadata.name"),
        field("absent", ".metadata.nothing"),
        field("optional", ".metadata.nothing", default="x"),
        field("wrong", ".metadata.name", "quantity"),
    )
    collector = compile_source(spec).collector(now=NOW)
    collector.feed([{"metadata": {"name": "web"}}])
    found = {each.field: each for each in validate_fields(spec, (collector,))}
    assert [each.status for each in found.values()] == ["valid", "warning", "valid", "warning"]
    assert found["absent"].message == (
        "no object had anything at .metadata.nothing; check the path"
    )
    assert "could be read as quantity" in found["wrong"].message


HOSTILE: list[Any] = [
    pytest.param("1+" * 500_000 + "1", id="a megabyte"),
    pytest.param("(" * 4000 + "1" + ")" * 4000, id="parentheses"),
    pytest.param("-" * 8000 + "1", id="signs"),
    pytest.param("!" * 8000 + "1", id="nots"),
    pytest.param("1" + "+1" * 4000, id="sums"),
    pytest.param("abs(" * 2000 + "1", id="calls"),
    pytest.param("1?" * 4000, id="conditions"),
    pytest.param("concat(" + ",".join(["1"] * 4000) + ")", id="arguments"),
    pytest.param("9" * 8000, id="digits"),
    pytest.param("'" + "\\" * 8000, id="backslashes"),
    pytest.param("null" + "??null" * 1300, id="coalescing"),
    pytest.param("\x00" * 8000, id="zeros"),
    pytest.param("a" * 8000, id="a long name"),
]


@pytest.mark.parametrize("expression", HOSTILE)
@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_hostile_expressions_are_refused_or_evaluated(expression: str, mode: Any) -> None:
    try:
        evaluate(expression, type_="float", mode=mode)
    except SourceError as error:
        assert len(str(error)) < 20_000


def test_the_deepest_allowed_expressions_compile() -> None:
    for inner in ("coalesce({}, null)", "({} + a)", "-{}", "round({}, 1)", "concat({}, b)"):
        text = "a"
        for _ in range(45):
            text = inner.format(text)
        row = collect(
            source(field("a", type_="float"), field("b"), computed=[computed("c", text, "string")]),
            [{"a": 1.0, "b": "x"}, {"a": None}],
        )
        assert len(row) == 2


@pytest.mark.parametrize("operator", ["||", "&&"])
def test_long_conditions_are_not_deep(operator: str) -> None:
    text = f" {operator} ".join(f"phase == 'p{number}'" for number in range(300))
    spec = source(field("phase"), computed=[computed("found", text, "boolean")])
    wanted = operator == "||"
    assert collect(spec, [{"phase": "p299"}])[0]["found"] is wanted


def test_numbers_that_no_store_can_keep_are_null() -> None:
    huge = {"a": 1e308}
    assert evaluate("a * 10", huge, type_="float") is None
    assert evaluate("a * 10 - a * 10", huge, type_="float") is None
    assert evaluate("a * 10", huge, type_="integer") is None
    assert evaluate("a", huge, type_="integer") is None
    assert evaluate("round(a * 10, 2)", huge, type_="float") is None
    assert evaluate("floor(a * 10) % 3", huge, type_="float") is None
    assert evaluate("round(1.5, 400)", type_="float") == 1.5
    assert evaluate("round(1.5, -400)", type_="float") == 0.0


def test_texts_cannot_grow_without_bound() -> None:
    doubling = [computed("c0", "s + s", "string")]
    doubling += [computed(f"c{n}", f"c{n - 1} + c{n - 1}", "string") for n in range(1, 60)]
    row = collect(source(field("s"), computed=doubling), [{"s": "x" * 100}])[0]
    assert row["c59"] is None
    assert max(len(text) for text in row.values() if text) <= 65536
    spec = source(
        field("s"), computed=[computed("r", "replace(replace(s, 'x', s), 'x', s)", "string")]
    )
    assert collect(spec, [{"s": "x" * 10_000}])[0]["r"] == ""


def test_catastrophic_patterns_are_linear() -> None:
    text = "a" * 20_000 + "!"
    spec = source(
        field("s"),
        computed=[computed("m", "matches(s, '^(a+)+$')", "boolean")],
        aggregations=[aggregation("count", filter_=("s", "matches", "^(a|a)*$"))],
    )
    collector = compile_source(spec).collector(now=NOW)
    assert collector.feed([{"s": text}]).columns["m"] == [False]
    assert collector.finish()["result"] == 0


def test_a_collection_stops_at_its_limit() -> None:
    spec = source(field("n", ".n", "integer"), aggregations=[aggregation("sum", "n")])
    collector = compile_source(spec).collector(now=NOW, limit=5)
    assert len(collector.feed([{"n": number} for number in range(3)])) == 3
    assert not collector.is_full
    assert len(collector.feed([{"n": number} for number in range(3)])) == 2
    assert (collector.is_full, collector.is_truncated, collector.count) == (True, True, 5)
    assert len(collector.feed([{"n": 1}])) == 0
    assert collector.finish() == {"result": 4}
    assert Collection().max_resources == 5000


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (MetricTarget(api_version="v1", kind="Secret"), "Secrets are never collected"),
        (MetricTarget(api_version="v1", kind="X", resource="secrets"), "Secrets are never"),
        (MetricTarget(api_version="a/b/c", kind="Pod"), "'a/b/c' is not an API version"),
        (MetricTarget(api_version="apps/", kind="Pod"), "write VERSION or GROUP/VERSION"),
    ],
)
def test_objects_that_cannot_be_collected_are_refused(target: MetricTarget, text: str) -> None:
    spec = msgspec.structs.replace(source(field("a")), source=target)
    [problem] = problems(spec)
    assert text in str(problem)


def test_secrets_of_other_groups_may_be_collected() -> None:
    target = MetricTarget(api_version="vault.example.com/v1", kind="Secret")
    compile_source(msgspec.structs.replace(source(field("a")), source=target))


def test_alert_names_aggregations() -> None:
    rule = AlertRule(name="Many", expression="zzz > 1")
    [problem] = problems(msgspec.structs.replace(source(field("a")), alerts=(rule,)))
    assert "unknown aggregation 'zzz'" in str(problem)
    assert problem.hint == "add an aggregation called zzz"
