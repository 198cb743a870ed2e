"""Serves one path of the webhooks: handles reviews, and counts them."""

import time
from typing import Any

from quarterdeck.kit import http
from quarterdeck.kit.metrics import Counter, Gauge, Histogram
from quarterdeck.runtime.observability.logging import Logger
from quarterdeck.runtime.observability.metrics import Metrics
from quarterdeck.runtime.webhooks import envelope, responses
from quarterdeck.runtime.webhooks.envelope import MAX_BYTES, MalformedReviewError
from quarterdeck.runtime.webhooks.hooks import Hook

_JSON = [("content-type", "application/json")]
_CODES = ("200", "500")
"""The counters of these codes exist from the start, so that a rate over them is right."""


class Route:
    """One hook with its metrics."""

    def __init__(self, path: str, hook: Hook[Any], metrics: Metrics, log: Logger) -> None:
        self._hook = hook
        self._log = log.bind(webhook=path)
        self._succeeded: Counter
        self._succeeded, _ = (metrics.webhook_requests.labels(path, code) for code in _CODES)
        self._in_flight: Gauge = metrics.webhooks_in_flight.labels(path)
        self._latency: Histogram = metrics.webhook_latency.labels(path)
        self._panics: Counter = metrics.webhook_panics.labels()

    async def handle(self, request: http.Request) -> http.Response:
        """Handle one review."""
        began = time.perf_counter()
        self._in_flight.inc()
        try:
            body = await self._respond(request)
        finally:
            self._in_flight.dec()
            self._latency.observe(time.perf_counter() - began)
        self._succeeded.inc()
        return http.Response(200, _JSON, body)

    async def _respond(self, request: http.Request) -> bytes:
        media = request.headers.get("content-type", "")
        try:
            body = await request.read(MAX_BYTES)
        except http.BodyTooLarge:
            problem = f"request entity is too large; limit is {MAX_BYTES} bytes"
            return envelope.encode(responses.fail("", 413, problem))
        if body and media != "application/json":
            problem = f"contentType={media}, expected application/json"
            return envelope.encode(responses.fail("", 400, problem))
        try:
            admission, version = envelope.decode(body)
        except MalformedReviewError as error:
            return envelope.encode(responses.fail("", 400, str(error)))
        try:
            response = await self._hook.handle(admission)
        except Exception as error:  # a broken handler must not look like an unreachable one
            self._panics.inc()
            self._log.error(
                "webhook handler failed", error=error, uid=admission.uid, name=admission.name
            )
            what = (
                f"webhook handler failed with {type(error).__name__}: see the log of the operator"
            )
            response = responses.fail(admission.uid, 500, what)
        return envelope.encode(response, version)
