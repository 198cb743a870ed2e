"""Rules of a schema: what CRD creation says, and what objects hear."""

from typing import Any

import pytest

from quarterdeck.cel import RuleSet, compile_rules
from quarterdeck.meta.schema import from_openapi

_PATH = "spec.validation.openAPIV3Schema"


def _object(rules: list[Any] | None = None, **properties: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if rules:
        schema["x-kubernetes-validations"] = [
            {"rule": rule} if isinstance(rule, str) else rule for rule in rules
        ]
    return schema


def _rules(schema: dict[str, Any]) -> RuleSet:
    rules = compile_rules(from_openapi(schema))
    assert isinstance(rules, RuleSet), [str(error) for error in rules]
    return rules


def _errors(schema: dict[str, Any], value: Any, old: Any = None, **limits: Any) -> list[str]:
    return [str(error) for error in _rules(schema).validate(value, old, **limits)]


def _refused(schema: dict[str, Any]) -> list[str]:
    errors = compile_rules(from_openapi(schema))
    assert isinstance(errors, list)
    return [str(error) for error in errors]


_NUMBER = {"type": "integer"}
_TEXT = {"type": "string", "maxLength": 20}


def test_a_schema_without_rules_has_nothing_to_check() -> None:
    rules = _rules(_object(a=_NUMBER))
    assert not rules
    assert rules.validate({"a": "anything"}) == []


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("self.a > 1", 'spec: Invalid value: "object": failed rule: self.a > 1'),
        (
            {"rule": "self.a > 1", "message": " too small "},
            'spec: Invalid value: "object": too small',
        ),
        (
            {"rule": "self.a > 1", "messageExpression": "'a is %d'.format([self.a])"},
            'spec: Invalid value: "object": a is 1',
        ),
        (
            {"rule": "self.a > 1", "message": "m", "messageExpression": "string(self.a / 0)"},
            'spec: Invalid value: "object": m',
        ),
        (
            {"rule": "self.a > 1", "messageExpression": "' '"},
            'spec: Invalid value: "object": failed rule: self.a > 1',
        ),
        (
            {"rule": "self.a > 1", "message": "m", "reason": "FieldValueForbidden"},
            "spec: Forbidden: m",
        ),
        (
            {"rule": "self.a > 1", "message": "m", "reason": "FieldValueRequired"},
            "spec: Required value: m",
        ),
        (
            {"rule": "self.a > 1", "message": "m", "reason": "FieldValueDuplicate"},
            'spec: Duplicate value: "object"',
        ),
        (
            {"rule": "self.a > 1", "message": "m", "fieldPath": ".a"},
            'spec.a: Invalid value: "object": m',
        ),
        (
            {"rule": "self.a > 1", "message": "m", "fieldPath": ".m['k.x']"},
            'spec.m[k.x]: Invalid value: "object": m',
        ),
        (
            "self.b == 'x'",
            "spec: Invalid value: \"object\": no such key: b evaluating rule: self.b == 'x'",
        ),
        (
            "self.a / 0 == 1",
            'spec: Invalid value: "object": division by zero evaluating rule: self.a / 0 == 1',
        ),
        (
            {"rule": "self.any > 1", "message": "m"},
            "spec: Invalid value: \"object\": 'no such overload': call arguments did not match a "
            "supported operator, function or macro signature for rule: m",
        ),
    ],
)
def test_a_broken_rule_says_so(rule: Any, error: str) -> None:
    spec = _object(
        [rule],
        a=_NUMBER,
        b=_TEXT,
        any={"x-kubernetes-int-or-string": True},
        m={"type": "object", "additionalProperties": _TEXT, "maxProperties": 3},
    )
    assert _errors(_object(spec=spec), {"spec": {"a": 1, "any": "x"}}) == [error]


def test_the_root_has_no_path() -> None:
    schema = _object(["self.metadata.name == 'x'"])
    value = {"metadata": {"name": "y"}}
    assert _errors(schema, value) == [
        "<nil>: Invalid value: \"object\": failed rule: self.metadata.name == 'x'"
    ]


def test_rules_run_at_every_level() -> None:
    item = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0", "message": "i"}]}
    schema = _object(
        l={"type": "array", "items": item, "maxItems": 9},
        m={"type": "object", "additionalProperties": item, "maxProperties": 9},
        n=item,
    )
    assert _errors(schema, {"l": [1, 0, -1], "m": {"a": 1, "b": 0}, "n": 0}) == [
        'l[1]: Invalid value: "integer": i',
        'l[2]: Invalid value: "integer": i',
        'm[b]: Invalid value: "integer": i',
        'n: Invalid value: "integer": i',
    ]


def test_null_and_absent_values_are_not_checked() -> None:
    schema = _object(n={**_object(["false"]), "nullable": True})
    assert _errors(schema, {"n": None}) == []
    assert _errors(schema, {}) == []


