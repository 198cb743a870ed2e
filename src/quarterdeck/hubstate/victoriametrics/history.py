"""History in VictoriaMetrics: batches of compressed text, with a bounded number of tries."""

import gzip
import random
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from quarterdeck.hubstate.errors import HistoryRefused, HistoryUnavailable
from quarterdeck.hubstate.ports import RangeQuery, Sample, Series
from quarterdeck.hubstate.victoriametrics.lines import encode_query, encode_samples
from quarterdeck.kit import http, json
from quarterdeck.kit.backoff import Backoff
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import redact

BATCH = 10_000
"""Lines of one request."""
TRIES = 4
WRITE_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 30.0
_REFUSALS = frozenset({400, 413, 415, 422})
"""Statuses that are about the body of a request: the same samples will get them again. Others, such
as 401 and 404, are about the address or its rights, and an administrator can mend those. A store
that is full, read-only or busy answers 503."""
_ANSWER_BYTES = 64 * 1024 * 1024
_SHOWN = 300


class VictoriaMetrics:
    """Implements `History` over HTTP."""

    def __init__(
        self,
        endpoint: str,
        *,
        clock: Clock,
        rng: random.Random | None = None,
        client: http.Client | None = None,
    ) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._clock = clock
        self._random = rng or random.Random()
        self._http = client or http.Client()

    async def write(self, samples: Sequence[Sample]) -> None:
        """Keep samples; NaN and infinities are skipped."""
        refused, problem = 0, ""
        for start in range(0, len(samples), BATCH):
            batch = samples[start : start + BATCH]
            body = _encode_body(batch)
            try:
                if body:
                    await self._send(body, len(batch))
            except HistoryRefused as error:  # the other batches may be fine
                refused, problem = refused + error.count, problem or str(error)
        if refused:
            raise HistoryRefused(problem, count=refused)

    async def query_range(self, query: RangeQuery) -> list[Series]:
        """Matching series, ordered by their labels."""
        parameters = {
            "query": encode_query(query),
            "start": query.start.timestamp(),
            "end": query.end.timestamp(),
            "step": f"{int(query.step.total_seconds() * 1000)}ms",
            "nocache": 1,
        }
        url = f"{self._endpoint}/api/v1/query_range?{urlencode(parameters)}"
        status, body = await self._request("GET", url, timeout_s=READ_TIMEOUT_S)
        if status != 200:
            raise HistoryUnavailable(f"GET {self._endpoint}: {status} {_shorten(body)}")
        try:
            found = json.decode(body)["data"]["result"]
            series = [_parse_series(query.name, each) for each in found]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise HistoryUnavailable(
                f"cannot decode the series of {self._endpoint}: {error}"
            ) from error
        return sorted(series, key=lambda each: each.labels)

    async def aclose(self) -> None:
        """Close every connection; nothing is buffered."""
        await self._http.aclose()

    async def _send(self, body: bytes, count: int) -> None:
        url, headers = f"{self._endpoint}/api/v1/import/prometheus", _HEADERS
        backoff = Backoff(initial_s=0.2, cap_s=2.0, random=self._random)
        for number in range(1, TRIES + 1):
            problem = ""
            try:
                status, answer = await self._request(
                    "POST", url, body=body, headers=headers, timeout_s=WRITE_TIMEOUT_S
                )
            except HistoryUnavailable as error:
                problem = str(error)
            else:
                if status < 300:
                    return
                problem = f"POST {url}: {status} {_shorten(answer)}"
                if status < 500 and status != 429:
                    raise _build_error(status, problem, count)
            if number == TRIES:
                raise HistoryUnavailable(problem)
            await self._clock.sleep(backoff.next())

    async def _request(
        self,
        method: str,
        url: str,
        *,
        timeout_s: float,
        body: bytes | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> tuple[int, bytes]:
        try:
            response = await self._http.request(
                method, url, headers=headers, body=body, timeout_s=timeout_s
            )
            async with response:
                return response.status, await response.read(_ANSWER_BYTES)
        except http.HttpError as error:
            detail = str(error) or type(error).__name__
            raise HistoryUnavailable(f"cannot reach {self._endpoint}: {detail}") from error


_HEADERS = (("Content-Type", "text/plain"), ("Content-Encoding", "gzip"))


def _encode_body(samples: Sequence[Sample]) -> bytes:
    """The body of a request; empty if no sample has a finite value."""
    text = "".join(encode_samples(samples))
    return gzip.compress(text.encode(), compresslevel=1) if text else b""


def _build_error(status: int, problem: str, count: int) -> HistoryRefused | HistoryUnavailable:
    if status in _REFUSALS:
        return HistoryRefused(problem, count=count)
    return HistoryUnavailable(problem)


def _parse_series(name: str, found: dict[str, Any]) -> Series:
    labels = {key: value for key, value in found["metric"].items() if key != "__name__"}
    points = tuple((float(at), float(value)) for at, value in found["values"])
    return Series(name, tuple(sorted(labels.items())), points)


def _shorten(body: bytes) -> str:
    return redact(body[:_SHOWN].decode(errors="replace").strip())
