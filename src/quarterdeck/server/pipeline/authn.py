"""Who is it: the first seam of the pipeline.

Authenticators are asked in order; the first that recognises credentials decides. A request without
credentials is anonymous, a request with credentials nobody accepts is refused.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from quarterdeck.kit import http
from quarterdeck.server.identity import ANONYMOUS, AUTHENTICATED, LOCAL, User
from quarterdeck.server.pipeline.certificate import CertificateError, subject
from quarterdeck.wire.status import Unauthorized


class Authenticator(Protocol):
    """Recognises one kind of credentials."""

    def authenticate(self, request: http.Request) -> User | None:
        """The user, or None if the request carries no credentials of this kind.

        Raises:
            Unauthorized: if it does and they are not good.
        """
        ...


class Certificates:
    """Client certificates that TLS has verified: CN is the name, O are the groups."""

    def authenticate(self, request: http.Request) -> User | None:
        """Read the peer's certificate."""
        der = request.peer.certificate
        if der is None:
            return None
        try:
            name, groups = subject(der)
        except CertificateError as error:
            raise Unauthorized from error
        return User(name=name, groups=(*groups, AUTHENTICATED))


class PlainPort:
    """The plain port acts as one local user: it is opened by the owner of the machine."""

    def authenticate(self, request: http.Request) -> User | None:
        """Everybody who comes without TLS and without a token."""
        return None if request.peer.secure else LOCAL


class Tokens:
    """Static bearer tokens."""

    def __init__(self, users: Mapping[str, User] | None = None) -> None:
        self._users = dict(users or {})

    def authenticate(self, request: http.Request) -> User | None:
        """Look the token up; an unknown one is an error, not anonymity."""
        header = request.headers.get("Authorization")
        if not header:
            return None
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthorized
        return self.user_of(token.strip())

    def user_of(self, token: str) -> User:
        """The user a token stands for.

        Raises:
            Unauthorized: if it stands for nobody.
        """
        user = self._users.get(token)
        if user is None:
            raise Unauthorized
        return user


def authenticate_token(token: str, authenticators: Sequence[Authenticator]) -> User | None:
    """The user of a bearer token, for reviews.

    Raises:
        Unauthorized: if it is known to be bad.
    """
    for authenticator in authenticators:
        if isinstance(authenticator, Tokens):
            return authenticator.user_of(token)
    return None


def authenticate(request: http.Request, authenticators: Sequence[Authenticator]) -> User:
    """Ask all in order; nobody's request is anonymous."""
    for authenticator in authenticators:
        user = authenticator.authenticate(request)
        if user is not None:
            return user
    return ANONYMOUS