def test_transition_rules_need_an_old_value() -> None:
    schema = _object(s=_object(["self.a >= oldSelf.a"], a=_NUMBER))
    new = {"s": {"a": 1}}
    assert _errors(schema, new) == []
    assert _errors(schema, new, {}) == []
    assert _errors(schema, new, {"s": {"a": 2}}) == [
        's: Invalid value: "object": failed rule: self.a >= oldSelf.a'
    ]


def test_items_of_keyed_lists_are_compared_by_key() -> None:
    item = _object(["self.v >= oldSelf.v"], k=_TEXT, v=_NUMBER)
    item["required"] = ["k"]
    schema = _object(
        l={
            "type": "array",
            "items": item,
            "maxItems": 5,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        }
    )
    old = {"l": [{"k": "a", "v": 1}, {"k": "b", "v": 5}]}
    new = {"l": [{"k": "b", "v": 2}, {"k": "a", "v": 3}, {"k": "c", "v": 0}]}
    assert _errors(schema, new, old) == [
        'l[0]: Invalid value: "object": failed rule: self.v >= oldSelf.v'
    ]


def test_an_optional_old_self_may_be_absent() -> None:
    rule = {"rule": "oldSelf.hasValue() || self.a == 0", "optionalOldSelf": True}
    schema = _object([rule], a=_NUMBER)
    assert _errors(schema, {"a": 0}) == []
    assert len(_errors(schema, {"a": 1})) == 1
    assert _errors(schema, {"a": 1}, {"a": 5}) == []


def test_what_was_wrong_before_only_warns() -> None:
    schema = _object(
        s=_object([{"rule": "self.a > 0", "message": "m"}], a=_NUMBER),
        t=_object(["self.a == oldSelf.a && self.a > 0"], a=_NUMBER),
        other=_NUMBER,
    )
    rules = _rules(schema)
    old = {"s": {"a": 0}, "t": {"a": 0}, "other": 1}
    outcome = rules.check({"s": {"a": 0}, "t": {"a": 0}, "other": 2}, old)
    assert [str(error) for error in outcome.errors] == [
        't: Invalid value: "object": failed rule: self.a == oldSelf.a && self.a > 0'
    ]
    assert [str(warning) for warning in outcome.warnings] == ['s: Invalid value: "object": m']
    assert len(rules.check({"s": {"a": -1}, "other": 1}, old).errors) == 1


def test_unchanged_lists_only_warn_as_a_whole() -> None:
    item = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0", "message": "m"}]}
    rules = _rules(_object(l={"type": "array", "items": item, "maxItems": 5}))
    assert rules.check({"l": [0], "x": 2}, {"l": [0], "x": 1}).errors == []
    changed = rules.check({"l": [0, 1]}, {"l": [0]})
    assert [str(error) for error in changed.errors] == ['l[0]: Invalid value: "integer": m']


def test_rules_inside_all_of_run_on_the_same_value() -> None:
    schema = _object(a=_NUMBER)
    schema["allOf"] = [{"x-kubernetes-validations": [{"rule": "self.a > 0", "message": "m"}]}]
    assert _errors(schema, {"a": 0}) == ['<nil>: Invalid value: "object": m']


def test_the_budget_of_an_object_is_shared() -> None:
    item = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}
    schema = _object(l={"type": "array", "items": item, "maxItems": 100})
    value = {"l": [1] * 100}
    assert _errors(schema, value, budget=200) == []
    assert _errors(schema, value, budget=199) == [
        'l[99]: Invalid value: "integer": validation failed due to running out of cost budget, '
        "no further validation rules will be run"
    ]


def test_one_evaluation_has_its_own_limit() -> None:
    schema = _object(
        l={
            "type": "array",
            "maxItems": 1000,
            "items": _NUMBER,
            "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x + y >= 0))"}],
        }
    )
    assert _errors(schema, {"l": [1] * 1000}) == [
        "l: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no "
        "further validation rules will be run due to call cost exceeds limit for rule: "
        "self.all(x, self.all(y, x + y >= 0))"
    ]
    assert _errors(schema, {"l": [1] * 100}) == []


# what creating a CRD reports


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        (
            "self.l.all(x, self.l.all(y, x == y))",
            "Forbidden: estimated rule cost exceeds budget by factor of more than 100x "
            "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where "
            "arrays, maps, and strings are declared)",
        ),
        (
            "self.l.all(x, x.contains('abcdefghij') && x.startsWith('a'))",
            "Forbidden: estimated rule cost exceeds budget by factor of more than 100x "
            "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where "
            "arrays, maps, and strings are declared)",
        ),
    ],
)
def test_expensive_rules_are_refused(rule: str, error: str) -> None:
    schema = _object([rule], l={"type": "array", "items": {"type": "string"}})
    assert f"{_PATH}.x-kubernetes-validations[0].rule: {error}" in _refused(schema)


