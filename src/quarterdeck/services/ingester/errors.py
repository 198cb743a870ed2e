"""Why a stream ends.

StreamRefused
├── TokenRefused     the token is not, or no longer, that of the cluster
└── ProtocolError    the collector does not follow the protocol
"""


class StreamRefused(Exception):
    """Root of what ends a stream."""


class TokenRefused(StreamRefused):
    """Raised when a token is not that of the cluster; says the same for unknown clusters."""

    def __init__(self, cluster: str) -> None:
        super().__init__(
            f"the token is not that of cluster {cluster!r}; take the current one from the Secret "
            "clusterpulse-collector-token, or run `quarterdeck clusters join` again"
        )


class ProtocolError(StreamRefused):
    """Raised when a message is malformed, too big or not expected now."""
