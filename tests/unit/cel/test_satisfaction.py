"""The short answer about new objects agrees with the one that says what is wrong."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.cel.rules.node import RuleNode
from quarterdeck.cel.rules.rule_set import QUICK_LIMIT, RuleSet, compile_rules
from quarterdeck.cel.rules.satisfaction import are_satisfied
from quarterdeck.meta.schema import from_openapi

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 5"}]},
        "parts": {
            "type": "array",
            "maxItems": 4,
            "items": {
                "type": "object",
                "properties": {"low": {"type": "integer"}, "high": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": "self.low <= self.high"}],
            },
        },
        "limits": {
            "type": "object",
            "maxProperties": 4,
            "additionalProperties": {
                "type": "integer",
                "x-kubernetes-validations": [{"rule": "self >= 0"}, {"rule": "self >= oldSelf"}],
            },
        },
    },
    "x-kubernetes-validations": [{"rule": "!has(self.size) || self.size != 3"}],
}


def compile_schema(schema: dict[str, Any]) -> tuple[RuleSet, RuleNode]:
    rules = compile_rules(from_openapi(schema))
    assert isinstance(rules, RuleSet)
    assert rules.root is not None
    return rules, rules.root


RULES, ROOT = compile_schema(SCHEMA)
numbers = st.one_of(st.integers(-1, 5), st.just(2.0), st.none())
objects = st.fixed_dictionaries(
    {},
    optional={
        "size": numbers,
        "parts": st.lists(
            st.one_of(
                st.none(),
                st.fixed_dictionaries({}, optional={"low": numbers, "high": numbers}),
            ),
            max_size=3,
        ),
        "limits": st.dictionaries(st.sampled_from("ab"), numbers),
    },
)


@settings(max_examples=300, deadline=None)
@given(objects)
def test_what_is_satisfied_has_no_errors(value: dict[str, Any]) -> None:
    errors = RULES.validate(value)
    assert RULES.validate_quickly(value) == errors
    assert are_satisfied(ROOT, value, size=200, budget=QUICK_LIMIT) == (errors == [])


def test_rules_that_could_cost_too_much_are_not_run() -> None:
    value = {"size": 1}
    assert are_satisfied(ROOT, value, size=200, budget=QUICK_LIMIT)
    assert not are_satisfied(ROOT, value, size=200, budget=1)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(
            {
                "type": "integer",
                "x-kubernetes-validations": [
                    {"rule": "!oldSelf.hasValue() || self > 1", "optionalOldSelf": True}
                ],
            },
            id="optional old value",
        ),
        pytest.param(
            {
                "type": "integer",
                "allOf": [{"x-kubernetes-validations": [{"rule": "self > 0"}]}],
            },
            id="all of",
        ),
    ],
)
def test_rules_of_unusual_kinds_are_left_to_the_long_way(schema: dict[str, Any]) -> None:
    rules, root = compile_schema({"type": "object", "properties": {"size": schema}})
    assert not are_satisfied(root, {"size": 1}, size=100, budget=QUICK_LIMIT)
    assert rules.validate_quickly({"size": 1}) == []
