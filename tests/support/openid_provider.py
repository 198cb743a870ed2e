"""A small OpenID Connect provider over HTTPS: discovery, keys, authorization and token endpoint.

It checks what a provider must check: the client and its secret, the redirect address, that a code
is used once, and the PKCE verifier. `claims` and `refuse` make it misbehave.
"""

import base64
import contextlib
import json
import secrets
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlencode

from quarterdeck.kit import http, jwk, jws
from quarterdeck.kit.authorization_code import compute_challenge
from quarterdeck.kit.certificate import CertificateRequest, generate_key, issue_certificate
from quarterdeck.kit.pem import load_identity

CLIENT = "dashboard"
SECRET = "provider:secret/%"
PAGE = """<!doctype html><html lang="en"><title>Provider</title><h1>Example provider</h1>
<a href="{}">Continue as {}</a></html>"""


class Grant(NamedTuple):
    """What a code stands for."""

    challenge: str
    redirect_uri: str
    nonce: str
    client: str


class OpenIdProvider:
    """One provider with one user who is logged in there."""

    def __init__(self) -> None:
        self.url = ""
        self.key = generate_key()
        self.secret = SECRET
        """The client's secret; empty for a public client."""
        self.methods = ["client_secret_basic"]
        self.user: dict[str, Any] = {
            "sub": "1",
            "email": "ann@example.com",
            "email_verified": True,
            "groups": ["devs"],
        }
        self.claims: dict[str, Any] = {}
        """Claims of ID tokens that replace the right ones."""
        self.refusal = ""
        """The error that the authorization endpoint answers with."""
        self.redirect_uris: set[str] = set()
        """Addresses it may send browsers to; empty for any."""
        self.is_interactive = False
        """Whether the user clicks a link; else the browser is sent back at once."""
        self.exchanges = 0
        self._grants: dict[str, Grant] = {}

    async def handle(self, request: http.Request) -> http.Response:
        match request.path:
            case "/.well-known/openid-configuration":
                return _answer(200, self._describe())
            case "/keys":
                public = self.key.public_key()
                algorithms = jwk.list_algorithms(public)
                key = jwk.build_jwk(jwk.VerificationKey("one", public, algorithms))
                return _answer(200, {"keys": [key]})
            case "/authorize":
                return self._authorize(request)
            case "/token":
                return self._exchange(request, await request.read(65536))
            case _:
                return http.Response(404, [])

    def _describe(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "token_endpoint_auth_methods_supported": self.methods,
        }

    def _authorize(self, request: http.Request) -> http.Response:
        given = {name: values[0] for name, values in parse_qs(request.query).items()}
        uri = given["redirect_uri"]
        is_known = given["client_id"] == CLIENT and uri in (self.redirect_uris or {uri})
        if not is_known or given["code_challenge_method"] != "S256":
            return http.Response(400, [], b"unknown client")
        answer = {"state": given["state"], "iss": self.url}
        if self.refusal:
            answer["error"] = self.refusal
        else:
            answer["code"] = secrets.token_urlsafe(16)
            grant = Grant(given["code_challenge"], uri, given["nonce"], given["client_id"])
            self._grants[answer["code"]] = grant
        where = f"{uri}?{urlencode(answer)}"
        if self.is_interactive:
            page = PAGE.format(where.replace("&", "&amp;"), self.user["email"])
            return http.Response(200, [("Content-Type", "text/html")], page.encode())
        return http.Response(302, [("Location", where)])

    def _exchange(self, request: http.Request, body: bytes) -> http.Response:
        self.exchanges += 1
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        grant = self._grants.pop(form.get("code", ""), None)
        if not self._is_client(request, form):
            return _answer(401, {"error": "invalid_client"})
        if (
            grant is None
            or grant.redirect_uri != form.get("redirect_uri")
            or grant.challenge != compute_challenge(form.get("code_verifier", ""))
            or form.get("grant_type") != "authorization_code"
        ):
            return _answer(400, {"error": "invalid_grant"})
        now = datetime.now(UTC).timestamp()
        claims = {
            "iss": self.url,
            "aud": grant.client,
            "nonce": grant.nonce,
            "iat": now,
            "exp": now + 300,
            **self.user,
            **self.claims,
        }
        token = jws.sign(claims, self.key, key_id="one")
        return _answer(200, {"id_token": token, "access_token": "a", "token_type": "Bearer"})

    def _is_client(self, request: http.Request, form: dict[str, str]) -> bool:
        if not self.secret:
            return form.get("client_id") == CLIENT
        if "client_secret_post" in self.methods:
            return (form.get("client_id"), form.get("client_secret")) == (CLIENT, self.secret)
        scheme, _, given = (request.headers.get("authorization") or "").partition(" ")
        name, _, secret = base64.b64decode(given).decode().partition(":")
        return scheme == "Basic" and (unquote(name), unquote(secret)) == (CLIENT, self.secret)


@contextlib.asynccontextmanager
async def serve_provider(folder: Path) -> AsyncIterator[tuple[OpenIdProvider, Path]]:
    """A running provider, and the file with the authority of its certificate."""
    request = CertificateRequest("provider", timedelta(days=1), ("127.0.0.1",))
    authority = issue_certificate(request, now=datetime.now(UTC))
    ca_file = folder / "provider.crt"
    ca_file.write_bytes(authority.encode_certificate())
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_identity(tls, authority.encode_certificate(), authority.encode_key())
    provider = OpenIdProvider()
    async with http.Server(provider.handle) as server:
        listener = await server.listen("127.0.0.1", 0, tls=tls)
        provider.url = f"https://127.0.0.1:{listener.port}"
        yield provider, ca_file


def _answer(status: int, document: dict[str, Any]) -> http.Response:
    return http.Response(
        status, [("Content-Type", "application/json")], json.dumps(document).encode()
    )
