"""Protobuf bodies as kubectl and client-go send them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_a_body_without_the_magic_is_refused() -> None:
    with pytest.raises(ValueError, match="does not appear to be a protobuf message"):
        builtins.decode_protobuf(b'{"kind":"Pod"}')


def test_an_unknown_kind_is_refused_by_name() -> None:
    envelope = b"k8s\x00\x0a\x0a\x0a\x02v1\x12\x04Nope"
    with pytest.raises(ValueError, match='no kind "Nope" is registered for version "v1"'):
        builtins.decode_protobuf(envelope)


@settings(max_examples=200, deadline=None)
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
