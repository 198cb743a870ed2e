"""What goes wrong before a server has answered.

What a server answers is a class of `wire.status`; these are the rest.

    ClientError
    ├── ConfigError           a kubeconfig or setting cannot be used
    ├── CredentialError       no usable credentials, such as a failing exec plugin
    ├── ConnectionFailed      refused, unreachable, cut
    │   └── UntrustedServer   TLS failed
    ├── RequestTimeout        no answer in time
    └── BadAnswer             an answer that no API server gives
"""


class ClientError(Exception):
    """The root of what this package raises by itself."""


class ConfigError(ClientError):
    """Raised when a configuration names something that is missing or wrong."""


class CredentialError(ClientError):
    """Raised when credentials cannot be had; the message never contains them."""


class ConnectionFailed(ClientError):
    """Raised when a server cannot be reached, or the connection broke before the answer."""


class UntrustedServer(ConnectionFailed):
    """Raised when the server's certificate, or ours, is not accepted."""


class RequestTimeout(ClientError):
    """Raised when no answer came in time; the request may or may not have been carried out."""


class BadAnswer(ClientError):
    """Raised when what answered is no API server, such as a proxy's login page."""
