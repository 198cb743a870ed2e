"""Errors of the client itself, without a Status of an API server.

Errors that a server answers are classes of `wire.status`.

    ClientError
    ├── ConfigError           a kubeconfig or setting cannot be used
    ├── CredentialError       no usable credentials, such as a failing exec plugin
    ├── ConnectionFailed      refused, unreachable, cut
    │   └── UntrustedServer   TLS failed
    ├── RequestTimeout        no answer in time
    └── InvalidResponse             an answer that no API server gives
"""


class ClientError(Exception):
    """The root of what this package raises by itself."""


class ConfigError(ClientError):
    """Raised when a configuration names something that is missing or wrong."""


class CredentialError(ClientError):
    """Raised when credentials cannot be obtained; the message never contains them."""


class ConnectionFailed(ClientError):
    """Raised when a server cannot be reached, or the connection broke before the answer."""


class UntrustedServer(ConnectionFailed):
    """Raised when the server's certificate, or ours, is not accepted."""


class RequestTimeout(ClientError):
    """Raised when no answer came in time; the request may or may not have been carried out."""


class InvalidResponse(ClientError):
    """Raised when the answer is not from an API server but, for example, a proxy's login page."""
