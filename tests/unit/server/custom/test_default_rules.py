"""Defaults that the rules of their schema refuse: the words are those of kube-apiserver 1.32."""

from typing import Any

import pytest

from quarterdeck.server.custom.schema_rules import validate_expressions

INTEGER = {"type": "integer"}
PATH = "spec.validation.openAPIV3Schema"


def rules(rule: str, **members: Any) -> dict[str, Any]:
    return {"x-kubernetes-validations": [{"rule": rule, **members}]}


def pair(default: dict[str, Any], **rule: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "default": default,
        "properties": {"a": INTEGER, "b": INTEGER},
        **rules("self.a <= self.b", **rule),
    }


def problems(spec: dict[str, Any]) -> list[str]:
    found = validate_expressions({"type": "object", "properties": {"spec": spec}}, PATH)
    return [str(each).removeprefix(f"{PATH}.properties[spec]") for each in found]


SMALL = {**INTEGER, **rules("self < 3", message="small")}
MISSING = "no such key: a evaluating rule: m"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            pair({}, message="m"),
            [f'.default: Invalid value: "object": {MISSING}'],
            id="the defaults inside are not there yet",
        ),
        pytest.param(
            pair({"a": 2, "b": 1}, message="m", fieldPath=".a", reason="FieldValueForbidden"),
            [".default.a: Forbidden: m"],
            id="the rule names a field and a reason",
        ),
        pytest.param(
            pair({"a": 2, "b": 1}),
            ['.default: Invalid value: "object": failed rule: self.a <= self.b'],
            id="the rule has no message",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {**SMALL, "default": 3}}},
            ['.properties[a].default: Invalid value: "integer": small'],
            id="a number",
        ),
        pytest.param(
            {
                "type": "object",
                "default": {"x": [{"a": 5}]},
                "properties": {
                    "x": {
                        "type": "array",
                        "maxItems": 3,
                        "items": {"type": "object", "properties": {"a": SMALL}},
                    }
                },
            },
            ['.default.x[0].a: Invalid value: "integer": small'],
            id="below the default",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {
                    "x": {
                        "type": "object",
                        "maxProperties": 3,
                        "additionalProperties": SMALL,
                        "default": {"k": 5},
                    }
                },
            },
            ['.properties[x].default[k]: Invalid value: "integer": small'],
            id="a key of the default",
        ),
        pytest.param(
            {
                "type": "object",
                "default": {"a": 2},
                "properties": {"a": INTEGER},
                **rules("self.a > oldSelf.a", message="grow"),
            },
            ['.default: Invalid value: "object": grow'],
            id="the default replaces itself",
        ),
    ],
)
def test_a_default_that_a_rule_refuses_is_named(spec: dict[str, Any], expected: list[str]) -> None:
    assert problems(spec) == expected


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(pair({"a": 1, "b": 2}, message="m"), id="the rule is satisfied"),
        pytest.param(
            {
                "type": "object",
                "properties": {
                    "x": {
                        "type": "object",
                        "maxProperties": 3,
                        "additionalProperties": {
                            "type": "object",
                            "properties": {"a": {**SMALL, "default": 5}},
                        },
                    }
                },
            },
            id="below additionalProperties nothing is judged",
        ),
    ],
)
def test_other_defaults_are_accepted(spec: dict[str, Any]) -> None:
    assert problems(spec) == []
