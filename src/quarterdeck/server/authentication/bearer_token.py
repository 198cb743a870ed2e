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
    """Recognizes bearer tokens of one kind."""

    def authenticate_token(self, token: str, audiences: Sequence[str] | None = None) -> User | None:
        """Return the user of a token, or None if the token is not from this source.

        Without audiences the token must be for this API.

        Raises:
            Unauthorized: if the token is from this source and is invalid.
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
        """Static tokens in `users` are valid for `audiences`, those of this API."""
        self._users = dict(users or {})
        self._sources = tuple(sources)
        self._audiences = frozenset(audiences)

    def with_sources(
        self, sources: Sequence[TokenAuthenticator], audiences: Sequence[str] = AUDIENCES
    ) -> "BearerTokens":
        """Return a copy with further sources of tokens."""
        return BearerTokens(self._users, sources=(*self._sources, *sources), audiences=audiences)

    def authenticate(self, request: http.Request) -> User | None:
        """Authenticate the bearer token of a request; an unknown token is an error, not anonymous.

        As in Kubernetes, other schemes are ignored, and so is everything after a second space.
        """
        scheme, _, rest = (request.headers.find("authorization") or "").strip().partition(" ")
        token = rest.strip().partition(" ")[0]
        if scheme.lower() != "bearer" or not token:
            return None
        return self.authenticate_token(token)

    def authenticate_token(self, token: str, audiences: Sequence[str] | None = None) -> User:
        """Find the user of a token.

        Raises:
            Unauthorized: if no authenticator recognizes it.
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
    """Return the authenticators, with `sources` added to those for bearer tokens."""
    return tuple(
        each.with_sources(sources, audiences) if isinstance(each, BearerTokens) else each
        for each in authenticators
    )


def authenticate_token(
    token: str, authenticators: Sequence[Authenticator], audiences: Sequence[str]
) -> User:
    """Authenticate a bearer token for a TokenReview.

    Raises:
        Unauthorized: if no authenticator recognizes it, or it is for other audiences.
    """
    for authenticator in authenticators:
        if isinstance(authenticator, BearerTokens):
            return authenticator.authenticate_token(token, audiences)
    raise Unauthorized
