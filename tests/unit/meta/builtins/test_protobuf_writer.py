"""Protobuf bodies as a Kubernetes API server answers them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.meta import builtins
from quarterdeck.meta.builtins import protobuf_writer, table
from quarterdeck.meta.identity import GVK, GroupVersion

GOLDEN = Path(__file__).parents[3] / "golden" / "protobuf" / "bodies.jsonl"


def recorded() -> list[Any]:
    cases = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    return [pytest.param(case, id=case["title"]) for case in cases]


@pytest.mark.parametrize("case", recorded())
def test_recorded_bodies_are_written_byte_for_byte(case: dict[str, Any]) -> None:
    body, value = base64.b64decode(case["body"]), case["object"]
    assert builtins.decode_protobuf(protobuf_writer.encode(value)) == builtins.decode_protobuf(body)
    if b'": {' not in body:  # embedded JSON was recorded with spaces, which nobody writes
        assert protobuf_writer.encode(value) == body


@pytest.mark.parametrize("api_version", table.list_api_versions())
def test_every_kind_of_the_table_comes_back_as_it_went(api_version: str) -> None:
    for kind in table.list_kinds(api_version):
        name = table.find_kind_type(api_version, kind)
        if name is None or name == "meta/v1.Table" or kind.endswith("Options"):
            continue
        version = GroupVersion.parse(api_version)
        gvk = GVK(version.group, version.version, kind)
        zero = {"kind": kind, "apiVersion": api_version} | builtins.build_zero(gvk)
        decoded = builtins.decode_protobuf(protobuf_writer.encode(zero))
        assert builtins.decode(decoded, gvk).object == builtins.decode(zero, gvk).object


SCHEMAS = st.recursive(
    st.sampled_from([{"type": "string"}, {"type": "integer"}, {"type": "boolean"}]),
    lambda inner: st.one_of(
        inner.map(lambda each: {"type": "array", "items": each}),
        inner.map(lambda each: {"type": "object", "additionalProperties": each}),
        st.booleans().map(lambda each: {"type": "object", "additionalProperties": each}),
        st.dictionaries(st.text("abcé", min_size=1, max_size=3), inner, max_size=3).map(
            lambda each: {"type": "object", "properties": each} if each else {"type": "object"}
        ),
        inner.map(lambda each: {"dependencies": {"a": each, "b": ["x", "y"]}}),
        st.integers(-(2**40), 2**40).map(lambda each: {"maxLength": each, "default": {"n": each}}),
        st.floats(-1e6, 1e6).filter(bool).map(lambda each: {"maximum": each}),
    ),
    max_leaves=8,
)


@settings(max_examples=count_examples(100), deadline=None)
@given(SCHEMAS)
def test_json_schemas_come_back_as_they_went(schema: dict[str, Any]) -> None:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    value = {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {"name": "x"},
        "spec": {"group": "g", "versions": [version]},
    }
    decoded = builtins.decode_protobuf(protobuf_writer.encode(value))
    assert decoded["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema


TEXTS = st.text(max_size=200)


@settings(max_examples=count_examples(100), deadline=None)
@given(st.dictionaries(TEXTS, TEXTS, max_size=5), st.dictionaries(TEXTS, st.binary(max_size=300)))
def test_maps_of_text_and_bytes_come_back_as_they_went(
    data: dict[str, str], binary: dict[str, bytes]
) -> None:
    encoded = {name: base64.b64encode(each).decode() for name, each in binary.items()}
    value = {"kind": "ConfigMap", "apiVersion": "v1", "data": data, "binaryData": encoded}
    decoded = builtins.decode_protobuf(protobuf_writer.encode(value))
    assert decoded.get("data", {}) == data
    assert decoded.get("binaryData", {}) == encoded


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match='no kind "Nope" is registered for version "v1"'):
        protobuf_writer.encode({"kind": "Nope", "apiVersion": "v1"})


def test_an_object_that_does_not_fit_its_type_is_refused() -> None:
    with pytest.raises(ValueError, match=r"does not fit the type core/v1\.ConfigMap"):
        protobuf_writer.encode({"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": 1}})
