"""Objects through a compiled schema: pruned, defaulted, validated in Kubernetes' words."""

import json
import pathlib
from typing import Any

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.meta.schema import Node, from_openapi
from quarterdeck.meta.structural import compile_schema
from quarterdeck.meta.structural.explain import explain

GOLDEN = pathlib.Path(__file__).parents[3] / "golden" / "kube-apiserver-v1.32.4.jsonl"


def cases() -> dict[str, Any]:
    lines = GOLDEN.read_text().splitlines()
    return {case["title"]: case for case in map(json.loads, lines)}


CASES = cases()
WIDGET = from_openapi(
    CASES["crd"]["request"]["body"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
)


def causes(title: str) -> list[tuple[str, str, str]]:
    """What the real server said, without what expressions and metadata add."""
    return [
        (cause["reason"], cause["message"], cause["field"])
        for cause in CASES[title]["body"]["details"]["causes"]
        if cause["field"] != "<nil>"
    ]


def test_a_schema_compiles_only_what_objects_need() -> None:
    schema = compile_schema(WIDGET)
    assert vars(schema) == {}
    schema.default({"spec": {}})
    assert set(vars(schema)) == {"default_walk"}


@pytest.mark.parametrize(
    "title",
    [
        "schema invalid",
        "pattern invalid",
        "too many items",
        "type invalid",
        "missing required",
        "dup map key",
        "dup set item",
    ],
)
def test_a_refused_widget_gets_the_words_of_the_real_server(title: str) -> None:
    schema = compile_schema(WIDGET)
    body = CASES[title]["request"]["body"]
    schema.admit(body)
    errors = schema.validate(body) + schema.find_duplicates(body)
    assert [(error.type.value, error.format_body(), error.field) for error in errors] == causes(
        title
    )


@pytest.mark.parametrize("title", ["create", "null spec", "unknown warn", "put"])
def test_an_accepted_widget_looks_as_on_the_real_server(title: str) -> None:
    body = CASES[title]["request"]["body"]
    admitted = compile_schema(WIDGET).admit(body)
    assert admitted.value.get("spec") == CASES[title]["body"].get("spec")
    assert admitted.unknown == (("spec.foo",) if title == "unknown warn" else ())


def compiled(**document: Any) -> Any:
    return compile_schema(from_openapi({"type": "object", "properties": document}))


@pytest.mark.parametrize(
    ("schema", "value", "expected", "unknown"),
    [
        pytest.param(
            {"a": {"type": "array", "items": {"type": "object", "properties": {}}}},
            {"a": [{}, {"x": 1}]},
            {"a": [{}, {}]},
            ("a[1].x",),
            id="inside a list",
        ),
        pytest.param(
            {"a": {"type": "object", "additionalProperties": {"type": "object"}}},
            {"a": {"k": {"x": 1}}},
            {"a": {"k": {}}},
            ("a.k.x",),
            id="inside a map",
        ),
        pytest.param(
            {"a": {"type": "object", "additionalProperties": True}},
            {"a": {"k": {"x": 1}, "n": 1}},
            {"a": {"k": {}, "n": 1}},
            ("a.k.x",),
            id="a map of anything keeps scalars only",
        ),
        pytest.param(
            {
                "a": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"b": {"type": "object", "properties": {}}},
                }
            },
            {"a": {"free": {"x": 1}, "b": {"x": 1}}},
            {"a": {"free": {"x": 1}, "b": {}}},
            ("a.b.x",),
            id="declared members of a preserving node prune again",
        ),
        pytest.param(
            {
                "a": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"spec": {"type": "object"}},
                }
            },
            {"a": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "x": 1}},
            {"a": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}}},
            ("a.x",),
            id="an embedded resource keeps its metadata",
        ),
        pytest.param(
            {"a": {"type": "object", "default": {}, "properties": {"b": {"default": 1}}}},
            {},
            {"a": {"b": 1}},
            (),
            id="a default is itself filled in",
        ),
        pytest.param(
            {"a": {"type": "string", "default": "x"}, "b": {"type": "string"}},
            {"a": None, "b": None},
            {"a": "x"},
            (),
            id="null gives way to the default or to nothing",
        ),
        pytest.param(
            {"a": {"type": "string", "nullable": True, "default": "x"}},
            {"a": None},
            {"a": None},
            (),
            id="a nullable field keeps null",
        ),
        pytest.param(
            {"a": {"type": "array", "items": {"type": "string", "default": "x"}}},
            {"a": [None, "y"]},
            {"a": ["x", "y"]},
            (),
            id="null items take their default",
        ),
    ],
)
def test_admission_drops_and_fills_in(
    schema: dict[str, Any], value: Any, expected: Any, unknown: tuple[str, ...]
) -> None:
    assert compiled(**schema).admit(value) == (expected, unknown)


