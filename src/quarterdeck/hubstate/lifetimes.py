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

    def cached(self, interval_s: float) -> int:
        """The lifetime of what is written every interval: it must not expire between two writes."""
        return extend_lifetime(self.cache_s, interval_s)


def extend_lifetime(ttl_s: int, interval_s: float) -> int:
    """The lifetime, but at least three intervals."""
    return max(ttl_s, int(interval_s * _INTERVALS))
