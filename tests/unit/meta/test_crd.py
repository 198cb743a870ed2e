import enum
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
import pytest

from quarterdeck import apis
from quarterdeck.kit import yaml
from quarterdeck.meta import crd
from quarterdeck.meta.kinds import AGE, Column, KindInfo, Scale, Scope
from quarterdeck.meta.markers import ABSENT, Arbitrary, IntOrString, Quantity, Schema, Time
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.meta.schema import Rule
from quarterdeck.meta.structural import check_structure
from quarterdeck.meta.type_schema import SchemaError


class Color(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(Struct, frozen=True, kw_only=True):
    """A part of a gadget."""

    name: str
    """What it is called."""
    size: int = 0


class GadgetSpec(Struct, frozen=True, kw_only=True):
    """What a gadget should be."""

    required: str
    limited: Annotated[int, Schema(minimum=1, maximum=5, multiple_of=2)] = 2
    text: Annotated[str, Schema(min_length=1, max_length=9, pattern="^a")] = ""
    color: Color = Color.RED
    shape: Annotated[Literal["round", "square"], Schema(default="round")] = "round"
    ratio: float = 0.0
    maybe: Annotated[str, Schema(nullable=True)] | None = None
    amount: Quantity | None = None
    port: IntOrString | None = None
    when: Time | None = None
    anything: Arbitrary = ABSENT
    labels: Annotated[Mapping[str, str], Schema(map_type="atomic", max_properties=3)] = {}
    parts: Annotated[
        tuple[Part, ...], Schema(list_type="map", list_map_keys=("name",), min_items=1)
    ] = ()
    tags: Annotated[
        tuple[str, ...], Schema(list_type="set", max_items=4, items=Schema(max_length=7))
    ] = ()
    replicas: int = 0
    cluster_ip: str = msgspec.field(name="clusterIP", default="")
    fixed: Annotated[
        str, Schema(rules=(Rule(rule="self == oldSelf", message="fixed is immutable"),))
    ] = ""


class GadgetStatus(Struct, frozen=True, kw_only=True):
    """What a gadget is."""

    replicas: int = 0
    selector: str = ""


def info(**changes: Any) -> KindInfo:
    members: dict[str, Any] = {
        "group": "example.com",
        "version": "v1",
        "kind": "Gadget",
        "plural": "gadgets",
        "short_names": ("gd",),
        "categories": ("all",),
        "scope": Scope.CLUSTER,
        "columns": (Column(name="Text", path=".spec.text", priority=1), AGE),
        "selectable": (".spec.text",),
        "scale": Scale(label_selector=".status.selector"),
    }
    return KindInfo(**(members | changes))


class Gadget(Object, frozen=True, kw_only=True):
    """A gadget.

    It has two paragraphs.
    """

    KIND = info(rules=(Rule(rule="self.metadata.name != 'x'"),))
    spec: GadgetSpec
    status: GadgetStatus = GadgetStatus()


class OldGadget(Object, frozen=True, kw_only=True):
    """An older gadget."""

    KIND = info(
        version="v1beta1",
        storage=False,
        deprecated=True,
        deprecation_warning="use v1",
        scale=None,
        subresource_status=False,
    )
    spec: GadgetSpec


def schema_of(kind: type[Object]) -> dict[str, Any]:
    (version,) = crd.build_manifest([kind])["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def spec() -> dict[str, Any]:
    properties: dict[str, Any] = schema_of(Gadget)["properties"]["spec"]["properties"]
    return properties


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("required", {"type": "string"}),
        (
            "limited",
            {"type": "integer", "format": "int64", "minimum": 1, "maximum": 5, "multipleOf": 2},
        ),
        ("text", {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a"}),
        ("color", {"type": "string", "enum": ["red", "blue"]}),
        ("shape", {"type": "string", "enum": ["round", "square"], "default": "round"}),
        ("ratio", {"type": "number", "format": "double"}),
        ("maybe", {"type": "string", "nullable": True}),
        (
            "port",
            {
                "x-kubernetes-int-or-string": True,
                "anyOf": [{"type": "integer"}, {"type": "string"}],
            },
        ),
        ("when", {"type": "string", "format": "date-time"}),
        ("anything", {"x-kubernetes-preserve-unknown-fields": True}),
        (
            "labels",
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "maxProperties": 3,
                "x-kubernetes-map-type": "atomic",
            },
        ),
        (
            "parts",
            {
                "type": "array",
                "minItems": 1,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object",
                    "description": "A part of a gadget.",
                    "properties": {
                        "name": {"type": "string", "description": "What it is called."},
                        "size": {"type": "integer", "format": "int64"},
                    },
                    "required": ["name"],
                },
            },
        ),
        (
            "tags",
            {
                "type": "array",
                "maxItems": 4,
                "x-kubernetes-list-type": "set",
                "items": {"type": "string", "maxLength": 7},
            },
        ),
        ("clusterIP", {"type": "string"}),
        (
            "fixed",
            {
                "type": "string",
                "x-kubernetes-validations": [
                    {"rule": "self == oldSelf", "message": "fixed is immutable"}
                ],
            },
        ),
    ],
)
def test_a_field_becomes_its_schema(name: str, expected: dict[str, Any]) -> None:
    assert spec()[name] == expected