def test_defaults_are_never_shared_between_objects() -> None:
    schema = compiled(a={"type": "array", "default": [], "items": {"type": "string"}})
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    schema.admit(first)
    first["a"].append("x")
    schema.admit(second)
    assert second == {"a": []}


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "string"}, 1, 'x in body must be of type string: "integer"'),
        ({"type": "string"}, None, 'x in body must be of type string: "null"'),
        ({"type": "integer"}, 1.5, 'x in body must be of type integer: "number"'),
        ({"x-kubernetes-int-or-string": True}, True, 'of type integer,string: "boolean"'),
        ({"type": "string", "format": "date-time"}, "nope", 'of type date-time: "nope"'),
        ({"type": "string", "format": "date-time"}, 3, 'must be of type date-time: "int64"'),
        ({"type": "string", "minLength": 2}, "a", "should be at least 2 chars long"),
        ({"type": "string", "maxLength": 1}, "ab", "Too long: may not be more than 1 byte"),
        ({"type": "number", "maximum": 1.5}, 2.0, "2: x in body should be less than or equal to 1"),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 1, "greater than 1"),
        ({"type": "integer", "multipleOf": 2}, 3, "should be a multiple of 2"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, [], "at least 1 items"),
        ({"type": "object", "minProperties": 1}, {}, "should have at least 1 properties"),
        (
            {"type": "object", "maxProperties": 1},
            {"a": 1, "b": 2},
            "Too many: 2: must have at most",
        ),
        (
            {"type": "integer", "enum": [1, 2]},
            3,
            'Unsupported value: 3: supported values: "1", "2"',
        ),
        ({"type": "string", "not": {"enum": ["a"]}}, "a", '"x" must not validate the schema (not)'),
        (
            {"type": "integer", "oneOf": [{"minimum": 1}, {"maximum": 5}]},
            3,
            '"x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
        ),
        (
            {"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 1}]},
            3,
            '<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)',
        ),
        (
            {"type": "integer", "allOf": [{"minimum": 5}]},
            3,
            '"x" must validate all the schemas (allOf). None validated',
        ),
    ],
)
def test_every_constraint_has_its_sentence(schema: dict[str, Any], value: Any, text: str) -> None:
    errors = compiled(x=schema).validate({"x": value})
    assert text in "; ".join(str(error) for error in errors)


def test_unchanged_mistakes_are_tolerated_on_update() -> None:
    schema = compiled(
        a={"type": "integer", "minimum": 5},
        b={"type": "integer", "minimum": 5},
        items={
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "v": {"type": "integer", "maximum": 1}},
            },
        },
    )
    old = {"a": 1, "b": 1, "items": [{"name": "x", "v": 9}]}
    new = {"a": 1, "b": 2, "items": [{"name": "y", "v": 8}, {"name": "x", "v": 9}]}
    assert [error.field for error in schema.validate(new, old)] == ["b", "items[0].v"]
    assert schema.validate(old, old) == []


def test_the_status_part_names_its_place_only_in_the_field() -> None:
    [error] = compiled(x={"type": "integer"}).validate({"x": "a"}, prefix="status")
    assert str(error).startswith('status.x: Invalid value: "string": x in body must be of type')


# the two walks agree -----------------------------------------------------------------------------

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(-3, 3), st.sampled_from(["", "a", "ab"])
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
leaves = st.one_of(
    st.builds(lambda low: {"type": "integer", "minimum": low}, st.integers(-3, 3)),
    st.builds(lambda low: {"type": "number", "maximum": low}, st.integers(-3, 3)),
    st.builds(lambda n: {"type": "string", "maxLength": n}, st.integers(0, 2)),
    st.just({"type": "string", "enum": ["a", ""]}),
    st.just({"type": "string", "anyOf": [{"minimum": 1}, {"maxLength": 1}]}),
    st.just({"type": "string", "minimum": 1}),
    st.just({"type": "boolean", "nullable": True}),
    st.just({"x-kubernetes-int-or-string": True}),
    st.just({"x-kubernetes-preserve-unknown-fields": True}),
    st.just({"minimum": 1, "maxLength": 1, "minItems": 1, "required": ["a"]}),
)
documents = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(
            lambda parts, names: {"type": "object", "properties": parts, "required": names},
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.lists(st.sampled_from("abc"), max_size=1),
        ),
        st.builds(lambda item: {"type": "array", "items": item, "maxItems": 2}, inner),
        st.builds(lambda item: {"type": "object", "additionalProperties": item}, inner),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda parts: {"oneOf": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda parts: {"allOf": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda part: {"not": part}, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=count_examples(600), deadline=None)
@given(documents, values)
def test_the_fast_walk_accepts_exactly_what_the_exact_walk_has_no_complaint_about(
    document: dict[str, Any], value: Any
) -> None:
    node: Node = from_openapi(document)
    assert compile_schema(node).is_valid(value) == (explain(node, value, "x") == [])


limits = st.one_of(st.integers(-3, 3), st.sampled_from([-1.5, 0.5, 2.5, 2**63, -(2**64), 1e300]))


@settings(max_examples=count_examples(300), deadline=None)
@given(
    st.fixed_dictionaries(
        {"type": st.just("integer")},
        optional={
            "minimum": limits,
            "maximum": limits,
            "exclusiveMinimum": st.booleans(),
            "exclusiveMaximum": st.booleans(),
            "nullable": st.booleans(),
        },
    ),
    st.one_of(
        st.integers(-5, 5),
        st.sampled_from([None, True, "1", 0.5, 2.0, -3.0, 2**63 - 1, 2**63, -(2**63), 1e300, []]),
    ),
)
def test_limits_of_integers_mean_the_same_to_both_walks(
    document: dict[str, Any], value: Any
) -> None:
    node: Node = from_openapi(document)
    assert compile_schema(node).is_valid(value) == (explain(node, value, "x") == [])


@settings(max_examples=count_examples(200), deadline=None)
@given(documents, st.dictionaries(st.sampled_from("abcd"), values, max_size=3))
def test_admitting_twice_changes_nothing(document: dict[str, Any], value: dict[str, Any]) -> None:
    schema = compile_schema(from_openapi({"type": "object", "properties": {"a": document}}))
    once = json.dumps(schema.admit(value).value, sort_keys=True)
    again = schema.admit(value)
    assert (json.dumps(again.value, sort_keys=True), again.unknown) == (once, ())
