"""Syntax errors of JSON, in the words of Go."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.wire.json_errors import find_syntax_error


@given(st.text(max_size=200))
def test_scanner_and_reader_agree_on_what_is_json(text: str) -> None:
    try:
        json.loads(text)
        is_json = not any(word in text for word in ("NaN", "Infinity"))
    except ValueError:
        is_json = False
    assert (find_syntax_error(text) == "") is is_json


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


@given(_JSON)
def test_scanner_accepts_every_document(value: Any) -> None:
    text = json.dumps(value)
    if "Infinity" not in text:
        assert find_syntax_error(text) == ""
        assert text[:-1] == "" or isinstance(find_syntax_error(text[:-1]), str)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        ("{bad", "invalid character 'b' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ("[1 2]", "invalid character '2' after array element"),
        ("nul", "unexpected end of JSON input"),
        ("nulx", "invalid character 'x' in literal null (expecting 'l')"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ('"\\q"', "invalid character 'q' in string escape code"),
        ('"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"),
        ("[" * 20_000, "exceeded max depth"),
    ],
)
def test_problems_are_worded_as_go_words_them(text: str, problem: str) -> None:
    assert find_syntax_error(text) == problem
