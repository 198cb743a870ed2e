"""Keywords in bad company: what is said about each combination Kubernetes refuses."""

from typing import Any

import pytest

from quarterdeck.meta.structural import check_structure

PATH = "spec.validation.openAPIV3Schema."
TEXT = {"type": "string"}
EMBEDDED = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}


def errors(document: dict[str, Any]) -> list[str]:
    return [str(error).removeprefix(PATH) for error in check_structure(document)]


def field(**schema: Any) -> dict[str, Any]:
    """A root whose only property has this schema; `_` stands for a dash in Kubernetes' names."""
    renamed = {
        f"x-kubernetes-{key[2:].replace('_', '-')}" if key.startswith("x_") else key: value
        for key, value in schema.items()
    }
    return {"type": "object", "properties": {"a": renamed}}


def keyed(keys: list[str], **items: Any) -> dict[str, Any]:
    """A list that is a map."""
    return field(type="array", x_list_type="map", x_list_map_keys=keys, items=items)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(
            field(type="null"),
            "properties[a].type: Forbidden: type cannot be set to null, use nullable",
            id="null",
        ),
        pytest.param(
            field(type="array", items=[TEXT]),
            "properties[a].items: Forbidden: items must be a schema object and not an array",
            id="items as list",
        ),
        pytest.param(
            field(type="object", x_preserve_unknown_fields=False),
            "properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be",
            id="preserve false",
        ),
        pytest.param(
            field(x_map_type="atomic", x_preserve_unknown_fields=True),
            "properties[a].type: Required value: must be object if x-kubernetes-map-type",
            id="map type without type",
        ),
        pytest.param(
            field(type="object", x_map_type="loose"),
            'properties[a].x-kubernetes-map-type: Unsupported value: "loose": supported values:',
            id="unknown map type",
        ),
        pytest.param(
            field(type="string", x_list_type="atomic"),
            'properties[a].type: Invalid value: "string": must be array if x-kubernetes-list-type',
            id="list type of a string",
        ),
        pytest.param(
            field(
                type="array",
                x_list_type="set",
                items={"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
            ),
            'properties[a].items.x-kubernetes-list-type: Invalid value: "set": must be atomic as',
            id="set of sets",
        ),
        pytest.param(
            field(type="array", x_list_map_keys=["k"], items=TEXT),
            "properties[a].x-kubernetes-list-type: Required value: must be map if",
            id="keys without list type",
        ),
        pytest.param(
            field(type="array", x_list_type="set", x_list_map_keys=["k"], items=TEXT),
            'properties[a].x-kubernetes-list-type: Invalid value: "set": must be map if',
            id="keys of a set",
        ),
        pytest.param(
            field(type="array", x_list_type="map", x_list_map_keys=["k"]),
            "properties[a].items: Required value: must have a schema if x-kubernetes-list-type",
            id="map without items",
        ),
        pytest.param(
            keyed(["k"], **TEXT),
            'properties[a].items.type: Invalid value: "string": must be object if parent',
            id="map of strings",
        ),
        pytest.param(
            keyed(["other"], type="object", properties={"k": TEXT}, required=["k"]),
            'properties[a].x-kubernetes-list-map-keys: Invalid value: []string{"other"}: entries',
            id="unknown key",
        ),
        pytest.param(
            keyed(["k", "k"], type="object", properties={"k": TEXT}, required=["k"]),
            'properties[a].x-kubernetes-list-map-keys: Invalid value: []string{"k", "k"}: must not',
            id="key twice",
        ),
        pytest.param(
            keyed(["k"], type="object", properties={"k": {"type": "object"}}, required=["k"]),
            'properties[a].items.properties[k].type: Invalid value: "object": must be a scalar',
            id="key that is an object",
        ),
        pytest.param(
            keyed(["k"], type="object", nullable=True, properties={"k": TEXT}, required=["k"]),
            "properties[a].items.nullable: Forbidden: cannot be nullable when",
            id="nullable items",
        ),
        pytest.param(
            keyed(
                ["k"],
                type="object",
                properties={"k": {**TEXT, "nullable": True}},
                required=["k"],
            ),
            "properties[a].items.properties[k].nullable: Forbidden: this property is in",
            id="nullable key",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {
                    "metadata": {"type": "object", "properties": {"name": {**EMBEDDED}}}
                },
            },
            "properties[metadata].properties[name].x-kubernetes-embedded-resource: Forbidden: must",
            id="embedded in metadata",
        ),
        pytest.param(
            field(type="object", x_int_or_string=True, x_embedded_resource=True),
            "properties[a].x-kubernetes-embedded-resource: Invalid value: true: must be false if",
            id="int-or-string and embedded",
        ),
        pytest.param(
            field(x_embedded_resource=True, x_preserve_unknown_fields=True),
            "properties[a].type: Required value: must be object if x-kubernetes-embedded-resource",
            id="embedded without type",
        ),
        pytest.param(
            field(**EMBEDDED, additionalProperties=TEXT),
            "properties[a].additionalProperties: Forbidden: must not be used if",
            id="embedded map",
        ),
        pytest.param(
            field(**EMBEDDED, properties={"kind": {"type": "integer"}}),
            'properties[a].properties[kind].type: Invalid value: "integer": must be string',
            id="embedded kind",
        ),
        pytest.param(
            field(**EMBEDDED, properties={"metadata": TEXT}),
            'properties[a].properties[metadata].type: Invalid value: "string": must be object',
            id="embedded metadata",
        ),
        pytest.param(
            field(type="string", pattern="("),
            'properties[a].pattern: Invalid value: "(": must be a valid regular expression',
            id="pattern",
        ),
        pytest.param(
            field(type="string", **{"not": {"type": "string"}}),
            "properties[a].not.type: Forbidden: must be empty to be structural",
            id="type in not",
        ),
        pytest.param(
            field(type="object", oneOf=[{"properties": {"metadata": {}}}]),
            "properties[a].oneOf[0].properties[metadata]: Forbidden: must not be specified in a",
            id="metadata in oneOf",
        ),
        pytest.param(
            {
                **field(type="array", items=TEXT),
                "anyOf": [{"properties": {"a": {"items": {"properties": {"b": {}}}}}}],
            },
            "properties[a].items.properties[b]: Required value: because it is defined in",
            id="undeclared below items",
        ),
    ],
)
def test_a_bad_combination_is_named_with_its_place(document: dict[str, Any], expected: str) -> None:
    assert any(error.startswith(expected) for error in errors(document)), errors(document)
