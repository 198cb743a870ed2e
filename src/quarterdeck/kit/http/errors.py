"""What can go wrong between two HTTP peers.

HttpError
├── ConnectError           no connection came about
│   ├── ConnectTimeout
│   ├── ProxyError
│   └── TlsError
├── PoolTimeout            every pooled connection stayed busy
├── ReadTimeout            the server was silent for too long, or the total time is up
├── ConnectionClosed       the connection ended too early
├── BodyTimeout            the client sends its body too slowly
├── ProtocolError          what arrived is not HTTP/1.1, or exceeds a limit of the parser
└── BodyTooLarge           a body exceeds what its reader accepts
"""


class HttpError(Exception):
    """The root of what this package raises."""


class ConnectError(HttpError):
    """Raised when no connection to the server could be made."""


class ConnectTimeout(ConnectError):
    """Raised when connecting, TLS included, took longer than allowed."""


class ProxyError(ConnectError):
    """Raised when the proxy cannot be used or refused to connect us."""


class TlsError(ConnectError):
    """Raised when TLS failed: an untrusted certificate, a wrong name, a missing client key."""


class PoolTimeout(HttpError):
    """Raised when no connection of the pool became free in time."""


class ReadTimeout(HttpError):
    """Raised when the response, or more of its body, did not arrive in time."""


class ConnectionClosed(HttpError):
    """Raised when the peer closed the connection before the message was complete."""


class BodyTimeout(HttpError):
    """Raised when a request's body arrives more slowly than the server accepts."""


class ProtocolError(HttpError):
    """Raised when what the peer sent is not valid HTTP/1.1."""


class BodyTooLarge(HttpError):
    """Raised when a body is longer than its reader accepts."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the body is larger than the limit of {limit} bytes")
        self.limit = limit
