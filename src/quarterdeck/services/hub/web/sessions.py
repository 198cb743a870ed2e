"""Sessions of browsers: a cookie stands for a token that the browser itself never keeps.

A session begins with a token, or with a one-time link that stands for one. Both are in memory
only: a restart ends every session. Identifiers are stored as digests, so that reading the memory
of this table gives no cookie that works.
"""

import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http import Request
from quarterdeck.kit.redaction import Secret

LIFETIME_S = 12 * 3600.0
MAX_SESSIONS = 10_000
_COOKIE = "quarterdeck"
_HTTP_PORTS = ("", "80", "443")


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One browser that is logged in."""

    identifier: str
    """Digest of the cookie; names the session in caches."""
    token: Secret[str]
    """The viewer's own token, as the API server knows it."""
    csrf: str
    """What a request that changes something must repeat in `X-CSRF-Token`."""
    expires: float
    """When it ends, by the monotonic clock."""


class Sessions:
    """Every session, oldest first; a full table drops the oldest."""

    def __init__(
        self,
        *,
        clock: Clock,
        links: Mapping[str, str] | None = None,
        lifetime_s: float = LIFETIME_S,
    ) -> None:
        """`links` are codes that each open one session, once, with the token they stand for."""
        self._clock = clock
        self._lifetime_s = lifetime_s
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._links = {_digest(code): Secret(token) for code, token in (links or {}).items()}

    def redeem_link(self, code: str) -> str | None:
        """The cookie of a new session; None if the code is wrong or was used before."""
        token = self._links.pop(_digest(code), None)
        return self.open(token.reveal()) if token is not None else None

    def open(self, token: str) -> str:
        """Start a session with a token that was verified; returns the value of its cookie."""
        value = secrets.token_urlsafe(32)
        identifier = _digest(value)
        self._sessions[identifier] = Session(
            identifier=identifier,
            token=Secret(token),
            csrf=secrets.token_urlsafe(24),
            expires=self._clock.monotonic() + self._lifetime_s,
        )
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return value

    def find(self, request: Request) -> Session | None:
        """The session of a request; None without one that is valid."""
        value = read_cookie(request)
        if not value:
            return None
        identifier = _digest(value)
        session = self._sessions.get(identifier)
        if session is not None and session.expires <= self._clock.monotonic():
            del self._sessions[identifier]
            return None
        return session

    def close(self, session: Session) -> None:
        """End a session."""
        self._sessions.pop(session.identifier, None)


def build_cookie(request: Request, value: str, *, lifetime_s: float = LIFETIME_S) -> str:
    """The `Set-Cookie` header of a session; an empty value removes it."""
    age = int(lifetime_s) if value else 0
    secure = "; Secure" if request.peer.secure else ""
    name = _cookie_name(request)
    return f"{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}"


def read_cookie(request: Request) -> str:
    """The value of the session's cookie; empty without one."""
    name = _cookie_name(request)
    for header in request.headers.get_all("cookie"):
        for pair in header.split(";"):
            key, _, value = pair.strip().partition("=")
            if key == name:
                return value
    return ""


def matches(given: str | None, wanted: str) -> bool:
    """Whether a token that a page sent is the right one, compared in constant time."""
    return given is not None and hmac.compare_digest(given.encode(), wanted.encode())


def _cookie_name(request: Request) -> str:
    """Browsers share cookies between ports of a host: the name says which port it is of."""
    port = (request.headers.get("host") or "").rpartition("]")[2].rpartition(":")[2]
    return _COOKIE if port in _HTTP_PORTS or not port.isdigit() else f"{_COOKIE}-{port}"


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()
