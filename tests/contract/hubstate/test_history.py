"""What every history does alike: the embedded one, and VictoriaMetrics."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from quarterdeck.hubstate.embedded.history import open_history
from quarterdeck.hubstate.errors import HistoryUnavailable
from quarterdeck.hubstate.ports import History, RangeQuery, Reduction, Sample
from quarterdeck.hubstate.victoriametrics.history import VictoriaMetrics
from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock
from quarterdeck.testing import programs

_START = SystemClock().now().replace(microsecond=0) - timedelta(minutes=30)


class Opened(NamedTuple):
    open: Callable[[], History]
    settle: Callable[[], Awaitable[None]]


async def _nothing() -> None:
    await asyncio.sleep(0)


@pytest.fixture(params=["memory", "embedded", "victoria-metrics"])
def histories(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    match request.param:
        case "memory":
            yield Opened(lambda: open_history(None, clock=SystemClock()), _nothing)
        case "embedded":
            path = tmp_path / "history.db"
            yield Opened(lambda: open_history(path, clock=SystemClock()), _nothing)
        case _:
            yield from _victoria_metrics(tmp_path)


def _victoria_metrics(folder: Path) -> Iterator[Opened]:
    port = programs.find_free_port()
    url = f"http://127.0.0.1:{port}"
    command = [
        programs.require("victoria-metrics"),
        f"-storageDataPath={folder / 'vm'}",
        f"-httpListenAddr=127.0.0.1:{port}",
        "-search.latencyOffset=0s",
        "-memory.allowedBytes=64MB",
    ]

    async def flush() -> None:
        async with http.Client() as client:
            await (await client.request("GET", f"{url}/internal/force_flush")).read()

    with programs.run_program(command, port=port, folder=folder):
        yield Opened(lambda: VictoriaMetrics(url, clock=SystemClock()), flush)


def sample(name: str, value: float, minute: float, **labels: str) -> Sample:
    at = _START + timedelta(minutes=minute)
    return Sample(name, tuple(sorted(labels.items())), value, at)


def query(name: str, how: Reduction = "avg", **labels: tuple[str, ...]) -> RangeQuery:
    return RangeQuery(
        name=name,
        labels=labels,
        start=_START,
        end=_START + timedelta(minutes=10),
        step=timedelta(minutes=5),
        reduction=how,
    )


def moment(minute: float) -> float:
    return (_START + timedelta(minutes=minute)).timestamp()


@pytest.mark.parametrize(
    ("how", "values"),
    [("avg", (2.0, 4.5)), ("min", (1.0, 4.0)), ("max", (3.0, 5.0)), ("last", (3.0, 5.0))],
)
async def test_samples_of_a_step_become_one_point(
    histories: Opened, how: Reduction, values: tuple[float, float]
) -> None:
    history = histories.open()
    minutes = {1: 1.0, 2: 2.0, 5: 3.0, 6: 4.0, 10: 5.0}
    await history.write([sample("m", value, at, a="x") for at, value in minutes.items()])
    await histories.settle()
    [series] = await history.query_range(query("m", how))
    assert series.labels == (("a", "x"),)
    assert series.points == ((moment(5), values[0]), (moment(10), values[1]))
    await history.aclose()


async def test_labels_choose_series_and_need_no_escaping(histories: Opened) -> None:
    history = histories.open()
    odd = 'a "quoted" \\ back.slash\nline'
    await history.write(
        [
            sample("m", 1, 1, cluster="one", node=odd),
            sample("m", 2, 1, cluster="two", node="n"),
            sample("m", 3, 1, cluster="three", node="n"),
            sample("other", 4, 1, cluster="one"),
        ]
    )
    await histories.settle()
    found = await history.query_range(query("m", cluster=("one", "two")))
    assert [dict(each.labels)["cluster"] for each in found] == ["one", "two"]
    [exact] = await history.query_range(query("m", node=(odd,)))
    assert dict(exact.labels)["node"] == odd
    assert await history.query_range(query("m", cluster=("o.e",))) == []
    assert await history.query_range(query("absent")) == []
    await history.aclose()


async def test_values_that_are_not_finite_are_skipped(histories: Opened) -> None:
    history = histories.open()
    await history.write([sample("m", math.nan, 1), sample("m", math.inf, 2), sample("m", 7, 3)])
    await history.write([])
    await histories.settle()
    [series] = await history.query_range(query("m"))
    assert series.points == ((moment(5), 7.0),)
    await history.aclose()


async def test_an_impossible_name_is_refused_before_it_is_sent() -> None:
    history = VictoriaMetrics("http://127.0.0.1:1", clock=SystemClock())
    with pytest.raises(ValueError, match="not a valid name of a metric"):
        await history.query_range(query('m{x="y"} or up'))
    await history.aclose()


async def test_an_unreachable_server_is_reported_after_a_bounded_number_of_tries() -> None:
    class Impatient(SystemClock):
        slept = 0

        async def sleep(self, seconds: float) -> None:
            Impatient.slept += 1

    history = VictoriaMetrics(f"http://127.0.0.1:{programs.find_free_port()}", clock=Impatient())
    with pytest.raises(HistoryUnavailable, match="cannot reach"):
        await history.write([sample("m", 1, 1)])
    assert Impatient.slept == 3
    await history.aclose()


def test_lines_are_those_of_prometheus_text() -> None:
    from quarterdeck.hubstate.victoriametrics.lines import encode_samples

    at = datetime.fromisoformat("2023-11-14T22:13:20+00:00")
    labels = (("cluster", "c1"), ("node", "n1"))
    lines = list(encode_samples([Sample("clusterpulse_node_pods_total", labels, 12.0, at)]))
    assert lines == ['clusterpulse_node_pods_total{cluster="c1",node="n1"} 12 1700000000000\n']
