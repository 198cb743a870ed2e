"""Answers of a metrics store that are errors, or not what it should answer."""

import contextlib
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from quarterdeck.hubstate.errors import HistoryRefused, HistoryUnavailable
from quarterdeck.hubstate.ports import RangeQuery, Sample
from quarterdeck.hubstate.victoriametrics.history import BATCH, TRIES, VictoriaMetrics
from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock

NOW = datetime(2026, 11, 16, tzinfo=UTC)
QUERY = RangeQuery(name="up", start=NOW, end=NOW + timedelta(hours=1), step=timedelta(minutes=1))


class NoPause(SystemClock):
    """A clock that does not wait."""

    async def sleep(self, seconds: float) -> None:
        """Go on at once."""


@contextlib.asynccontextmanager
async def answering(
    *answers: tuple[int, bytes],
) -> AsyncIterator[tuple[VictoriaMetrics, list[str]]]:
    """A metrics store that gives these answers, the last one again and again."""
    asked: list[str] = []

    async def handle(request: http.Request) -> http.Response:
        await request.read(1024 * 1024)
        asked.append(request.method)
        status, body = answers[min(len(asked), len(answers)) - 1]
        return http.Response(status, [], body)

    async with http.Server(handle) as server:
        listener = await server.listen("127.0.0.1", 0)
        history = VictoriaMetrics(listener.url, clock=NoPause(), rng=random.Random(1))
        yield history, asked
        await history.aclose()


def build_sample(value: float = 1.0) -> Sample:
    return Sample("up", (), value, NOW)


async def test_a_store_that_is_busy_is_asked_again() -> None:
    async with answering((503, b""), (429, b""), (204, b"")) as (history, asked):
        await history.write([build_sample()])
    assert asked == ["POST"] * 3


async def test_a_store_that_stays_busy_is_given_up() -> None:
    async with answering((503, b"out of disk space")) as (history, asked):
        with pytest.raises(HistoryUnavailable, match="503 out of disk space"):
            await history.write([build_sample()])
    assert asked == ["POST"] * TRIES


@pytest.mark.parametrize("status", [400, 413, 415, 422])
async def test_samples_that_are_refused_are_not_sent_again(status: int) -> None:
    async with answering((status, b"cannot parse")) as (history, asked):
        with pytest.raises(HistoryRefused, match=f"{status} cannot parse") as caught:
            await history.write([build_sample(), build_sample(2.0)])
    assert (asked, caught.value.count) == (["POST"], 2)


@pytest.mark.parametrize("status", [301, 401, 403, 404, 405, 408])
async def test_an_address_that_is_wrong_is_no_reason_to_drop_samples(status: int) -> None:
    async with answering((status, b"no")) as (history, _):
        with pytest.raises(HistoryUnavailable, match=f"{status} no"):
            await history.write([build_sample()])


async def test_samples_after_refused_ones_are_sent() -> None:
    async with answering((400, b"cannot parse"), (204, b"")) as (history, asked):
        with pytest.raises(HistoryRefused) as caught:
            await history.write([build_sample()] * (BATCH + 1))
    assert (asked, caught.value.count) == (["POST"] * 2, BATCH)


async def test_samples_without_a_value_are_not_sent() -> None:
    async with answering((204, b"")) as (history, asked):
        await history.write([build_sample(float("nan")), build_sample(float("inf"))])
    assert asked == []


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        pytest.param(422, b"bad query", "422 bad query", id="refused"),
        pytest.param(200, b"<html>", "cannot decode the series", id="a page"),
        pytest.param(200, b"[]", "cannot decode the series", id="a list"),
        pytest.param(
            200, b'{"data":{"result":[{"metric":[]}]}}', "cannot decode the series", id="labels"
        ),
        pytest.param(
            200,
            b'{"data":{"result":[{"metric":{},"values":[[1,"x"]]}]}}',
            "cannot decode the series",
            id="value",
        ),
    ],
)
async def test_answers_without_series_are_an_error(status: int, body: bytes, message: str) -> None:
    async with answering((status, body)) as (history, _):
        with pytest.raises(HistoryUnavailable, match=message):
            await history.query_range(QUERY)
