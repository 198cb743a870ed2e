"""What a peer may make us hold, and how long it may take: every bound in one place."""

import msgspec

KIB = 1024
MIB = 1024 * KIB


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a server; the defaults suit an API server on a shared network."""

    connections: int = 10_000
    """Open connections. At the limit the longest idle one is closed for a new one."""
    handshakes: int = 128
    """TLS handshakes in progress. At the limit one is cancelled for a new connection: the oldest of
    the address with the most handshakes, once it has taken `handshake_share_s`."""
    target_bytes: int = 16 * KIB
    """The request target (path and query): 414 beyond."""
    header_bytes: int = 64 * KIB
    """All header fields together: 431 beyond."""
    header_count: int = 128
    """Number of header fields: 431 beyond."""
    body_bytes: int = 64 * MIB
    """A whole request body, however it is read: 413 beyond. Handlers pass smaller limits."""
    buffer_bytes: int = 256 * KIB
    """Body bytes kept for a handler that does not read; then the socket is not read either."""
    write_buffer_bytes: int = 64 * KIB
    """Bytes waiting for a slow reader before `BodyWriter.write` waits."""
    drain_bytes: int = 256 * KIB
    """Unread request body that is read and dropped to keep a connection; else it is closed."""
    pipeline: int = 16
    """Requests parsed ahead while one is being answered."""
    handshake_timeout_s: float = 10.0
    handshake_share_s: float = 0.25
    """How long a handshake may take before it can be cancelled for a new connection."""
    header_timeout_s: float = 15.0
    """From the first byte (or the connection) to the end of the header."""
    body_timeout_s: float = 20.0
    """How long a body may stall; below `body_rate` it is a stall, too."""
    body_rate: int = 256
    """Bytes a second that a body must reach after the first `body_timeout_s`; 0 for no minimum."""
    idle_timeout_s: float = 90.0
    """How long a connection without a request is kept."""
    write_timeout_s: float = 30.0
    """How long a peer may read nothing of what is buffered for it."""
    linger_timeout_s: float = 2.0
    """How long input is read and dropped after a refusal, so that the peer can read the refusal."""

    @property
    def tick_s(self) -> float:
        """How often time-outs are checked: often enough for the shortest of them."""
        shortest = min(
            self.header_timeout_s,
            self.body_timeout_s,
            self.idle_timeout_s,
            self.write_timeout_s,
            self.linger_timeout_s,
        )
        return min(1.0, max(0.005, shortest / 4))


class ClientLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a client."""

    header_bytes: int = 64 * KIB
    header_count: int = 256
    body_bytes: int = 512 * MIB
    """What `ClientResponse.read` accepts when its caller names no limit."""
    buffer_bytes: int = 1 * MIB
    """Body bytes kept for a consumer that does not read; then the socket is not read either."""
    write_buffer_bytes: int = 64 * KIB
    idle_timeout_s: float = 30.0
    """How long an unused connection is kept: shorter than servers keep theirs."""
