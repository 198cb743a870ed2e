import copy
from typing import Any

import pytest

from quarterdeck import apis
from quarterdeck.codegen.compatibility import find_breaking_changes
from quarterdeck.meta import crd


def base() -> dict[str, Any]:
    return {
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "size": {"type": "integer", "minimum": 1, "maximum": 5},
                                "text": {"type": "string", "nullable": True, "enum": ["a", "b"]},
                                "count": {"type": "integer", "format": "int64"},
                                "parts": {
                                    "type": "array",
                                    "x-kubernetes-list-type": "atomic",
                                    "items": {"type": "string"},
                                },
                                "map": {
                                    "type": "object",
                                    "additionalProperties": {"type": "string"},
                                },
                                "free": {
                                    "type": "object",
                                    "x-kubernetes-preserve-unknown-fields": True,
                                },
                            },
                        }
                    },
                }
            ],
        }
    }


def changed(path: str, value: Any) -> dict[str, Any]:
    """The manifest with one member set; `None` removes it. Paths start at the schema."""
    manifest = base()
    place: Any = manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    *parents, last = path.split("/")
    for name in parents:
        place = place[name]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return manifest


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("properties/size", None, "v1: size: the field was removed"),
        ("properties/size/type", "string", "v1: size: type changed from integer to string"),
        ("properties/size/minimum", 2, "v1: size: minimum tightened from 1 to 2"),
        ("properties/size/maximum", 4, "v1: size: maximum tightened from 5 to 4"),
        ("properties/text/enum", ["a"], "v1: text: enum values removed: b"),
        ("properties/size/enum", [1], "v1: size: an enumeration was added"),
        ("properties/text/pattern", "^a", "v1: text: pattern changed to ^a"),
        ("properties/text/maxLength", 3, "v1: text: max_length tightened from none to 3"),
        ("properties/text/format", "date", "v1: text: format changed to date"),
        ("properties/text/nullable", None, "v1: text: is no longer nullable"),
        ("properties/count/format", "int32", "v1: count: format tightened from int64 to int32"),
        (
            "properties/parts/x-kubernetes-list-type",
            "set",
            "v1: parts: list_type changed from atomic to set",
        ),
        ("properties/parts/items/minLength", 1, "v1: parts[]: min_length tightened from none to 1"),
        (
            "properties/map/additionalProperties/maxLength",
            1,
            "v1: map[*]: max_length tightened from none to 1",
        ),
        (
            "properties/free/x-kubernetes-preserve-unknown-fields",
            None,
            "v1: free: unknown fields are no longer kept",
        ),
        ("required", ["size"], "v1: size: is now required"),
        (
            "properties/size/x-kubernetes-validations",
            [{"rule": "self > 1"}],
            "v1: size: rule added: self > 1",
        ),
    ],
)
def test_breaking_changes_are_named(path: str, value: Any, text: str) -> None:
    assert find_breaking_changes(base(), changed(path, value)) == [text]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("properties/new", {"type": "string", "pattern": "^a"}),
        ("properties/size/minimum", 0),
        ("properties/size/maximum", None),
        ("properties/text/enum", ["a", "b", "c"]),
        ("properties/size/default", 3),
        ("properties/size/description", "how big"),
        ("properties/size/nullable", True),
    ],
)
def test_harmless_changes_are_allowed(path: str, value: Any) -> None:
    assert find_breaking_changes(base(), changed(path, value)) == []


def test_a_required_field_with_a_default_is_allowed() -> None:
    after = changed("required", ["size"])
    schema = after["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["size"]["default"] = 1
    assert find_breaking_changes(base(), after) == []


def test_names_scope_versions_and_subresources_must_stay() -> None:
    after = base()
    after["spec"] |= {"scope": "Cluster", "names": {"plural": "things", "kind": "Gadget"}}
    after["spec"]["versions"][0]["name"] = "v2"
    assert find_breaking_changes(base(), after) == [
        "scope changed from Namespaced to Cluster",
        "names.plural changed from gadgets to things",
        "v1: the version is no longer served",
    ]
    after = base()
    after["spec"]["versions"][0]["subresources"] = {}
    assert find_breaking_changes(base(), after) == ["v1: the subresource status was removed"]


def test_a_new_version_may_differ() -> None:
    after = base()
    second = copy.deepcopy(after["spec"]["versions"][0]) | {"name": "v2"}
    second["schema"]["openAPIV3Schema"]["properties"] = {}
    after["spec"]["versions"].append(second)
    assert find_breaking_changes(base(), after) == []


def test_our_own_manifests_fit_themselves() -> None:
    for manifest in crd.build_manifests(apis.own_scheme().list_kinds()):
        assert find_breaking_changes(manifest, manifest) == []
