"""Lifetimes of keys. A key lasts at least three intervals of its writer, whatever the setting."""

import msgspec

INFO_S = 3600
METRICS_S = 300
EVENTS_S = 24 * 3600
EVENTS_KEPT = 100
_INTERVALS = 3


class Lifetimes(msgspec.Struct, frozen=True, kw_only=True):
    """CACHE_TTL and METRICS_RETENTION, in seconds."""

    cache_s: int = 600
    retention_s: int = 3600

    def compute_cache_ttl(self, interval_s: float) -> int:
        """Compute the TTL of what is written every interval, so that it outlives missed writes."""
        return compute_ttl(self.cache_s, interval_s)


def compute_ttl(ttl_s: int, interval_s: float) -> int:
    """Compute a TTL of at least three intervals."""
    return max(ttl_s, int(interval_s * _INTERVALS))
