"""Series: several figures of one run, and contenders that do not finish."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest
from bench.series import Figures, Missed, Run, Runs, Series, case, replayed
from bench.suite import OURS, Missing


def counting() -> Run:
    """A run whose figures are its number, from 1 on."""
    runs = 0

    def run(figures: Figures) -> None:
        nonlocal runs
        runs += 1
        figures |= {"cost": float(runs), "time": float(runs)}

    return run


def values(series: Series, contender: str, figure: str, count: int) -> list[float]:
    measure = series.contenders(figure)[contender]
    assert not isinstance(measure, Missing)
    return [measure() for _ in range(count)]


def test_runs_are_interleaved_and_the_first_round_is_dropped() -> None:
    order = []

    def noting(name: str) -> Run:
        def run(figures: Figures) -> None:
            order.append(name)
            figures["cost"] = float(len(order))

        return run

    series = Series(lambda: nullcontext({"a": noting("a"), "b": noting("b")}), rounds=2)
    assert values(series, "a", "cost", 3)[1:] == [3, 5]
    assert order == ["a", "b"] * 3


def test_every_figure_comes_from_the_same_runs() -> None:
    def run(figures: Figures) -> None:
        figures |= {"cost": 1.0, "time": 2.0}

    opened = 0

    @contextmanager
    def open() -> Iterator[Runs]:
        nonlocal opened
        opened += 1
        yield {OURS: run}

    series = Series(open, rounds=1)
    assert values(series, OURS, "cost", 1) == [1.0]
    assert values(series, OURS, "time", 1) == [2.0]
    assert opened == 1


def test_a_peer_that_misses_a_limit_reports_it_and_others_go_on() -> None:
    attempts = 0

    def slow(figures: Figures) -> None:
        nonlocal attempts
        attempts += 1
        figures["cost"] = 7.0
        if attempts == 2:
            raise Missed("3 objects had no status after 120 s")
        figures["time"] = 9.0

    series = Series(lambda: nullcontext({OURS: counting(), "slow": slow}), rounds=3, warms_up=False)
    assert values(series, OURS, "cost", 4)[1:] == [1, 2, 3]
    assert series.contenders("time")["slow"] == Missing("3 objects had no status after 120 s")
    assert values(series, "slow", "cost", 1) == [7.0]
    assert attempts == 2


def test_a_peer_that_misses_its_first_run_has_no_figure() -> None:
    def broken(figures: Figures) -> None:
        figures["cost"] = 1.0
        raise Missed("it ended")

    series = Series(lambda: nullcontext({"broken": broken}), rounds=2)
    assert series.contenders("cost")["broken"] == Missing("it ended")


def test_an_absent_peer_is_reported_as_missing() -> None:
    series = Series(lambda: nullcontext({"peer": Missing("not installed")}), rounds=2)
    assert series.contenders("cost")["peer"] == Missing("not installed")


@pytest.mark.parametrize(
    ("found", "asked"),
    [([3.0, 1.0, 2.0], [2.0, 3.0, 1.0, 2.0, 2.0, 2.0]), ([4.0], [4.0, 4.0, 4.0])],
    ids=["three rounds", "one round"],
)
def test_rounds_beyond_the_last_repeat_the_median(found: list[float], asked: list[float]) -> None:
    measure = replayed(found)
    assert [measure() for _ in asked] == asked


def test_a_case_asks_as_often_as_its_longest_series() -> None:
    def of(rounds: int) -> Series:
        return Series(lambda: nullcontext({OURS: counting()}), rounds=rounds, warms_up=False)

    growing = case({10: of(3), 100: of(2)}, "restart", "s", "cost")
    assert growing.sizes == (10, 100) and growing.rounds == 3
    with growing.open(100) as contenders:
        assert set(contenders) == {OURS}


def test_a_broken_run_breaks_every_figure_without_another_run() -> None:
    attempts = 0

    def broken(figures: Figures) -> None:
        nonlocal attempts
        attempts += 1
        raise RuntimeError("the server did not start")

    series = Series(lambda: nullcontext({OURS: broken}), rounds=2)
    for figure in ("cost", "time"):
        with pytest.raises(RuntimeError, match="did not start"):
            series.contenders(figure)
    assert attempts == 1
