"""Comparison of runs: properties of the statistics, directions, and what counts as worse."""

import itertools
import math
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quarterdeck.operators.experiments.results import statistics
from quarterdeck.operators.experiments.results.comparison import (
    Better,
    Rules,
    Subject,
    compare,
    compare_samples,
    find_direction,
)
from quarterdeck.operators.experiments.results.document import (
    Criterion,
    HypothesisResult,
    Result,
)
from quarterdeck.operators.experiments.results.report import build_comparison, build_rows, to_junit

numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 3))
samples = st.lists(numbers, min_size=1, max_size=8)
distinct = st.lists(numbers, min_size=2, max_size=8, unique=True)


def result(name: str, **values: list[float]) -> Result:
    return Result(name=name, samples={key: tuple(each) for key, each in values.items()})


def metric(better: Better, *, min_percent: float = 0.0) -> Subject:
    return Subject(name="m", better=better, min_percent=min_percent)


def brute_force(a: list[float], b: list[float]) -> float:
    """The two-sided p-value by counting every way to split the values."""

    def u_of(first: tuple[float, ...], rest: list[float]) -> float:
        return sum((x > y) + 0.5 * (x == y) for x in first for y in rest)

    values, middle = [*a, *b], len(a) * len(b) / 2
    seen = abs(u_of(tuple(a), b) - middle)
    extreme = total = 0
    for chosen in itertools.combinations(range(len(values)), len(a)):
        rest = [values[index] for index in range(len(values)) if index not in chosen]
        total += 1
        extreme += abs(u_of(tuple(values[i] for i in chosen), rest) - middle) >= seen - 1e-9
    return extreme / total


@given(distinct, st.integers(1, 7))
def test_the_exact_test_counts_every_arrangement(values: list[float], cut: int) -> None:
    cut = min(cut, len(values) - 1)
    a, b = values[:cut], values[cut:]
    p = statistics.compute_mann_whitney(a, b)
    assert p == pytest.approx(brute_force(a, b))


@given(samples, samples)
def test_the_test_is_symmetric_and_a_probability(a: list[float], b: list[float]) -> None:
    p = statistics.compute_mann_whitney(a, b)
    assert p is not None
    assert 0 < p <= 1
    assert statistics.compute_mann_whitney(b, a) == pytest.approx(p)
    assert statistics.compute_mann_whitney([-x for x in a], [-x for x in b]) == pytest.approx(p)


@given(samples)
def test_a_sample_is_like_itself(a: list[float]) -> None:
    assert statistics.compute_mann_whitney(a, a) == pytest.approx(1)


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        pytest.param([1, 2, 3], [4, 5, 6], 0.1, id="3 and 3 cannot be significant"),
        pytest.param([1, 2, 3, 4], [5, 6, 7, 8], 2 / 70, id="4 and 4 can"),
        pytest.param([1, 1, 1], [1, 1, 1], 1, id="all tied"),
        pytest.param([5], [5], 1, id="one and one"),
    ],
)
def test_the_rank_sum_test_gives_known_p_values(a: list[float], b: list[float], p: float) -> None:
    assert statistics.compute_mann_whitney(a, b) == pytest.approx(p)


def test_large_samples_use_the_normal_approximation() -> None:
    a = [float(each) for each in range(30)]
    b = [each + 10.5 for each in a]
    p = statistics.compute_mann_whitney(a, b)
    assert p is not None
    # U = 190 of 450, sigma = 67.64: z = 259.5 / 67.64 with the continuity correction
    u = sum(1 for x in a for y in b if x > y)
    z = (abs(u - 450) - 0.5) / math.sqrt(30 * 30 * 61 / 12)
    assert p == pytest.approx(math.erfc(z / math.sqrt(2)))


@given(samples)
def test_ranks_add_up(values: list[float]) -> None:
    ranks, ties = statistics.rank(values)
    assert math.fsum(ranks) == pytest.approx(len(values) * (len(values) + 1) / 2)
    assert sum(ties) == len(values) - sum(1 for each in values if values.count(each) == 1)


@given(st.lists(numbers, min_size=2, max_size=8), st.lists(numbers, min_size=2, max_size=8))
@example([129907.716] * 2, [0.0] * 2)
def test_the_interval_lies_between_the_extremes(a: list[float], b: list[float]) -> None:
    found = statistics.bootstrap_difference(a, b, random.Random(1))
    assert found is not None
    assert min(b) - max(a) - 1e-6 <= found.low <= found.high <= max(b) - min(a) + 1e-6
    again = statistics.bootstrap_difference(a, b, random.Random(1))
    assert again == found