def test_the_schema_as_a_whole_may_be_too_expensive() -> None:
    element = {"type": "string", "maxLength": 10}
    big = {
        "type": "array",
        "items": element,
        "maxItems": 500_000,
        "x-kubernetes-validations": [{"rule": "self.all(x, x != 'a' && x != 'b')"}],
    }
    properties: dict[str, Any] = {f"p{n}": big for n in range(30)}
    schema = _object(None, **properties)
    errors = _refused(schema)
    contributed = [error for error in errors if "contributed to estimated rule cost" in error]
    assert len(contributed) == 4
    assert errors[-1].startswith(
        f"{_PATH}: Forbidden: x-kubernetes-validations estimated rule cost total for entire "
        "OpenAPIv3 schema exceeds budget by factor of 1."
    )


def test_rules_below_unbounded_lists_are_multiplied() -> None:
    item = _object(["self.s.contains('x')"], s={"type": "string", "maxLength": 1000})
    bounded = _object(l={"type": "array", "items": item, "maxItems": 10})
    assert _rules(bounded)
    unbounded = _object(l={"type": "array", "items": item})
    assert "estimated rule cost exceeds budget by factor of 42.2x" in _refused(unbounded)[0]


def test_a_text_of_unknown_length_is_too_expensive_to_append() -> None:
    text = "'a is ' + string(self.a)"
    schema = _object([{"rule": "self.a > 1", "messageExpression": text}], a=_NUMBER)
    words = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where "
    words += "arrays, maps, and strings are declared)"
    place = f"{_PATH}.x-kubernetes-validations[0].messageExpression"
    assert _refused(schema) == [
        f"{place}: Forbidden: estimated messageExpression cost exceeds budget by factor of more "
        f"than 100x {words}",
        f"{place}: Forbidden: contributed to estimated rule cost total exceeding cost limit for "
        "entire OpenAPIv3 schema",
        f"{_PATH}: Forbidden: x-kubernetes-validations estimated rule cost total for entire "
        f"OpenAPIv3 schema exceeds budget by factor of more than 100x {words}",
    ]


@pytest.mark.parametrize(
    ("schema", "error"),
    [
        (
            _object(["self.a + 1"], a=_NUMBER),
            f"{_PATH}.x-kubernetes-validations[0].rule: Invalid value: apiextensions."
            'ValidationRule{Rule:"self.a + 1", Message:"", MessageExpression:"", '
            "Reason:(*apiextensions.FieldValueErrorReason)(nil), FieldPath:\"\", "
            "OptionalOldSelf:(*bool)(nil)}: cel expression must evaluate to a bool",
        ),
        (
            _object([{"rule": "true", "messageExpression": "1"}]),
            "messageExpression must evaluate to a string",
        ),
        (
            _object([{"rule": "true", "messageExpression": "nope"}]),
            "messageExpression compilation failed: ERROR: <input>:1:1: undeclared reference to "
            "'nope' (in container '')\n | nope\n | ^",
        ),
        (
            _object(["self.s.find('(') == ''"], s=_TEXT),
            "program instantiation failed: error parsing regexp: missing closing ): `(`",
        ),
        (
            _object(l={"type": "array", "maxItems": 3, "items": _object(["self == oldSelf"])}),
            f"{_PATH}.properties[l].items.x-kubernetes-validations[0].rule: Invalid value: "
            '"self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the '
            f"schema within {_PATH}.properties[l]",
        ),
        (
            _object([{"rule": "true", "optionalOldSelf": True}]),
            f"{_PATH}.x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not "
            "be set if oldSelf is not used in rule",
        ),
        (_object([{"rule": " "}]), "Required value: rule is not specified"),
        (
            _object([{"rule": "true", "message": " "}]),
            'Invalid value: " ": message must be non-empty if specified',
        ),
        (
            _object([{"rule": "true", "message": "a\nb"}]),
            'message: Invalid value: "a\\nb": message must not contain line breaks',
        ),
        (
            _object(["true &&\ntrue"]),
            "message: Required value: message must be specified if rule contains line breaks",
        ),
        (
            _object([{"rule": "true", "reason": "Odd"}]),
            'reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate", '
            '"FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
        ),
        (
            _object([{"rule": "self.nope", "optionalOldSelf": True}]),
            "optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
        (
            _object([{"rule": "true", "fieldPath": ".nope"}]),
            'fieldPath: Invalid value: ".nope": fieldPath must be a valid path',
        ),
        (
            _object(x={"x-kubernetes-preserve-unknown-fields": True,
                       "x-kubernetes-validations": [{"rule": "true"}]}),
            "unable to convert structural schema to CEL declarations",
        ),
    ],
)  # fmt: skip
def test_bad_rules_are_refused(schema: dict[str, Any], error: str) -> None:
    assert any(error in found for found in _refused(schema))


def test_rules_on_the_kind_are_checked_although_it_is_unchanged() -> None:
    kind = {"type": "string", "x-kubernetes-validations": [{"rule": "self == 'A'"}]}
    rules = _rules(_object(kind=kind))
    assert len(rules.check({"kind": "B"}, {"kind": "B"}).errors) == 1
