"""Schemas that a CustomResourceDefinition may not have, and what is said about them."""

from typing import Any

import pytest

from quarterdeck.meta.structural import check_structure

PATH = "spec.validation.openAPIV3Schema"


def errors(document: dict[str, Any], **options: Any) -> list[str]:
    return [
        str(error).removeprefix(f"{PATH}.").removeprefix(f"{PATH}: ")
        for error in check_structure(document, **options)
    ]


def root(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(root(a={"type": "string"}), id="plain"),
        pytest.param(
            root(
                a={
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                }
            ),
            id="int or string by anyOf",
        ),
        pytest.param(
            root(
                a={
                    "x-kubernetes-int-or-string": True,
                    "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"minimum": 1}],
                }
            ),
            id="int or string by allOf",
        ),
        pytest.param(root(a={"x-kubernetes-preserve-unknown-fields": True}), id="anything"),
        pytest.param(
            root(metadata={"type": "object", "properties": {"name": {"type": "string"}}}),
            id="names restricted",
        ),
        pytest.param(
            root(a={"type": "object", "default": {}, "properties": {"b": {"type": "string"}}}),
            id="an empty default",
        ),
        pytest.param(
            {**root(a={"type": "integer"}), "oneOf": [{"required": ["a"]}]},
            id="a combinator at the root",
        ),
    ],
)
def test_a_structural_schema_is_accepted(document: dict[str, Any]) -> None:
    assert errors(document) == []


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (root(a={}), "properties[a].type: Required value: must not be empty for specified object"),
        ({"type": "string"}, 'type: Invalid value: "string": must be object at the root'),
        ({"properties": {}}, "type: Required value: must not be empty at the root"),
        (root(a={"type": "array"}), "properties[a].items: Required value: must be specified"),
        (
            root(a={"type": "array", "items": {}}),
            "properties[a].items.type: Required value: must not be empty for specified array items",
        ),
        (
            root(a={"type": "string", "anyOf": [{"type": "string"}]}),
            "properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            {**root(), "allOf": [{"properties": {"a": {"minimum": 1}}}]},
            f"properties[a]: Required value: because it is defined in {PATH}.allOf[0]",
        ),
        (
            root(metadata={"type": "object", "properties": {"labels": {"type": "object"}}}),
            "properties[metadata]: Forbidden: must not specify anything other than name and",
        ),
        (
            root(a={"type": "string", "pattern": "(?=x)"}),
            'properties[a].pattern: Invalid value: "(?=x)": must be a valid regular expression',
        ),
        (
            root(a={"type": "object", "x-kubernetes-embedded-resource": True}),
            "properties[a].properties: Required value: must not be empty if x-kubernetes-embedded",
        ),
        (
            {**root(), "additionalProperties": True},
            "additionalProperties: Forbidden: must not be used",
        ),
        (
            root(
                a={
                    "type": "object",
                    "properties": {"b": {"type": "string"}},
                    "additionalProperties": {"type": "string"},
                }
            ),
            "properties[a].additionalProperties: Forbidden: additionalProperties and",
        ),
        (root(a={"type": "file"}), 'properties[a].type: Unsupported value: "file"'),
        (
            root(a={"type": "array", "uniqueItems": True, "items": {"type": "string"}}),
            "properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true",
        ),
        (
            root(a={"type": "string", "$ref": "x"}),
            "properties[a].$ref: Forbidden: $ref is not supported",
        ),
        (
            root(a={"type": "integer", "default": "x"}),
            'properties[a].default: Invalid value: "string":  in body must be of type integer',
        ),
        (
            root(a={"type": "object", "default": {"b": 1}}),
            'properties[a].default: Invalid value: map[string]interface {}{"b":1}: must not have',
        ),
        (
            root(kind={"type": "string", "default": "X"}),
            "properties[kind].default: Forbidden: must not be set in top-level kind",
        ),
        ({**root(), "nullable": True}, "nullable: Forbidden: nullable cannot be true at the root"),
        (
            root(a={"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "string"}}),
            "properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if",
        ),
        (
            root(
                a={
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "properties": {"k": {"type": "string"}}},
                }
            ),
            "properties[a].items.properties[k].default: Required value: this property is in",
        ),
        (
            root(a={"type": "array", "x-kubernetes-list-type": "bag", "items": {"type": "string"}}),
            'properties[a].x-kubernetes-list-type: Unsupported value: "bag"',
        ),
        (
            root(a={"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}),
            'properties[a].items.x-kubernetes-map-type: Invalid value: "null": must be atomic',
        ),
        (
            root(a={"type": "string", "x-kubernetes-map-type": "atomic"}),
            'properties[a].type: Invalid value: "string": must be object if x-kubernetes-map-type',
        ),
    ],
)
def test_a_breach_is_named_with_its_place(document: dict[str, Any], expected: str) -> None:
    assert any(error.startswith(expected) for error in errors(document)), errors(document)


def test_the_root_allows_few_fields_with_a_status_subresource() -> None:
    document = {**root(), "anyOf": [{"required": ["a"]}]}
    found = errors(document, has_status=True)
    assert any(
        "fields are allowed at the root of the schema if the status" in text for text in found
    )
