"""Alert rules over aggregations: what holds, for which group, and what is a mistake."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.apis.clusterpulse.metric_source import MetricSourceSpec
from quarterdeck.engine import SourceError, compile_source, validate_fields
from quarterdeck.engine.alerts import CompiledAlert

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def spec(*rules: dict[str, Any]) -> MetricSourceSpec:
    document = {
        "source": {"apiVersion": "v1", "kind": "Pod"},
        "fields": [{"name": "size", "path": ".spec.size", "type": "integer"}],
        "aggregations": [
            {"name": "total", "field": "size", "function": "sum"},
            {"name": "objects", "function": "count"},
            {"name": "by_space", "function": "count", "groupBy": "namespace"},
        ],
        "alerts": list(rules),
    }
    return msgspec.convert(document, MetricSourceSpec)


def rule(expression: str, **more: Any) -> CompiledAlert:
    [found] = compile_source(spec({"name": "r", "expression": expression, **more})).alerts
    return found


def test_a_rule_holds_when_its_expression_does() -> None:
    alert = rule("total / objects > 20")
    assert alert.names == ("objects", "total")
    assert alert.evaluate({"total": 60, "objects": 3, "by_space": {}}, NOW) == []
    [found] = alert.evaluate({"total": 63, "objects": 3}, NOW)
    assert (found.group, found.values) == ("", {"objects": 3, "total": 63})
    assert found.describe() == "total / objects > 20 (objects = 3, total = 63)"


def test_a_rule_is_judged_for_each_group() -> None:
    alert = rule("by_space > 2 && total > 0", message="many objects")
    values: dict[str, Any] = {"by_space": {"a": 5, "b": 1, "c": 3}, "total": 9, "objects": 9}
    found = alert.evaluate(values, NOW)
    assert [each.group for each in found] == ["a", "c"]
    assert found[0].describe() == "a: many objects (by_space = 5, total = 9)"


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"total": None, "objects": 3}, id="null"),
        pytest.param({"objects": 3}, id="hidden from the viewer"),
        pytest.param({}, id="nothing collected"),
    ],
)
def test_a_value_that_is_not_there_is_no_alert(values: dict[str, Any]) -> None:
    assert rule("total > 20").evaluate(values, NOW) == []


@given(
    groups=st.dictionaries(st.text(max_size=5), st.integers(0, 100) | st.none()),
    limit=st.integers(0, 100),
)
def test_exactly_the_groups_over_the_limit_alert(groups: dict[str, int | None], limit: int) -> None:
    found = rule(f"by_space > {limit}").evaluate({"by_space": dict(groups)}, NOW)
    wanted = sorted(name for name, value in groups.items() if value is not None and value > limit)
    assert [each.group for each in found] == wanted


def test_mistakes_of_rules_are_named_with_their_place() -> None:
    wrong = spec(
        {"name": "a", "expression": "totl > 1"},
        {"name": "b", "expression": "total >"},
        {"name": "b", "expression": "total > 1"},
    )
    with pytest.raises(SourceError) as caught:
        compile_source(wrong)
    text = str(caught.value)
    assert "spec.alerts[0].expression (a)" in text
    assert "did you mean total?" in text
    assert "spec.alerts[1].expression (b)" in text
    assert "spec.alerts[2].name (b): duplicate alert name" in text
    verdicts = {each.field: each.status for each in validate_fields(wrong)}
    assert (verdicts["a"], verdicts["total"]) == ("invalid", "valid")


@pytest.mark.parametrize(
    "expression", ["total + 1", "total", "1", "null", 'if(total > 1, "a", "b")']
)
def test_an_expression_that_is_no_condition_is_refused(expression: str) -> None:
    with pytest.raises(SourceError, match="the expression must be a condition, got"):
        compile_source(spec({"name": "a", "expression": expression}))


@pytest.mark.parametrize("expression", ["!total", "true", "total > 1 ? true : total", "total && 1"])
def test_an_expression_that_can_be_true_or_false_is_taken(expression: str) -> None:
    assert rule(expression).rule.expression == expression


def test_a_field_is_no_aggregation() -> None:
    with pytest.raises(SourceError, match="size"):
        compile_source(spec({"name": "a", "expression": "size > 1"}))


def test_the_definition_has_the_rules_only_where_there_are_any() -> None:
    compiled = compile_source(spec({"name": "a", "expression": "total > 1", "forSeconds": 60}))
    place = {"name": "n", "namespace": "d", "resource": "pods", "compiled_at": ""}
    assert compiled.definition(**place)["alerts"] == [
        {
            "name": "a",
            "expression": "total > 1",
            "forSeconds": 60,
            "severity": "warning",
            "message": "",
        }
    ]
    assert "alerts" not in compile_source(spec()).definition(**place)