def test_the_interval_nearly_always_covers_the_truth() -> None:
    source, covered = random.Random(7), 0
    for _ in range(40):
        a = [source.gauss(10, 1) for _ in range(30)]
        b = [source.gauss(11, 1) for _ in range(30)]
        found = statistics.bootstrap_difference(a, b, source)
        assert found is not None
        covered += found.low <= 1 <= found.high
    assert 34 <= covered <= 40


def test_one_value_has_no_interval() -> None:
    assert statistics.bootstrap_difference([1], [1, 2], random.Random(0)) is None
    assert statistics.compute_mann_whitney([], [1]) is None


@pytest.mark.parametrize(
    ("a", "b", "better", "change"),
    [
        pytest.param([1, 2, 3, 4, 5], [11, 12, 13, 14, 15], "lower", "regression", id="slower"),
        pytest.param([11, 12, 13, 14, 15], [1, 2, 3, 4, 5], "lower", "improvement", id="faster"),
        pytest.param([11, 12, 13, 14, 15], [1, 2, 3, 4, 5], "higher", "regression", id="less"),
        pytest.param([1, 2, 3, 4, 5], [11, 12, 13, 14, 15], "", "changed", id="nobody said"),
        pytest.param([1, 2, 3, 4, 5], [1, 2, 3, 4, 6], "lower", "unclear", id="noise"),
        pytest.param([1], [100], "lower", "unclear", id="one value is no proof"),
        pytest.param([0.42], [0.42] * 5, "lower", "same", id="rounding"),
        pytest.param([1], [], "lower", "missing", id="only in A"),
    ],
)
def test_what_counts_as_worse(a: list[float], b: list[float], better: Better, change: str) -> None:
    found = compare_samples(metric(better), a, b, source=random.Random(0))
    assert found.change == change


def test_small_differences_can_be_ignored() -> None:
    a, b = [100, 100.1, 100.2, 100.3, 100.4], [101, 101.1, 101.2, 101.3, 101.4]
    source = random.Random(0)
    strict = compare_samples(metric("lower"), a, b, source=source)
    tolerant = compare_samples(metric("lower", min_percent=5), a, b, source=source)
    assert (strict.change, tolerant.change) == ("regression", "same")


@given(samples, samples, st.sampled_from(["lower", "higher"]))
def test_the_other_way_round_is_the_opposite(
    a: list[float], b: list[float], better: Better
) -> None:
    opposite = {"regression": "improvement", "improvement": "regression"}
    there = compare_samples(metric(better), a, b, source=random.Random(0))
    back = compare_samples(metric(better), b, a, source=random.Random(0))
    if there.change in opposite and back.change in opposite:
        assert back.change == opposite[there.change]
    assert there.difference == pytest.approx(-(back.difference or 0.0))


def test_the_direction_comes_from_the_reader_then_criteria_then_units() -> None:
    criterion = Criterion(metric="p99", operator="lt", value="1")
    hypothesis = HypothesisResult(claim="c", success_criteria=(criterion,))
    known = Result(name="a", hypothesis=hypothesis, units={"rate": "req/s", "mem": "bytes"})
    assert find_direction("p99", (known,), Rules()) == "lower"
    assert find_direction("p99", (known,), Rules(higher=frozenset({"p99"}))) == "higher"
    assert find_direction("rate", (known,), Rules()) == "higher"
    assert find_direction("mem", (known,), Rules()) == "lower"
    assert find_direction("other", (known,), Rules()) == ""


def test_a_comparison_lists_every_metric_once() -> None:
    a = result("a", x=[1, 2, 3, 4, 5], only_a=[1])
    b = result("b", x=[11, 12, 13, 14, 15], only_b=[1])
    found = compare(a, b, Rules(lower=frozenset({"x"})))
    assert [each.name for each in found.metrics] == ["only_a", "only_b", "x"]
    assert [each.name for each in found.regressions] == ["x"]
    assert [row[0] for row in build_rows(found)] == ["METRIC", "only_a", "only_b", "x"]
    report = to_junit(build_comparison(found)).decode()
    assert 'failures="1"' in report
    assert 'skipped="2"' in report
    assert compare(a, b, Rules(lower=frozenset({"x"}))) == found
