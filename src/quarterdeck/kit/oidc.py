"""OpenID Connect: verify ID tokens of an issuer, with its keys fetched and kept current.

`check_id_token` is pure. `Issuer` fetches the discovery document and the key set over HTTPS, and
fetches the keys again when none of those it knows has signed a token, at most once in ten seconds:
issuers rotate their keys, and a client with forged tokens must not cause many requests to them.
"""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from quarterdeck.kit import http, jwk, jws
from quarterdeck.kit import json as kit_json
from quarterdeck.kit.clock import Clock

NOT_BEFORE_LEEWAY_S = 300
"""How far the issuer's clock may be ahead, as in Kubernetes. The end of a token has no leeway."""
DISCOVERY_PATH = "/.well-known/openid-configuration"
DEFAULT_ALGORITHMS = ("RS256",)
_REFETCH_S = 10.0
_FETCH_TIMEOUT_S = 10.0
_MAX_DOCUMENT_BYTES = 1024 * 1024


class OidcError(Exception):
    """Raised when an ID token is refused, or the documents of an issuer cannot be read."""


class KeysNotFetched(OidcError):
    """Raised when a token may be good, but the keys to verify it are not known yet."""


class NotVerified(OidcError):
    """Raised when none of the known keys has signed a token."""


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """The claims that an ID token must have."""

    issuer: str
    """The exact `iss`."""
    audiences: tuple[str, ...]
    """At least one of them must be in `aud`."""
    algorithms: tuple[str, ...] = DEFAULT_ALGORITHMS
    required_claims: Mapping[str, str] = {}
    """Claims with the exact text they must have."""


def check_id_token(
    token: jws.Token, keys: Sequence[jwk.VerificationKey], expected: Expectation, *, now: float
) -> Mapping[str, Any]:
    """The claims of an ID token that is good now; `now` is in seconds since 1970.

    Raises:
        OidcError: naming the check that failed.
    """
    if token.algorithm not in expected.algorithms:
        raise OidcError(f"the algorithm {token.algorithm!r} is not accepted")
    try:
        claims = jws.verify(token, keys)
    except jws.InvalidToken as error:
        raise NotVerified(str(error)) from error
    if claims.get("iss") != expected.issuer:
        raise OidcError(f"the token was issued by another issuer than {expected.issuer}")
    if not set(list_audiences(claims)) & set(expected.audiences):
        raise OidcError(f"the token is not for the audience {' or '.join(expected.audiences)}")
    expires, begins = claims.get("exp"), claims.get("nbf", 0)
    if not isinstance(expires, int | float) or not isinstance(begins, int | float):
        raise OidcError("the claims exp and nbf of the token must be numbers")
    if not begins - NOT_BEFORE_LEEWAY_S <= now < expires:
        raise OidcError("the token has expired or is not valid yet")
    for name, value in expected.required_claims.items():
        if claims.get(name) != value:
            raise OidcError(f"the claim {name!r} of the token must be {value!r}")
    return claims


