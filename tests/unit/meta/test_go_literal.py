"""Go's syntax and the JSON of the same value."""

import json

import newest
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.meta.field import Bare, invalid, quote
from quarterdeck.meta.go_literal import to_json


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ('[]string{"a", "b"}', '["a","b"]'),
        ("[]string(nil)", "null"),
        ('map[string]string{"a":"b"}', '{"a":"b"}'),
        ('core.Taint{Key:"a", TimeAdded:<nil>}', '{"Key":"a","TimeAdded":null}'),
        ('intstr.IntOrString{Type:0, IntVal:3, StrVal:""}', "3"),
        ('intstr.IntOrString{Type:1, IntVal:0, StrVal:"5%"}', '"5%"'),
        (
            'v1.LabelSelector{MatchLabels:map[string]string{"a":"b"},'
            " MatchExpressions:[]v1.LabelSelectorRequirement(nil)}",
            '{"matchLabels":{"a":"b"}}',
        ),
        ("[]byte{0x61, 0x62}", '"YWI="'),
        ("0x0", "0"),
        ("cpu", '"cpu"'),
        ("core.X{Half:", '"core.X{Half:"'),
    ],
)
def test_a_literal_becomes_json(literal: str, expected: str) -> None:
    assert to_json(literal) == expected


@given(st.dictionaries(st.text(), st.text()))
def test_every_map_of_strings_is_read_back(texts: dict[str, str]) -> None:
    members = ", ".join(f"{quote(key)}:{quote(value)}" for key, value in texts.items())
    assert json.loads(to_json(f"map[string]string{{{members}}}")) == texts


@pytest.mark.parametrize(
    ("release", "expected"),
    [("1.32", 'a: Invalid value: []string{"x"}: no'), ("1.36", 'a: Invalid value: ["x"]: no')],
)
def test_messages_show_json_since_1_33(release: str, expected: str) -> None:
    with newest.being(release):
        assert str(invalid("a", Bare('[]string{"x"}'), "no")) == expected
