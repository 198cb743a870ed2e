"""Floats without a fraction: integers once an object is written."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.kit import json as kit_json
from quarterdeck.server.registry.go_numbers import may_have_whole_floats, write_whole_floats

NUMBERS = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(1000.0, "1000", id="whole"),
        pytest.param(-0.5, "-0.5", id="fraction"),
        pytest.param(1e20, "100000000000000000000", id="beyond 64 bits"),
        pytest.param(True, "true", id="boolean"),
        pytest.param("1.0", '"1.0"', id="text"),
    ],
)
def test_only_whole_floats_are_written_as_integers(before: Any, after: str) -> None:
    value = {"a": [before, {"b": before}]}
    write_whole_floats(value)
    assert kit_json.encode(value).decode() == f'{{"a":[{after},{{"b":{after}}}]}}'


@settings(max_examples=30)
@given(st.lists(NUMBERS | st.text(max_size=3), max_size=5))
def test_no_value_changes(members: list[Any]) -> None:
    value = {"a": members, "b": {"c": members}}
    written = kit_json.decode(kit_json.encode(value))
    write_whole_floats(written)
    assert written == value
    kinds = [type(each) for each in written["a"]]
    assert not [
        each
        for each, kind in zip(members, kinds, strict=True)
        if kind is float and float(each).is_integer() and abs(each) < 1e21
    ]


def test_a_whole_float_is_found_wherever_it_stands() -> None:
    for value in ({"a": 1.0}, {"a": [1.0]}, {"a": 1.0, "b": "x"}):
        assert may_have_whole_floats(kit_json.encode(value))
    assert not may_have_whole_floats(kit_json.encode({"a": 1, "b": "1.0", "c": 1.05}))
