"""Log in through an OpenID Connect issuer.

    /login/oidc?next=/clusters   sends the browser to the issuer
    /login/callback?code&state   turns its answer into a session

The values of a login are in a cookie of the browser that began it, not in this process: any replica
can finish it, and many attempts cannot fill a table. The cookie is Lax because the browser
comes back from another site. The cookie of the session stays Strict.
"""

import hmac
from urllib.parse import parse_qs, quote, urlsplit

import msgspec

from quarterdeck.inventory.access.principal import Principal
from quarterdeck.kit import base64url
from quarterdeck.kit import json as kit_json
from quarterdeck.kit.authorization_code import Attempt, CodeFlow, begin_attempt, check_binding
from quarterdeck.kit.http import Request, Response
from quarterdeck.kit.oidc import OidcError
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.services.hub.errors import HubApiError, Unauthenticated
from quarterdeck.services.hub.identity import TokenVerifier
from quarterdeck.services.hub.web.assets import SECURITY
from quarterdeck.services.hub.web.cookies import build_cookie_name, read_cookie
from quarterdeck.services.hub.web.sessions import Sessions

BEGIN = "/login/oidc"
CALLBACK = "/login/callback"
LIFETIME_S = 600
_COOKIE = "quarterdeck-login"
_NO_STORE = ("Cache-Control", "no-store")
_MAX_NEXT_CHARS = 1000


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A login that a browser has begun, as its cookie holds it."""

    attempt: Attempt
    next: str
    """The path to show afterwards."""


class OidcLogin:
    """Logs browsers in through one issuer."""

    def __init__(
        self,
        flow: CodeFlow,
        verifier: TokenVerifier,
        sessions: Sessions,
        *,
        public_url: str = "",
    ) -> None:
        """`public_url` is the URL of this hub for browsers; empty uses the Host of each request."""
        self._flow = flow
        self._verifier = verifier
        self._sessions = sessions
        self._public_url = public_url.rstrip("/")
        self._log = get_logger("hub")

    @property
    def label(self) -> str:
        """The host of the issuer, to show on the button."""
        return urlsplit(self._flow.issuer.expected.issuer).netloc

    async def begin(self, request: Request) -> Response:
        """Send the browser to the issuer."""
        if request.method != "GET":
            return Response(405, [("Allow", "GET"), *SECURITY])
        attempt = begin_attempt()
        wanted = (parse_qs(request.query).get("next") or ["/"])[0]
        pending = Pending(attempt=attempt, next=wanted if is_own_path(wanted) else "/")
        try:
            url = await self._flow.build_url(attempt, redirect_uri=self._redirect_uri(request))
        except OidcError as error:
            self._log.warning("login failed", reason=str(error))
            return _redirect("/?login=unavailable")
        return _redirect(url, self._build_cookie(request, pending))

    async def finish(self, request: Request) -> Response:
        """Open a session for the user that the issuer names."""
        if request.method != "GET":
            return Response(405, [("Allow", "GET"), *SECURITY])
        given = {name: values[0] for name, values in parse_qs(request.query).items()}
        pending = _read_pending(request)
        done = self._build_cookie(request, None)
        if pending is None or not _matches(given.get("state", ""), pending.attempt.state):
            return _redirect("/?login=expired", done)
        if "error" in given or not given.get("code"):
            self._log.info("login denied", reason=given.get("error", "no code")[:100])
            return _redirect("/?login=denied", done)
        try:
            self._check_issuer(given.get("iss"))
            principal = await self._identify(request, given["code"], pending.attempt)
        except (OidcError, HubApiError) as error:
            self._log.warning("login failed", reason=str(error))
            return _redirect("/?login=failed", done)
        self._log.info("logged in", user=principal.username)
        cookie = self._sessions.build_cookie(request, self._sessions.open_for(principal))
        return _redirect(pending.next, done, cookie)

    async def _identify(self, request: Request, code: str, attempt: Attempt) -> Principal:
        id_token = await self._flow.exchange(
            code, attempt, redirect_uri=self._redirect_uri(request)
        )
        principal = await self._verifier.verify(id_token)
        if principal is None:
            raise Unauthenticated("the ID token was issued by another issuer")
        check_binding(id_token, self._flow.registration, nonce=attempt.nonce)
        return principal

    def _check_issuer(self, given: str | None) -> None:
        """Refuse the answer of another issuer (RFC 9207)."""
        if given is not None and given != self._flow.issuer.expected.issuer:
            raise OidcError("the answer came from another issuer")

    def _build_cookie(self, request: Request, pending: Pending | None) -> str:
        """The `Set-Cookie` header of a login that has begun; None removes it."""
        value = base64url.encode(kit_json.encode(pending)) if pending else ""
        age = LIFETIME_S if pending else 0
        name = build_cookie_name(request, _COOKIE)
        is_https = request.peer.secure or self._sessions.is_https
        secure = "; Secure" if is_https or self._public_url.startswith("https:") else ""
        return f"{name}={value}; Path=/login; HttpOnly; SameSite=Lax; Max-Age={age}{secure}"

    def _redirect_uri(self, request: Request) -> str:
        if self._public_url:
            return self._public_url + CALLBACK
        scheme = "https" if request.peer.secure else "http"
        return f"{scheme}://{request.headers.get('host') or ''}{CALLBACK}"


def is_own_path(path: str) -> bool:
    """Whether a redirect to a path stays on this site."""
    if not path.startswith("/") or len(path) > _MAX_NEXT_CHARS:
        return False
    is_printable = path.isascii() and path.isprintable()
    return is_printable and "\\" not in path and not path.startswith("//")


def _matches(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _read_pending(request: Request) -> Pending | None:
    value = read_cookie(request, _COOKIE)
    try:
        pending = msgspec.json.decode(base64url.decode(value), type=Pending)
    except (ValueError, msgspec.MsgspecError):
        return None
    return pending if is_own_path(pending.next) else None


def _redirect(target: str, *cookies: str) -> Response:
    location = quote(target, safe=":/?#[]@!$&'()*+,;=%-._~")
    headers = [("Location", location), _NO_STORE, *SECURITY]
    return Response(303, [*headers, *(("Set-Cookie", each) for each in cookies)])
