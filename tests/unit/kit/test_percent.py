"""Percent-encoding is that of the standard library."""

from urllib import parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit.percent import quote

SAFE = ["", "/", ":@!$&'()*+,;=-._~"]


@given(st.text(), st.sampled_from(SAFE))
def test_any_text_is_encoded_as_by_the_standard_library(text: str, safe: str) -> None:
    assert quote(text, safe=safe) == parse.quote(text, safe=safe)
    assert parse.unquote(quote(text, safe=safe)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", ""), ("a-Z_0.~", "a-Z_0.~"), ("a=b,c", "a%3Db%2Cc"), ("é/ ", "%C3%A9%2F%20")],
)
def test_unreserved_characters_stay(text: str, expected: str) -> None:
    assert quote(text) == expected
