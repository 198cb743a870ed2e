"""The user of the plain HTTP port."""

from quarterdeck.kit import http
from quarterdeck.server.authentication.user import LOCAL_USER, User


class PlainPort:
    """The plain port acts as one local user: it is opened by the owner of the machine."""

    def authenticate(self, request: http.Request) -> User | None:
        """Everybody who comes without TLS and without a token."""
        return None if request.peer.secure else LOCAL_USER
