"""Join tokens: parsed exactly, stored as hashes, compared in constant time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.attest.errors import InvalidToken
from quarterdeck.attest.join_token import generate_token, hash_token, matches_hash, parse_token


def test_a_token_reads_back_equal() -> None:
    token = generate_token()
    assert parse_token(token.reveal()) == token
    assert matches_hash(parse_token(token.reveal()), hash_token(token))


def test_two_tokens_are_never_equal() -> None:
    tokens = [generate_token() for _ in range(100)]
    assert len({token.id for token in tokens}) == 100
    assert len({hash_token(token) for token in tokens}) == 100


def test_different_tokens_have_different_hashes() -> None:
    one, two = generate_token(), generate_token()
    assert not matches_hash(one, hash_token(two))


def test_secret_is_not_shown() -> None:
    token = generate_token()
    assert token.secret.reveal() not in repr(token)


@given(st.text())
def test_text_that_is_not_a_token_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(InvalidToken) as caught:
        parse_token("hf1.x" + text)
    assert len(text) < 4 or text not in str(caught.value)
