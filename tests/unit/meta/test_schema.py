from typing import Any

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.meta.schema import from_openapi, to_openapi

FULL: dict[str, Any] = {
    "type": "object",
    "description": "all of it",
    "title": "t",
    "minProperties": 1,
    "maxProperties": 2,
    "required": ["a"],
    "x-kubernetes-map-type": "granular",
    "x-kubernetes-embedded-resource": True,
    "properties": {
        "a": {
            "type": "array",
            "items": {"type": "string", "enum": ["x", "y"], "default": None, "nullable": True},
            "minItems": 1,
            "maxItems": 3,
            "uniqueItems": True,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "x-kubernetes-patch-strategy": "merge,retainKeys",
            "x-kubernetes-patch-merge-key": "k",
        },
        "b": {
            "type": "integer",
            "format": "int32",
            "minimum": 0,
            "maximum": 3,
            "exclusiveMinimum": True,
            "exclusiveMaximum": True,
            "multipleOf": 2,
            "default": 0,
        },
        "c": {"type": "object", "additionalProperties": {"type": "string", "pattern": "^a"}},
        "d": {"type": "object", "additionalProperties": True},
        "e": {"x-kubernetes-int-or-string": True, "x-future": {"kept": 1}},
        "f": {"x-kubernetes-preserve-unknown-fields": True},
        "g": {
            "allOf": [{"minLength": 1}],
            "anyOf": [{"maxLength": 1}],
            "oneOf": [{"format": "date"}],
            "not": {"type": "string"},
        },
    },
    "x-kubernetes-validations": [
        {
            "rule": "self.a",
            "message": "m",
            "messageExpression": "'x'",
            "reason": "FieldValueInvalid",
            "fieldPath": ".a",
            "optionalOldSelf": True,
        }
    ],
}


def test_every_keyword_survives() -> None:
    assert to_openapi(from_openapi(FULL)) == FULL


@pytest.mark.parametrize(
    ("document", "expected"),
    [({}, False), ({"default": None}, True), ({"default": 0}, True)],
    ids=["none", "null", "zero"],
)
def test_null_is_a_default(document: dict[str, Any], expected: bool) -> None:
    assert from_openapi(document).has_default is expected


_leaves: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer"])},
    optional={
        "minLength": st.integers(0, 3),
        "pattern": st.sampled_from(["", "^a"]),
        "default": st.none() | st.integers(),
    },
)
_schemas = st.recursive(
    _leaves,
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(
            lambda members: {"type": "object", "properties": members},
            st.dictionaries(st.sampled_from("abc"), inner, min_size=1),
        )
    ),
    max_leaves=6,
)


@settings(max_examples=count_examples(100))
@given(_schemas)
def test_reading_and_writing_are_inverse(document: dict[str, Any]) -> None:
    assert to_openapi(from_openapi(document)) == document
