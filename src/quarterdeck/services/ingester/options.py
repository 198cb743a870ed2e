"""The options of the ingester."""

from pathlib import Path

import msgspec

from quarterdeck.hubstate.cluster_writes import ClusterTtls
from quarterdeck.hubstate.lifetimes import Lifetimes


class TlsFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Files of the listener; they are read again when they change."""

    certificate: Path
    key: Path
    client_authority: Path | None = None
    """If set, collectors must present a client certificate of this authority."""


class IngesterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and lifetimes."""

    host: str = "127.0.0.1"
    port: int = 9443
    tls: TlsFiles | None = None
    """None serves without TLS."""
    max_message_bytes: int = 4 * 1024 * 1024
    """Maximum size of one chunk of a batch."""
    max_batch_bytes: int = 32 * 1024 * 1024
    """Maximum size of all chunks of a batch."""
    max_held_bytes: int = 128 * 1024 * 1024
    """Maximum size of all incomplete batches; above it the largest one must be sent again."""
    batch_timeout_s: float = 300.0
    """From the first chunk of a batch to its last; collectors wait for an answer 60 s at most."""
    max_chunks: int = 1024
    max_streams: int = 10_000
    """Streams at once, those that have not registered included; others are refused."""
    max_registering: int = 64
    """Streams that register at once; others wait their turn, and nothing of them is read."""
    max_registering_of_peer: int = 8
    """The same per address, so that a peer that never registers delays only its own address."""
    max_parallel_batches: int = 8
    """Batches that are decoded and stored at once; others wait in encoded form."""
    max_waiting_samples: int = 200_000
    """Samples that wait in memory (36 MiB) until the history answers; then the oldest go."""
    register_timeout_s: float = 10.0
    idle_s: float = 90.0
    """A stream that sends nothing for so long is closed; collectors send heartbeats every 30 s."""
    keepalive_s: float = 30.0
    drain_s: float = 5.0
    interval_s: int = 30
    scan_interval_s: int = 300
    lifetimes: Lifetimes = Lifetimes()

    def build_ttls(self, interval_s: int = 0) -> ClusterTtls:
        """Build the TTLs of what a collector sends, by the interval of its cluster."""
        interval_s = interval_s or self.interval_s
        return ClusterTtls(
            interval_s=interval_s,
            cache_s=self.lifetimes.compute_cache_ttl(interval_s),
            scan_s=self.lifetimes.compute_cache_ttl(max(interval_s, self.scan_interval_s)),
            retention_s=self.lifetimes.retention_s,
        )
