"""The port of authenticators, and the function that calls them in order.

The first authenticator that recognizes credentials decides. A request without credentials is
anonymous; a request with credentials that no authenticator accepts is refused.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from quarterdeck.kit import http
from quarterdeck.server.authentication.refusal import CredentialsRefused
from quarterdeck.server.authentication.user import ANONYMOUS_USER, User


class Authenticator(Protocol):
    """Recognizes one kind of credentials."""

    def authenticate(self, request: http.Request) -> User | None:
        """Return the user, or None if the request has no credentials of this kind.

        Raises:
            Unauthorized: if it has such credentials and they are invalid.
        """
        ...


class NotReady(CredentialsRefused):
    """Raised when credentials can be checked only after the keys of their issuer were fetched.

    A caller that can wait calls `fetch` and tries again; others refuse the credentials.
    """

    def __init__(self, fetch: Callable[[], Awaitable[None]]) -> None:
        super().__init__("the keys of the issuer have not been fetched")
        self.fetch = fetch


def authenticate(request: http.Request, authenticators: Sequence[Authenticator]) -> User:
    """Call the authenticators in order; without credentials the user is anonymous."""
    for authenticator in authenticators:
        user = authenticator.authenticate(request)
        if user is not None:
            return user
    return ANONYMOUS_USER
