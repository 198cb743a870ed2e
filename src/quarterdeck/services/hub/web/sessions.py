"""Sessions of browsers: a cookie refers to a token that is kept on the server.

A session begins with a token, with a one-time link that stands for one, or with a user whom an
OpenID Connect issuer has named. All are in memory only: a restart ends every session. Identifiers
are stored as digests, so that reading the memory of this table gives no cookie that works.
"""

import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from quarterdeck.inventory.access.principal import Principal
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http import Request
from quarterdeck.kit.redaction import Secret
from quarterdeck.services.hub.web.cookies import build_cookie_name, read_cookie

LIFETIME_S = 12 * 3600.0
MAX_SESSIONS = 10_000
MAX_USER_SESSIONS = 50
"""Sessions of one user; another login ends the oldest one, so that no user fills the table."""
_COOKIE = "quarterdeck"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One browser that is logged in."""

    identifier: str
    """Digest of the cookie; names the session in caches."""
    token: Secret[str]
    """The viewer's own token, which the API server accepts; with `principal` a token that only this
    process accepts."""
    principal: Principal | None = None
    """The user that an issuer named; None where the token identifies the user."""
    user: str = ""
    """The user name, to limit sessions per user; empty for one-time links, which are few."""
    csrf: str
    """The token that requests with side effects must send in `X-CSRF-Token`."""
    expires: float
    """When it ends, by the monotonic clock."""


class Sessions:
    """Every session, oldest first; a full table drops the oldest.

    Implements `TokenVerifier` for sessions of users whom an issuer named: their token is made here
    and stays here, so that the session may outlive the ID token.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        links: Mapping[str, str] | None = None,
        lifetime_s: float = LIFETIME_S,
        is_https: bool = False,
    ) -> None:
        """`links` maps one-time codes to tokens; each code opens one session with its token.

        `is_https` says that browsers use HTTPS although this process may not: a proxy ends it.
        """
        self._is_https = is_https
        self._clock = clock
        self._lifetime_s = lifetime_s
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._links = {_digest(code): Secret(token) for code, token in (links or {}).items()}

    def redeem_link(self, code: str) -> str | None:
        """The cookie of a new session; None if the code is wrong or was used before."""
        token = self._links.pop(_digest(code), None)
        return self.open(token.reveal()) if token is not None else None

    def open(self, token: str, *, user: str = "") -> str:
        """Start a session with a token that was verified; returns the value of its cookie."""
        value = secrets.token_urlsafe(32)
        self._add(_digest(value), token, user=user)
        return value

    def open_for(self, principal: Principal) -> str:
        """Start a session of a user that an issuer named; returns the value of its cookie."""
        value = secrets.token_urlsafe(32)
        identifier = _digest(value)
        token = f"{identifier}.{secrets.token_urlsafe(32)}"
        self._add(identifier, token, user=principal.username, principal=principal)
        return value

    def _add(
        self, identifier: str, token: str, *, user: str, principal: Principal | None = None
    ) -> None:
        if user:
            own = [key for key, each in self._sessions.items() if each.user == user]
            for key in own[: max(0, len(own) - MAX_USER_SESSIONS + 1)]:
                del self._sessions[key]
        self._sessions[identifier] = Session(
            identifier=identifier,
            token=Secret(token),
            principal=principal,
            user=user,
            csrf=secrets.token_urlsafe(24),
            expires=self._clock.monotonic() + self._lifetime_s,
        )
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)

    def find(self, request: Request) -> Session | None:
        """The session of a request; None without one that is valid."""
        value = read_cookie(request, _COOKIE)
        return self._find(_digest(value)) if value else None

    async def verify(self, token: str) -> Principal | None:
        """The user of a session that an issuer opened; None for every other token."""
        session = self._find(token.partition(".")[0])
        if session is None or session.principal is None:
            return None
        return session.principal if matches(token, session.token.reveal()) else None

    def _find(self, identifier: str) -> Session | None:
        session = self._sessions.get(identifier)
        if session is not None and session.expires <= self._clock.monotonic():
            del self._sessions[identifier]
            return None
        return session

    @property
    def is_https(self) -> bool:
        """Whether browsers use HTTPS although this process may not."""
        return self._is_https

    def build_cookie(self, request: Request, value: str) -> str:
        """The `Set-Cookie` header of a session; an empty value removes it."""
        return build_cookie(request, value, is_https=self._is_https)

    def close(self, session: Session) -> None:
        """End a session."""
        self._sessions.pop(session.identifier, None)


def build_cookie(request: Request, value: str, *, is_https: bool = False) -> str:
    """The `Set-Cookie` header of a session; an empty value removes it."""
    age = int(LIFETIME_S) if value else 0
    secure = "; Secure" if request.peer.secure or is_https else ""
    name = build_cookie_name(request, _COOKIE)
    return f"{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}"


def matches(given: str | None, wanted: str) -> bool:
    """Whether a token that a page sent is the right one, compared in constant time."""
    return given is not None and hmac.compare_digest(given.encode(), wanted.encode())


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()
