"""The authorization code flow, as far as it is pure: addresses, requests and answers."""

import base64
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit.authorization_code import (
    Attempt,
    Registration,
    begin_attempt,
    build_authorization_url,
    build_token_request,
    compute_challenge,
    read_id_token,
)
from quarterdeck.kit.oidc import OidcError
from quarterdeck.kit.redaction import Secret

ATTEMPT = Attempt(state="s", nonce="n", verifier="v")
HERE = "https://hub.example.com/login/callback"


def test_the_challenge_is_that_of_the_standard() -> None:
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert compute_challenge(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_two_logins_share_nothing_and_are_long_enough() -> None:
    one, two = begin_attempt(), begin_attempt()
    assert len({one.state, two.state, one.nonce, two.nonce, one.verifier, two.verifier}) == 6
    assert 43 <= len(one.verifier) <= 128


def test_an_address_keeps_the_query_of_the_issuer() -> None:
    document = {"authorization_endpoint": "https://issuer.example.com/auth?tenant=a"}
    registration = Registration(client_id="hub", scopes=("openid", "groups"))
    url = build_authorization_url(document, registration, ATTEMPT, redirect_uri=HERE)
    assert parse_qs(urlsplit(url).query) == {
        "tenant": ["a"],
        "response_type": ["code"],
        "client_id": ["hub"],
        "redirect_uri": [HERE],
        "scope": ["openid groups"],
        "state": ["s"],
        "nonce": ["n"],
        "code_challenge": [compute_challenge("v")],
        "code_challenge_method": ["S256"],
    }


@pytest.mark.parametrize("address", [None, "http://issuer.example.com/auth", "javascript:1"])
def test_an_address_without_tls_is_refused(address: str | None) -> None:
    registration = Registration(client_id="hub")
    with pytest.raises(OidcError, match="authorization_endpoint"):
        build_authorization_url(
            {"authorization_endpoint": address}, registration, ATTEMPT, redirect_uri=HERE
        )


@given(st.text(min_size=1), st.text(min_size=1))
def test_a_secret_survives_the_authorization_header(client: str, secret: str) -> None:
    registration = Registration(client_id=client, client_secret=Secret(secret))
    headers, body = build_token_request({}, registration, code="c", verifier="v", redirect_uri=HERE)
    given = base64.b64decode(dict(headers)["Authorization"].removeprefix("Basic ")).decode()
    name, _, value = given.partition(":")
    assert parse_qs(f"n={name}&v={value}") == {"n": [client], "v": [secret]}
    assert b"client_secret" not in body


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b'{"access_token": "very-secret"}'),
        (200, b"very-secret"),
        (400, b'{"error": "invalid_grant", "id_token": "very-secret"}'),
        (500, b'["very-secret"]'),
    ],
)
def test_an_answer_without_an_id_token_is_an_error_that_hides_it(status: int, body: bytes) -> None:
    with pytest.raises(OidcError) as caught:
        read_id_token(status, body)
    assert "very-secret" not in str(caught.value)
