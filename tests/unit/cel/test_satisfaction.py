"""The short answer about new objects agrees with the one that says what is wrong."""

from typing import Any

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.cel.rules.fixed import are_fixed_rules_satisfied, find_fixed_rules
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


@settings(max_examples=count_examples(300), deadline=None)
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


FIXED_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {
            "type": "integer",
            "x-kubernetes-validations": [{"rule": "self < 5"}, {"rule": "self >= oldSelf"}],
        },
        "parts": {
            "type": "array",
            "items": {"type": "object"},
            "x-kubernetes-validations": [{"rule": "self.size() < 3"}],
        },
        "limits": {
            "type": "object",
            "properties": {"low": {"type": "integer"}, "high": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.low <= self.high"}],
        },
    },
    "x-kubernetes-validations": [{"rule": "!has(self.size) || self.size != 3"}],
}
FIXED_RULES, FIXED_ROOT = compile_schema(FIXED_SCHEMA)
FIXED = find_fixed_rules(FIXED_ROOT, QUICK_LIMIT)


@settings(max_examples=count_examples(100), deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "size": st.one_of(numbers, st.just("x")),
            "parts": st.one_of(st.lists(st.just({}), max_size=4), st.none(), st.just({})),
            "limits": st.one_of(
                st.fixed_dictionaries({}, optional={"low": numbers, "high": numbers}),
                st.none(),
                st.just([]),
            ),
        },
    )
)
def test_fixed_rules_hold_where_no_rule_has_a_complaint(value: dict[str, Any]) -> None:
    assert FIXED is not None
    errors = FIXED_RULES.validate(value)
    assert are_fixed_rules_satisfied(FIXED, value) == (errors == [])
    assert FIXED_RULES.validate_quickly(value) == errors


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(SCHEMA, id="below a list"),
        pytest.param(
            {
                "type": "object",
                "properties": {"text": {"type": "string", "maxLength": 1_000_000}},
                "x-kubernetes-validations": [{"rule": "self.text.matches('a+b+c+')"}],
            },
            id="cost depends on size",
        ),
    ],
)
def test_rules_whose_cost_depends_on_the_object_are_not_fixed(schema: dict[str, Any]) -> None:
    _, root = compile_schema(schema)
    assert find_fixed_rules(root, QUICK_LIMIT) is None
