"""Counts the requests of a client and their sizes."""

from typing import TYPE_CHECKING

import msgspec

from quarterdeck.client.interfaces import Exchange
from quarterdeck.kit.metrics import Counter, Histogram
from quarterdeck.runtime.observability.metrics import Metrics
from quarterdeck.wire.path import ResourcePath

if TYPE_CHECKING:
    from collections.abc import Sequence


class RequestMetrics:
    """Counts the client's requests; an `Observer`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._bound: dict[tuple[int, str, str], _Bound] = {}

    def before(self, verb: str, path: ResourcePath) -> "Sequence[tuple[str, str]]":
        """Called before each request; adds no headers."""
        return ()

    def after(self, exchange: Exchange) -> None:
        """Count one request."""
        key = exchange.code, exchange.method, exchange.host
        bound = self._bound.get(key) or self._bind(*key)
        bound.requests.value += 1
        bound.duration.observe(exchange.duration_s)
        bound.sent.observe(exchange.request_bytes)
        if exchange.response_bytes >= 0:
            bound.received.observe(exchange.response_bytes)

    def _bind(self, code: int, method: str, host: str) -> "_Bound":
        metrics = self._metrics
        bound = self._bound[code, method, host] = _Bound(
            metrics.requests.labels(str(code) if code else "<error>", method, host),
            metrics.request_duration.labels(method, host),
            metrics.request_size.labels(method, host),
            metrics.response_size.labels(method, host),
        )
        return bound


class _Bound(msgspec.Struct, frozen=True):
    """The metrics of one kind of request, found once."""

    requests: Counter
    duration: Histogram
    sent: Histogram
    received: Histogram
