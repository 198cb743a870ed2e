"""Metrics stores with Prometheus' HTTP API."""

from collections.abc import Sequence
from urllib.parse import urlencode

from quarterdeck.kit import http
from quarterdeck.kit.redaction import redact
from quarterdeck.operators.experiments.results.document import Point
from quarterdeck.operators.experiments.results.ports import MetricsUnavailable
from quarterdeck.operators.experiments.results.prometheus import QueryError, parse
from quarterdeck.operators.experiments.results.window import Window, compute_step_s

TIMEOUT_S = 30.0
_REFUSED = (400, 422)


def build_path(query: str, window: Window, *, is_range: bool) -> str:
    """Path and query string of a request."""
    if not is_range:
        return "/api/v1/query?" + urlencode({"query": query, "time": window.end.timestamp()})
    values = {
        "query": query,
        "start": window.start.timestamp(),
        "end": window.end.timestamp(),
        "step": compute_step_s(window.seconds),
    }
    return "/api/v1/query_range?" + urlencode(values)


class Prometheus:
    """A store at an address: Prometheus, VictoriaMetrics, Mimir."""

    def __init__(self, url: str, *, client: http.Client) -> None:
        self._url = url.rstrip("/")
        self._client = client

    async def query(self, query: str, window: Window, *, is_range: bool) -> Sequence[Point]:
        """Evaluate a query.

        Raises:
            QueryError: if the store refuses it.
            MetricsUnavailable: if the store does not answer.
        """
        url = self._url + build_path(query, window, is_range=is_range)
        try:
            response = await self._client.request("GET", url, timeout_s=TIMEOUT_S)
            body = await response.read()
        except (http.HttpError, OSError, TimeoutError) as error:
            message = f"cannot reach the metrics store {redact(self._url)}: {error}"
            raise MetricsUnavailable(message) from error
        if response.status == 200 or response.status in _REFUSED:
            return parse(body)
        if 400 <= response.status < 500:
            raise QueryError(f"{redact(self._url)} answered {response.status}")
        raise MetricsUnavailable(f"{redact(self._url)} answered {response.status}")