def test_quantities_carry_their_grammar() -> None:
    amount = spec()["amount"]
    assert amount["x-kubernetes-int-or-string"]
    assert amount["pattern"].startswith("^")


def test_the_root_has_description_rules_and_required_members() -> None:
    root = schema_of(Gadget)
    assert root["description"] == "A gadget.\n\nIt has two paragraphs."
    assert root["x-kubernetes-validations"] == [{"rule": "self.metadata.name != 'x'"}]
    assert root["required"] == ["spec"]
    assert root["properties"]["metadata"] == {"type": "object"}
    assert root["properties"]["spec"]["required"] == ["required"]


def test_names_scope_columns_and_subresources() -> None:
    manifest = crd.build_manifest([Gadget])
    assert manifest["metadata"] == {"name": "gadgets.example.com"}
    assert manifest["spec"]["scope"] == "Cluster"
    assert manifest["spec"]["names"] == {
        "kind": "Gadget",
        "listKind": "GadgetList",
        "plural": "gadgets",
        "singular": "gadget",
        "shortNames": ["gd"],
        "categories": ["all"],
    }
    (version,) = manifest["spec"]["versions"]
    assert version["additionalPrinterColumns"] == [
        {"name": "Text", "type": "string", "jsonPath": ".spec.text", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    assert version["selectableFields"] == [{"jsonPath": ".spec.text"}]
    assert version["subresources"] == {
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
        "status": {},
    }
    assert crd.build_file_name(manifest) == "example.com_gadgets.yaml"


def test_several_versions_with_one_stored() -> None:
    (manifest,) = crd.build_manifests([OldGadget, Gadget])
    old, new = manifest["spec"]["versions"]
    assert (old["name"], old["storage"], new["name"], new["storage"]) == (
        "v1beta1",
        False,
        "v1",
        True,
    )
    assert (old["deprecated"], old["deprecationWarning"]) == (True, "use v1")
    assert "subresources" not in old


def test_exactly_one_version_is_stored() -> None:
    with pytest.raises(SchemaError, match="v1beta1 must be the storage version, found 0"):
        crd.build_manifest([OldGadget])
    with pytest.raises(SchemaError, match="found 2"):
        crd.build_manifest([Gadget, Gadget])


class Recursive(Struct, frozen=True, kw_only=True):
    inner: "Recursive | None" = None


class BadDefaultSpec(Struct, frozen=True, kw_only=True):
    size: Annotated[int, Schema(default=3)] = 4


def gadget_with(**members: Any) -> type[Object]:
    made = msgspec.defstruct(
        "Gadget",
        [*members.items()],
        bases=(Object,),
        namespace={"KIND": info(scale=None, selectable=())},
        frozen=True,
        kw_only=True,
    )
    assert issubclass(made, Object)
    return made


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        pytest.param(Recursive, "Recursive contains itself", id="recursive"),
        pytest.param(
            BadDefaultSpec, r"spec\.size: the default of the schema, 3, differs", id="two defaults"
        ),
        pytest.param(complex, "complex has no structural schema", id="foreign type"),
        pytest.param(
            Annotated[int, Schema(items=Schema())],
            "the field is not a list",
            id="items of a number",
        ),
    ],
)
def test_types_without_a_schema_are_refused_by_field(annotation: Any, text: str) -> None:
    with pytest.raises(SchemaError, match=text):
        crd.build_manifest([gadget_with(spec=annotation)])


def test_paths_must_lead_somewhere() -> None:
    class Lost(Object, frozen=True, kw_only=True):
        KIND = info(selectable=(".spec.nothing",), scale=None)
        spec: GadgetSpec

    with pytest.raises(SchemaError, match=r"\.spec\.nothing must be a field of type"):
        crd.build_manifest([Lost])


@pytest.mark.parametrize(
    "kind", [*apis.own_scheme().list_kinds(), Gadget], ids=lambda kind: kind.__name__
)
def test_schemas_are_structural(kind: type[Object]) -> None:
    assert check_structure(schema_of(kind), has_status=True) == []


def test_manifests_are_small_and_stable() -> None:
    kinds = list(apis.own_scheme().list_kinds())
    first, second = ([yaml.dump(each) for each in crd.build_manifests(kinds)] for _ in range(2))
    assert first == second
    assert all(len(text.encode()) < crd.MAX_BYTES for text in first)
    assert [yaml.load(text) for text in first] == crd.build_manifests(kinds)
