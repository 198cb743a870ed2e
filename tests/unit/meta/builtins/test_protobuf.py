"""Protobuf bodies as kubectl and client-go send them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.kit import protowire
from quarterdeck.meta import builtins
from quarterdeck.meta.identity import GVK, GroupVersion

GOLDEN = Path(__file__).parents[3] / "golden" / "protobuf" / "bodies.jsonl"


def recorded() -> list[dict[str, Any]]:
    return [json.loads(line) for line in GOLDEN.read_text().splitlines()]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["title"]) for case in recorded()])
def test_recorded_bodies_decode_to_their_json(case: dict[str, Any]) -> None:
    decoded = builtins.decode_protobuf(base64.b64decode(case["body"]))
    version = GroupVersion.parse(decoded["apiVersion"])
    gvk = GVK(version.group, version.version, decoded["kind"])
    assert builtins.decode(decoded, gvk).object == case["object"]


def kubectl(name: str) -> dict[str, Any]:
    case = next(case for case in recorded() if case["title"] == f"kubectl {name}")
    return builtins.decode_protobuf(base64.b64decode(case["body"]))


def test_pointer_zeros_survive() -> None:
    assert kubectl("deployment")["spec"]["replicas"] == 0


def test_plain_zeros_do_not_appear() -> None:
    assert "resourceVersion" not in kubectl("deployment")["metadata"]


def test_secret_bytes_are_base64() -> None:
    assert kubectl("secret")["data"] == {"k": "dg=="}


def test_map_aliases_hold_quantities() -> None:
    assert kubectl("quota")["spec"]["hard"] == {"cpu": "1", "memory": "1G", "pods": "2"}


def test_integers_or_strings_keep_their_kind() -> None:
    assert kubectl("pdb")["spec"]["minAvailable"] == "50%"
    assert kubectl("pdbint")["spec"]["maxUnavailable"] == 1


def build_pod(*groups: bytes) -> bytes:
    context = protowire.write_bytes(14, b"".join(groups))
    raw = protowire.write_bytes(2, context)
    kind = protowire.write_bytes(1, b"v1") + protowire.write_bytes(2, b"Pod")
    return b"k8s\x00" + protowire.write_bytes(1, kind) + protowire.write_bytes(2, raw)


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_numbers_of_a_list_may_be_packed(parts: list[list[int]]) -> None:
    """As Go reads them; other implementations write such lists in either way, or in both."""
    single = [protowire.write_number(4, each) for part in parts for each in part]
    packed = [protowire.write_bytes(4, b"".join(map(protowire.write_varint, p))) for p in parts]
    expected = builtins.decode_protobuf(build_pod(*single))
    assert builtins.decode_protobuf(build_pod(*packed)) == expected
    found = expected["spec"]["securityContext"].get("supplementalGroups", [])
    assert found == [each for part in parts for each in part]


def test_a_packed_list_that_ends_within_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="unexpected EOF"):
        builtins.decode_protobuf(build_pod(protowire.write_bytes(4, b"\x05\x80")))


def test_a_body_without_the_magic_is_refused() -> None:
    with pytest.raises(ValueError, match="does not appear to be a protobuf message"):
        builtins.decode_protobuf(b'{"kind":"Pod"}')


def test_an_unknown_kind_is_refused_by_name() -> None:
    envelope = b"k8s\x00\x0a\x0a\x0a\x02v1\x12\x04Nope"
    with pytest.raises(ValueError, match='no kind "Nope" is registered for version "v1"'):
        builtins.decode_protobuf(envelope)


@settings(max_examples=count_examples(200), deadline=None)
@given(st.data())
def test_damaged_bodies_are_errors_and_never_crashes(data: st.DataObject) -> None:
    body = bytearray(base64.b64decode(data.draw(st.sampled_from(recorded()))["body"]))
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(st.integers(4, len(body) - 1))
        body[index] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(4, len(body)))
    try:
        builtins.decode_protobuf(bytes(body[:cut]))
    except ValueError:
        pass


def varint(value: int) -> bytes:
    if value < 0x80:
        return bytes([value])
    return bytes([value & 0x7F | 0x80]) + varint(value >> 7)


def field(tag: int, payload: bytes) -> bytes:
    return varint(tag << 3 | 2) + varint(len(payload)) + payload


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value)


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    envelope = field(1, api_version.encode()) + field(2, kind.encode())
    return b"k8s\x00" + field(1, envelope) + field(2, raw)


def crd(schema: bytes) -> Any:
    version = field(4, field(1, schema))
    decoded = builtins.decode_protobuf(
        body("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, version)))
    )
    return decoded["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


STRING = field(5, b"string")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param(field(24, field(1, STRING)), {"items": {"type": "string"}}, id="one item"),
        pytest.param(
            field(24, field(2, STRING)), {"items": [{"type": "string"}]}, id="list of items"
        ),
        pytest.param(
            field(30, number(1, 1)), {"additionalProperties": True}, id="additional allowed"
        ),
        pytest.param(
            field(30, number(1, 1) + field(2, STRING)),
            {"additionalProperties": {"type": "string"}},
            id="additional of a schema",
        ),
        pytest.param(
            field(32, field(1, b"a") + field(2, field(2, b"b"))),
            {"dependencies": {"a": ["b"]}},
            id="names",
        ),
        pytest.param(
            field(32, field(1, b"a") + field(2, field(1, STRING))),
            {"dependencies": {"a": {"type": "string"}}},
            id="dependency of a schema",
        ),
        pytest.param(field(8, field(1, b'{"a":1}')), {"default": {"a": 1}}, id="any JSON"),
        pytest.param(field(8, b""), {"default": None}, id="no JSON"),
        pytest.param(
            bytes([9 << 3 | 1]) + b"\x00\x00\x00\x00\x00\x00\xf8\x3f", {"maximum": 1.5}, id="float"
        ),
    ],
)
def test_json_schemas_in_protobuf_have_their_own_shapes(
    schema: bytes, expected: dict[str, Any]
) -> None:
    assert crd(schema) == expected


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        pytest.param(b"\x0b", "wire type 3", id="group"),
        pytest.param(b"\x0a\x05ab", "unexpected EOF", id="cut short"),
        pytest.param(b"\x0a", "unexpected EOF", id="no length"),
        pytest.param(b"\xff" * 11, "integer overflow", id="endless number"),
        pytest.param(number(1, 1), "wrong wireType", id="number for a message"),
        pytest.param(field(2, field(1, b"k") + number(2, 1)), "UTF-8", id="number for a string"),
        pytest.param(field(2, field(1, b"\xff")), "UTF-8", id="no UTF-8"),
        pytest.param(number(2, 1), "wrong wireType", id="number for an entry"),
        pytest.param(field(4, b"x"), "expected a varint", id="bytes for a boolean"),
        pytest.param(field(3, field(1, b"k") + number(2, 1)), "wrong wireType", id="no bytes"),
    ],
)
def test_what_does_not_fit_is_named(raw: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        builtins.decode_protobuf(body("v1", "ConfigMap", raw))


def test_embedded_json_must_be_json() -> None:
    revision = field(2, field(1, b"{"))
    with pytest.raises(ValueError, match="embedded JSON"):
        builtins.decode_protobuf(body("apps/v1", "ControllerRevision", revision))


def test_times_out_of_range_are_refused() -> None:
    huge = b"\x08" + b"\xff" * 8 + b"\x7f"
    with pytest.raises(ValueError, match="out of range"):
        builtins.decode_protobuf(body("v1", "ConfigMap", field(1, field(8, huge))))


def test_fields_that_are_not_in_the_table_are_skipped() -> None:
    raw = field(2, field(1, b"k") + field(2, b"v")) + field(15, b"future")
    decoded = builtins.decode_protobuf(body("v1", "ConfigMap", raw))
    assert decoded["data"] == {"k": "v"}
