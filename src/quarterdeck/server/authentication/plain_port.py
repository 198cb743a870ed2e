"""The user of the plain HTTP port."""

from quarterdeck.kit import http
from quarterdeck.server.authentication.user import LOCAL_USER, User


class PlainPort:
    """Authenticates requests to the plain port as one local user: it listens on loopback only."""

    def authenticate(self, request: http.Request) -> User | None:
        """Authenticate a request without TLS as the local user; tokens are tried before."""
        return None if request.peer.secure else LOCAL_USER
