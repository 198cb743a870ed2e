"""The numbers of list and watch: pages, streams, silence, delays."""

import msgspec


class WatchSettings(msgspec.Struct, frozen=True):
    """The reflector's numbers; the defaults are client-go's unless a reason is given."""

    page_size: int = 500
    stream_min_s: int = 300
    stream_max_s: int = 600
    silence_s: float = 75.0
    """No line for this long means a dead stream: servers send a bookmark each minute."""
    initial_events_s: float = 10.0
    """Silence during initial events before falling back to LIST: old servers never end them."""
    short_stream_s: float = 1.0
    """A stream that ended earlier and without an event is short. The first is reopened at once."""
    backoff_initial_s: float = 0.8
    backoff_cap_s: float = 30.0
    backoff_reset_s: float = 120.0
    relist_interval_s: float = 1.0
    """Least time between two retries without a delay: the list after an expired watch, or a
    request that failed once on a server that answers.
    """
    relist_jitter_s: float = 0.1
    """Longest jitter before such a retry: many clients may lose their watches at once."""
    absent_cap_s: float = 5.0
    """Longest wait while the kind is not served: a CRD that appears is noticed soon."""
    list_only_s: float = 600.0
    """How long a server that refused streaming lists is asked with LIST only."""
    watch_list: bool = True
