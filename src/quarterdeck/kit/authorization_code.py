"""OpenID Connect's authorization code flow with PKCE (RFC 6749, RFC 7636): one login of a browser.

The browser is sent to the issuer with a state, a nonce and the digest of a verifier. It comes back
with a code, which this process exchanges for an ID token by showing the verifier. The state binds
the response to the browser, the nonce the token to the login, the verifier the code to this client.
Everything but `CodeFlow.exchange` and the discovery document is pure.
"""

import asyncio
import base64
import hashlib
import secrets
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from quarterdeck.kit import base64url, http, jws
from quarterdeck.kit import json as kit_json
from quarterdeck.kit.oidc import Issuer, OidcError, find_address, list_audiences
from quarterdeck.kit.redaction import Masker, Secret

_TIMEOUT_S = 10.0
_MAX_ANSWER_BYTES = 1024 * 1024
_NO_SECRETS = Masker()
_BASIC = "client_secret_basic"
_POST = "client_secret_post"
_SHOWN_CHARS = 200


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """The registration of this process as a client of the issuer."""

    client_id: str
    client_secret: Secret[str] = Secret("")
    """Empty for a public client, which proves itself by PKCE alone."""
    scopes: tuple[str, ...] = ("openid", "email", "profile")


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """The random values of one login, which an attacker cannot guess."""

    state: str
    nonce: str
    verifier: str


def begin_attempt() -> Attempt:
    """New values for one login."""
    return Attempt(
        state=secrets.token_urlsafe(24),
        nonce=secrets.token_urlsafe(24),
        verifier=secrets.token_urlsafe(48),
    )


def compute_challenge(verifier: str) -> str:
    """The digest of a verifier, as the method S256 writes it."""
    return base64url.encode(hashlib.sha256(verifier.encode()).digest())


def build_authorization_url(
    document: Mapping[str, Any],
    registration: Registration,
    attempt: Attempt,
    *,
    redirect_uri: str,
) -> str:
    """Where to send the browser, by the discovery document of the issuer.

    Raises:
        OidcError: if the document names no such address.
    """
    endpoint = find_address(document, "authorization_endpoint")
    query = urlencode(
        {
            "response_type": "code",
            "client_id": registration.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(registration.scopes),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": compute_challenge(attempt.verifier),
            "code_challenge_method": "S256",
        },
        quote_via=quote,
    )
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{query}"


def build_token_request(
    document: Mapping[str, Any],
    registration: Registration,
    *,
    code: str,
    verifier: str,
    redirect_uri: str,
) -> tuple[list[tuple[str, str]], bytes]:
    """Headers and body of the request that exchanges a code for tokens.

    A secret goes into the Authorization header unless the issuer accepts it in the body only.
    """
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "client_id": registration.client_id,
        "code_verifier": verifier,
    }
    headers = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Accept", "application/json"),
    ]
    secret = registration.client_secret.reveal()
    methods = document.get("token_endpoint_auth_methods_supported")
    if secret and isinstance(methods, list) and _POST in methods and _BASIC not in methods:
        form["client_secret"] = secret
    elif secret:
        pair = f"{quote(registration.client_id, safe='')}:{quote(secret, safe='')}"
        headers.append(("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"))
    return headers, urlencode(form).encode()


def check_binding(id_token: str, registration: Registration, *, nonce: str) -> None:
    """Check that an ID token, whose signature was verified, is the answer to this login.

    Raises:
        OidcError: if its nonce does not match, or it was issued to another client.
    """
    claims = jws.parse_token(id_token).claims
    given = claims.get("nonce")
    if not isinstance(given, str) or not secrets.compare_digest(given.encode(), nonce.encode()):
        raise OidcError("the nonce of the ID token does not match this login; log in again")
    party = claims.get("azp")
    is_shared = len(list_audiences(claims)) > 1
    if (party is not None or is_shared) and party != registration.client_id:
        raise OidcError(
            f"the ID token was issued to another client than {registration.client_id!r}"
        )


class CodeFlow:
    """The authorization code flow with one issuer, for one registration."""

    def __init__(
        self, issuer: Issuer, registration: Registration, *, tls: ssl.SSLContext | None = None
    ) -> None:
        self.issuer = issuer
        self.registration = registration
        self._tls = tls

    async def build_url(self, attempt: Attempt, *, redirect_uri: str) -> str:
        """Where to send the browser.

        Raises:
            OidcError: if the issuer does not answer.
        """
        document = await self.issuer.fetch_document()
        return build_authorization_url(
            document, self.registration, attempt, redirect_uri=redirect_uri
        )

    async def exchange(self, code: str, attempt: Attempt, *, redirect_uri: str) -> str:
        """The ID token for a code; nothing in it is verified yet.

        Raises:
            OidcError: if the issuer does not answer, or refuses the code.
        """
        document = await self.issuer.fetch_document()
        url = find_address(document, "token_endpoint")
        headers, body = build_token_request(
            document,
            self.registration,
            code=code,
            verifier=attempt.verifier,
            redirect_uri=redirect_uri,
        )
        masker = Masker(self.registration.client_secret, Secret(code), Secret(attempt.verifier))
        try:
            async with asyncio.timeout(_TIMEOUT_S), http.Client(tls=self._tls) as client:
                response = await client.request("POST", url, headers=headers, body=body)
                answer = await response.read(_MAX_ANSWER_BYTES)
                return read_id_token(response.status, answer, masker)
        except (http.HttpError, OSError, TimeoutError) as error:
            cause = str(error) or type(error).__name__
            raise OidcError(f"cannot reach the token endpoint {url}: {cause}") from error


def read_id_token(status: int, body: bytes, masker: Masker = _NO_SECRETS) -> str:
    """The ID token in a response of a token endpoint; `masker` hides secrets in its errors.

    Raises:
        OidcError: with the error that the issuer names. The answer itself is not repeated: it can
            hold tokens.
    """
    try:
        answer: object = kit_json.decode(body)
    except ValueError:
        answer = None
    found = answer if isinstance(answer, dict) else {}
    token = found.get("id_token")
    if status == 200 and isinstance(token, str):
        return token
    if status == 200:
        raise OidcError("the response of the token endpoint has no ID token")
    named = found.get("error")
    cause = masker.mask(named)[:_SHOWN_CHARS] if isinstance(named, str) else "no reason given"
    raise OidcError(f"the token endpoint responded with status {status}: {cause}")
