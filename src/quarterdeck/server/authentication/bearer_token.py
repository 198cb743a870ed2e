"""Bearer tokens: static ones, and tokens of other sources such as service accounts."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from quarterdeck.kit import http
from quarterdeck.server.authentication.authenticator import Authenticator
from quarterdeck.server.authentication.refusal import CredentialsRefused
from quarterdeck.server.authentication.service_accounts.claims import AUDIENCES
from quarterdeck.server.authentication.user import User
from quarterdeck.wire.status import Unauthorized


class TokenAuthenticator(Protocol):
    """Recognises bearer tokens of one kind."""

    def authenticate_token(self, token: str, audiences: Sequence[str] | None = None) -> User | None:
        """The user, or None if the token is not from this source.

        Without audiences the token must be for this API.

        Raises:
            Unauthorized: if it is and is not good.
        """
        ...


class BearerTokens:
    """Bearer tokens: static ones, and those of other sources."""

    def __init__(
        self,
        users: Mapping[str, User] | None = None,
        *,
        sources: Sequence[TokenAuthenticator] = (),
        audiences: Sequence[str] = AUDIENCES,
    ) -> None:
        """`audiences` are those of this API, which static tokens are for."""
        self._users = dict(users or {})
        self._sources = tuple(sources)
        self._audiences = frozenset(audiences)

    def with_sources(
        self, sources: Sequence[TokenAuthenticator], audiences: Sequence[str] = AUDIENCES
    ) -> "BearerTokens":
        """The same, and some sources more."""
        return BearerTokens(self._users, sources=(*self._sources, *sources), audiences=audiences)

    def authenticate(self, request: http.Request) -> User | None:
        """Look the token up; an unknown one is an error, not anonymity.

        Other schemes are not ours to judge, and what follows a second space is ignored, both as
        Kubernetes does.
        """
        scheme, _, rest = (request.headers.get("Authorization") or "").strip().partition(" ")
        token = rest.strip().partition(" ")[0]
        if scheme.lower() != "bearer" or not token:
            return None
        return self.authenticate_token(token)

    def authenticate_token(self, token: str, audiences: Sequence[str] | None = None) -> User:
        """The user a token stands for.

        Raises:
            Unauthorized: if no authenticator recognises it.
        """
        user = self._users.get(token)
        if user is not None and (audiences is None or not self._audiences.isdisjoint(audiences)):
            return user
        for source in self._sources:
            if (user := source.authenticate_token(token, audiences)) is not None:
                return user
        raise CredentialsRefused("no authenticator accepts the bearer token")


def add_token_sources(
    authenticators: Sequence[Authenticator],
    sources: Sequence[TokenAuthenticator],
    *,
    audiences: Sequence[str] = AUDIENCES,
) -> tuple[Authenticator, ...]:
    """The same authenticators; where tokens are read, those of these sources are too."""
    return tuple(
        each.with_sources(sources, audiences) if isinstance(each, BearerTokens) else each
        for each in authenticators
    )


def authenticate_token(
    token: str, authenticators: Sequence[Authenticator], audiences: Sequence[str]
) -> User:
    """The user of a bearer token, for reviews.

    Raises:
        Unauthorized: if no authenticator recognises it, or it is for other audiences.
    """
    for authenticator in authenticators:
        if isinstance(authenticator, BearerTokens):
            return authenticator.authenticate_token(token, audiences)
    raise Unauthorized
