"""Errors that end a stream or refuse a batch.

StreamRefused
├── TokenRefused     the token is not, or no longer, that of the cluster
├── BufferFull       the hub has no room for what the stream leaves incomplete
└── ProtocolError    the collector does not follow the protocol

BatchTooLarge        the batch would never be taken; the stream goes on
CheckpointChanged    the batch must be judged again; the stream goes on
"""


class StreamRefused(Exception):
    """Root of the errors that end a stream."""


class TokenRefused(StreamRefused):
    """Raised for a wrong token; the message is the same for unknown clusters."""

    def __init__(self, cluster: str) -> None:
        super().__init__(
            f"invalid token for cluster {cluster!r}; use the current one from the Secret "
            "clusterpulse-collector-token, or run `quarterdeck clusters join` again"
        )


class BufferFull(StreamRefused):
    """Raised when an incomplete batch was dropped because all streams hold too many bytes."""


class BatchTooLarge(Exception):
    """Raised when a batch is larger than the hub takes."""


class CheckpointChanged(Exception):
    """Raised when another replica has stored a batch of the cluster in the meantime."""

    def __init__(self, cluster: str) -> None:
        super().__init__(
            f"another replica of the hub has stored a batch of cluster {cluster!r} in the "
            "meantime; send this one again"
        )


class ProtocolError(StreamRefused):
    """Raised when a message is malformed, too big or not expected now."""
