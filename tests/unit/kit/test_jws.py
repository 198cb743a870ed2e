"""Signed tokens: which keys verify which, and what is refused."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import base64url, jwk, jws

RSA = rsa.generate_private_key(65537, 2048)
EC_KEYS = [
    ec.generate_private_key(curve) for curve in (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1())
]
KEYS: list["jwk.PrivateKey"] = [RSA, *EC_KEYS]


def public(key: "jwk.PrivateKey", name: str = "k") -> jwk.VerificationKey:
    return jwk.VerificationKey(name, key.public_key(), jwk.list_algorithms(key.public_key()))


@pytest.mark.parametrize("key", KEYS, ids=["RSA", "P-256", "P-384", "P-521"])
def test_every_key_verifies_its_own_tokens_and_no_others(key: "jwk.PrivateKey") -> None:
    token = jws.parse_token(jws.sign({"sub": "x"}, key, key_id="k"))
    assert jws.verify(token, [public(key)]) == {"sub": "x"}
    with pytest.raises(jws.InvalidToken):
        jws.verify(token, [public(other) for other in KEYS if other is not key])
    with pytest.raises(jws.InvalidToken):
        jws.verify(token, [public(key, "another name")])


@pytest.mark.parametrize("key", KEYS, ids=["RSA", "P-256", "P-384", "P-521"])
def test_keys_survive_a_key_set(key: "jwk.PrivateKey") -> None:
    document = json.loads(json.dumps({"keys": [jwk.build_jwk(public(key)), {"kty": "oct"}, 3]}))
    found = jwk.parse_key_set(document)
    token = jws.parse_token(jws.sign({"sub": "x"}, key, key_id="k"))
    assert len(found) == 1
    assert jws.verify(token, found) == {"sub": "x"}


@pytest.mark.parametrize("header", [{"alg": "none"}, {"alg": "HS256"}, {"alg": "ES256"}, {}])
def test_algorithm_of_the_header_cannot_weaken_a_key(header: dict[str, str]) -> None:
    _, claims, signature = jws.sign({"sub": "x"}, RSA, key_id="k").split(".")
    head = base64url.encode(json.dumps(header).encode())
    with pytest.raises(jws.InvalidToken):
        jws.verify(jws.parse_token(f"{head}.{claims}.{signature}"), [public(RSA)])


def test_short_keys_are_refused() -> None:
    short = rsa.generate_private_key(65537, 1024)
    with pytest.raises(jwk.InvalidKey, match="1024 bits"):
        jwk.list_algorithms(short.public_key())


@given(st.text(max_size=80) | st.binary(max_size=60).map(base64url.encode))
def test_any_text_is_a_token_or_refused(text: str) -> None:
    for candidate in (text, f"{text}.{text}.{text}"):
        try:
            jws.parse_token(candidate)
        except jws.InvalidToken:
            continue


@pytest.mark.parametrize("document", [None, [], {}, {"keys": 1}])
def test_other_documents_are_no_key_sets(document: object) -> None:
    with pytest.raises(jwk.InvalidKey):
        jwk.parse_key_set(document)
