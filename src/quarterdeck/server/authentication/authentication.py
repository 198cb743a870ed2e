"""Who is it: the first seam of the pipeline.

Authenticators are asked in order; the first that recognises credentials decides. A request without
credentials is anonymous, a request with credentials nobody accepts is refused.
"""

import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol

from quarterdeck.kit import http
from quarterdeck.server.authentication.certificate import CertificateError, subject
from quarterdeck.server.authentication.service_accounts.claims import AUDIENCES
from quarterdeck.server.authentication.user import ANONYMOUS, AUTHENTICATED, LOCAL, User
from quarterdeck.wire.status import Unauthorized

_CREDENTIAL = "authentication.kubernetes.io/credential-id"


class Authenticator(Protocol):
    """Recognises one kind of credentials."""

    def authenticate(self, request: http.Request) -> User | None:
        """The user, or None if the request carries no credentials of this kind.

        Raises:
            Unauthorized: if it does and they are not good.
        """
        ...


class TokenSource(Protocol):
    """Recognises bearer tokens of one kind."""

    def user_of(self, token: str, audiences: Sequence[str] = ...) -> User | None:
        """The user, or None if the token is none of this source's.

        Raises:
            Unauthorized: if it is and is not good.
        """
        ...


class Certificates:
    """Client certificates that TLS has verified: CN is the name, O are the groups."""

    def authenticate(self, request: http.Request) -> User | None:
        """Read the peer's certificate."""
        der = request.peer.certificate
        return None if der is None else _user_of(der)


@functools.lru_cache(maxsize=1024)
def _user_of(der: bytes) -> User:
    try:
        name, groups = subject(der)
    except CertificateError as error:
        raise Unauthorized from error
    digest = hashlib.sha256(der).hexdigest()
    return User(
        name=name, groups=(*groups, AUTHENTICATED), extra={_CREDENTIAL: (f"X509SHA256={digest}",)}
    )


class PlainPort:
    """The plain port acts as one local user: it is opened by the owner of the machine."""

    def authenticate(self, request: http.Request) -> User | None:
        """Everybody who comes without TLS and without a token."""
        return None if request.peer.secure else LOCAL


class Tokens:
    """Bearer tokens: static ones, and those of other sources."""

    def __init__(
        self, users: Mapping[str, User] | None = None, *, sources: Sequence[TokenSource] = ()
    ) -> None:
        self._users = dict(users or {})
        self._sources = tuple(sources)

    def with_source(self, source: TokenSource) -> "Tokens":
        """The same, and one source more."""
        return Tokens(self._users, sources=(*self._sources, source))

    def authenticate(self, request: http.Request) -> User | None:
        """Look the token up; an unknown one is an error, not anonymity."""
        header = request.headers.get("Authorization")
        if not header:
            return None
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthorized
        return self.user_of(token.strip())

    def user_of(self, token: str, audiences: Sequence[str] = AUDIENCES) -> User:
        """The user a token stands for.

        Raises:
            Unauthorized: if it stands for nobody.
        """
        if (user := self._users.get(token)) is not None:
            return user
        for source in self._sources:
            if (user := source.user_of(token, audiences)) is not None:
                return user
        raise Unauthorized


def with_accounts(
    authenticators: Sequence[Authenticator], accounts: TokenSource
) -> tuple[Authenticator, ...]:
    """The same authenticators; where tokens are read, those of service accounts are too."""
    return tuple(
        each.with_source(accounts) if isinstance(each, Tokens) else each for each in authenticators
    )


def authenticate_token(
    token: str, authenticators: Sequence[Authenticator], audiences: Sequence[str]
) -> User:
    """The user of a bearer token, for reviews.

    Raises:
        Unauthorized: if it stands for nobody, or is for others than these.
    """
    for authenticator in authenticators:
        if isinstance(authenticator, Tokens):
            return authenticator.user_of(token, audiences)
    raise Unauthorized


def authenticate(request: http.Request, authenticators: Sequence[Authenticator]) -> User:
    """Ask all in order; nobody's request is anonymous."""
    for authenticator in authenticators:
        user = authenticator.authenticate(request)
        if user is not None:
            return user
    return ANONYMOUS
