"""A metrics registry: counters, gauges, histograms, and Prometheus' text format.

    registry = Registry()
    requests = registry.counter("shop_requests_total", "Requests answered.", ("code",))
    requests.labels("200").inc()
    body = registry.render()  # serve it with the content type CONTENT_TYPE

Written because the usual library takes longer to import than our server to start, and takes a
lock for every observation. This one takes no lock: use a registry from one event loop only.

**The number of series is bounded.** A family keeps at most `max_series` label sets (1,000 unless
declared otherwise). When it is full, every further label set is counted in one series whose
label values all are `OVERFLOW`, so sums over a counter or a histogram stay right. A gauge has no
such series, because values of different things have no sum: its further label sets are not
shown. Both are counted in `quarterdeck_metrics_overflow_total{metric="..."}`.

On a hot path, get a series once and keep it: `ok = requests.labels("200")`, then `ok.inc()`.
"""

from quarterdeck.kit.metrics.registry import DEFAULT_MAX_SERIES, OVERFLOW, Family, Registry
from quarterdeck.kit.metrics.series import Counter, Gauge, Histogram
from quarterdeck.kit.metrics.text import CONTENT_TYPE

__all__ = [
    "CONTENT_TYPE",
    "DEFAULT_MAX_SERIES",
    "OVERFLOW",
    "Counter",
    "Family",
    "Gauge",
    "Histogram",
    "Registry",
]
