"""Join tokens: parsed exactly, stored as hashes, compared in constant time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.attest.errors import InvalidToken
from quarterdeck.attest.join_token import generate_token, hash_token, matches_hash, parse_token


def test_token_survives_the_way() -> None:
    token = generate_token()
    assert parse_token(token.reveal()) == token
    assert matches_hash(parse_token(token.reveal()), hash_token(token))


def test_no_two_tokens_are_alike() -> None:
    tokens = [generate_token() for _ in range(100)]
    assert len({token.id for token in tokens}) == 100
    assert len({hash_token(token) for token in tokens}) == 100


def test_hash_is_of_one_token_only() -> None:
    one, two = generate_token(), generate_token()
    assert not matches_hash(one, hash_token(two))


def test_secret_is_not_shown() -> None:
    token = generate_token()
    assert token.secret.reveal() not in repr(token)


@given(st.text())
def test_other_texts_are_refused_without_repeating_them(text: str) -> None:
    with pytest.raises(InvalidToken) as caught:
        parse_token("hf1.x" + text)
    assert len(text) < 4 or text not in str(caught.value)