def list_audiences(claims: Mapping[str, Any]) -> list[str]:
    """The audiences of a token, which are one text or a list."""
    found = claims.get("aud")
    if isinstance(found, str):
        return [found]
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def check_issuer_url(url: str) -> None:
    """Check that an issuer can be trusted by its address.

    Raises:
        OidcError: unless it is `https://`, without query and fragment.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.netloc or parts.query or parts.fragment:
        raise OidcError(f"the issuer {url!r} must be an https:// URL without query and fragment")


class Issuer:
    """An OpenID issuer and its keys."""

    def __init__(
        self, expected: Expectation, *, clock: Clock, tls: ssl.SSLContext | None = None
    ) -> None:
        check_issuer_url(expected.issuer)
        self.expected = expected
        self._clock = clock
        self._tls = tls
        self._keys: list[jwk.VerificationKey] = []
        self._fetched_at: float | None = None
        self._lock = asyncio.Lock()
        self.last_error = ""
        """Why the keys could not be fetched the last time; empty if they were."""

    def has_issued(self, token: jws.Token) -> bool:
        """Whether a token names this issuer; its signature is not verified here."""
        return token.claims.get("iss") == self.expected.issuer

    def check(self, token: jws.Token) -> Mapping[str, Any]:
        """The claims of a good token.

        Raises:
            KeysNotFetched: if `fetch_keys` may help.
            OidcError: if the token is refused.
        """
        names = {each.key_id for each in self._keys}
        is_known = token.key_id in names if token.key_id else bool(self._keys)
        if not is_known and self._may_know_more():
            raise KeysNotFetched("the key that signed the token has not been fetched")
        now = self._clock.now().timestamp()
        try:
            return check_id_token(token, self._keys, self.expected, now=now)
        except NotVerified as error:  # keys without a name are rotated too, and names used again
            if self._may_know_more():
                raise KeysNotFetched("no known key has signed the token") from error
            raise

    async def fetch_keys(self) -> None:
        """Fetch the keys unless they were just fetched; a failure is kept in `last_error`."""
        async with self._lock:
            if not self._may_fetch():
                return
            self._fetched_at = self._clock.monotonic()
            try:
                self._keys = await self._fetch_keys()
                self.last_error = ""
            except (OidcError, http.HttpError, OSError, TimeoutError, jwk.InvalidKey) as error:
                self.last_error = str(error) or type(error).__name__

    def _may_know_more(self) -> bool:
        """Whether `fetch_keys` may help: it fetches the keys, or waits for a fetch under way."""
        return self._lock.locked() or self._may_fetch()

    def _may_fetch(self) -> bool:
        if self._fetched_at is None:
            return True
        return self._clock.monotonic() - self._fetched_at >= _REFETCH_S

    async def fetch_document(self) -> Mapping[str, Any]:
        """The discovery document, which names the addresses of the issuer.

        Raises:
            OidcError: if it cannot be read, or is of another issuer.
        """
        try:
            async with asyncio.timeout(_FETCH_TIMEOUT_S), http.Client(tls=self._tls) as client:
                return await self._read_document(client)
        except (http.HttpError, OSError, TimeoutError) as error:
            cause = str(error) or type(error).__name__
            raise OidcError(f"cannot reach the issuer {self.expected.issuer}: {cause}") from error

    async def _fetch_keys(self) -> list[jwk.VerificationKey]:
        async with asyncio.timeout(_FETCH_TIMEOUT_S), http.Client(tls=self._tls) as client:
            document = await self._read_document(client)
            keys_url = find_address(document, "jwks_uri")
            return jwk.parse_key_set(await _fetch_json(client, keys_url))

    async def _read_document(self, client: http.Client) -> Mapping[str, Any]:
        url = self.expected.issuer.rstrip("/") + DISCOVERY_PATH
        document = await _fetch_json(client, url)
        if not isinstance(document, dict) or document.get("issuer") != self.expected.issuer:
            raise OidcError(
                f"{url} is not the discovery document of the issuer {self.expected.issuer}"
            )
        return document


def find_address(document: Mapping[str, Any], name: str) -> str:
    """An address that a discovery document names.

    Raises:
        OidcError: unless it is an `https://` URL.
    """
    found = document.get(name)
    if not isinstance(found, str) or urlsplit(found).scheme != "https":
        raise OidcError(f"{name} of the issuer {document.get('issuer')} must be an https:// URL")
    return found


async def _fetch_json(client: http.Client, url: str) -> object:
    response = await client.request("GET", url)
    body = await response.read(_MAX_DOCUMENT_BYTES)
    if response.status != 200:
        raise OidcError(f"GET {url}: unexpected status {response.status}; expected 200")
    try:
        found: object = kit_json.decode(body)
    except ValueError as error:
        raise OidcError(f"GET {url}: the response is not JSON") from error
    return found
