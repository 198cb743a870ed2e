"""Why a stream ends, and why a batch is not taken.

StreamRefused
├── TokenRefused     the token is not, or no longer, that of the cluster
├── TooMuchHeld      the hub has no room for what the stream leaves incomplete
└── ProtocolError    the collector does not follow the protocol

BatchTooBig          the batch would never be taken; the stream goes on
"""


class StreamRefused(Exception):
    """Root of what ends a stream."""


class TokenRefused(StreamRefused):
    """Raised when a token is not that of the cluster; says the same for unknown clusters."""

    def __init__(self, cluster: str) -> None:
        super().__init__(
            f"invalid token for cluster {cluster!r}; use the current one from the Secret "
            "clusterpulse-collector-token, or run `quarterdeck clusters join` again"
        )


class TooMuchHeld(StreamRefused):
    """Raised when an incomplete batch had to make room for those of others."""


class BatchTooBig(Exception):
    """Raised when a batch is larger than the hub takes."""


class ProtocolError(StreamRefused):
    """Raised when a message is malformed, too big or not expected now."""
