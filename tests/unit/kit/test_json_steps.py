"""JSON that is read in steps is the JSON that is read at once."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import json as kit_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=40,
)


@pytest.fixture
def tiny_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every value of a few bytes is cut into its members."""
    monkeypatch.setattr(kit_json, "_STEP_BYTES", 4)


@pytest.mark.usefixtures("tiny_steps")
@given(value=VALUES, indent=st.sampled_from([None, 1]))
def test_steps_read_the_same(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent).encode()
    assert kit_json.decode_in_steps(text) == kit_json.decode(text)


@pytest.mark.usefixtures("tiny_steps")
@pytest.mark.parametrize(
    "text",
    [
        b'{"a": [1, 2, nul]}',
        b'{"a": {"b": "\xff\xff"}}',
        b'{"a": 1',
        b"[" * 100_000,
        b'{"a": 1} b',
        b'{"aaaa": 01}',
    ],
)
def test_errors_are_the_same(text: bytes) -> None:
    with pytest.raises(kit_json.JsonError) as expected:
        kit_json.decode(text)
    with pytest.raises(kit_json.JsonError) as found:
        kit_json.decode_in_steps(text)
    assert str(found.value) == str(expected.value)
