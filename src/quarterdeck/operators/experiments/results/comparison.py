"""Compares two runs: per metric the difference, its interval, and whether it is worse. Pure."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from quarterdeck.meta.objects import Struct
from quarterdeck.operators.experiments.results import statistics
from quarterdeck.operators.experiments.results.document import Result

Better = Literal["", "lower", "higher"]
Change = Literal["regression", "improvement", "changed", "same", "unclear", "missing"]

SIGNIFICANCE = 0.05
SEED = 20260215
"""Fixed seed, so that the same data gives the same bootstrap interval."""
_ROUNDING = 1e-12
"""Relative difference below which means count as equal, because of rounding."""
_BY_OPERATOR: Mapping[str, Better] = {
    "lt": "lower",
    "lte": "lower",
    "gt": "higher",
    "gte": "higher",
}
_LOWER_UNITS = frozenset(
    {"s", "ms", "us", "seconds", "milliseconds", "bytes", "MB", "MiB", "GiB", "cores", "USD"}
)
_HIGHER_UNITS = frozenset({"req/s", "requests/s", "rps", "ops/s", "ops", "tps", "qps"})


class MetricComparison(Struct, frozen=True, kw_only=True):
    """One metric in both runs."""

    name: str
    unit: str = ""
    better: Better = ""
    """Which direction is better; empty if unknown."""
    count_a: int = 0
    count_b: int = 0
    mean_a: float | None = None
    mean_b: float | None = None
    difference: float | None = None
    """mean of B minus mean of A."""
    percent: float | None = None
    """The difference in percent of A's mean; None if that is 0."""
    interval: tuple[float, float] | None = None
    """95 % bootstrap interval of the difference; None with less than 2 values on a side."""
    p: float | None = None
    """Mann-Whitney, two-sided."""
    change: Change = "missing"


class Comparison(Struct, frozen=True, kw_only=True):
    """The comparison of run A with run B."""

    a: str
    b: str
    metrics: tuple[MetricComparison, ...] = ()

    @property
    def regressions(self) -> tuple[MetricComparison, ...]:
        """Metrics that are worse in B."""
        return tuple(each for each in self.metrics if each.change == "regression")


class Rules(Struct, frozen=True, kw_only=True):
    """What the user specifies about the metrics of a comparison."""

    lower: frozenset[str] = frozenset()
    higher: frozenset[str] = frozenset()
    min_percent: float = 0.0
    """Differences below this share of A's mean do not count."""


NO_RULES = Rules()


class Subject(Struct, frozen=True, kw_only=True):
    """A metric, and when a difference of it is relevant."""

    name: str
    unit: str = ""
    better: Better = ""
    min_percent: float = 0.0


def compare(a: Result, b: Result, rules: Rules = NO_RULES) -> Comparison:
    """Compare every metric that one of the runs has, in alphabetical order."""
    source = random.Random(SEED)
    return Comparison(
        a=a.name,
        b=b.name,
        metrics=tuple(
            compare_samples(
                Subject(
                    name=name,
                    unit=b.units.get(name) or a.units.get(name, ""),
                    better=find_direction(name, (b, a), rules),
                    min_percent=rules.min_percent,
                ),
                a.samples.get(name, ()),
                b.samples.get(name, ()),
                source=source,
            )
            for name in sorted({*a.samples, *b.samples})
        ),
    )


def compare_samples(
    subject: Subject, a: Sequence[float], b: Sequence[float], *, source: random.Random
) -> MetricComparison:
    """Compare the values of one metric."""
    found = MetricComparison(
        name=subject.name,
        unit=subject.unit,
        better=subject.better,
        count_a=len(a),
        count_b=len(b),
        mean_a=statistics.compute_mean(a) if a else None,
        mean_b=statistics.compute_mean(b) if b else None,
    )
    if found.mean_a is None or found.mean_b is None:
        return found
    difference = found.mean_b - found.mean_a
    if math.isclose(found.mean_a, found.mean_b, rel_tol=_ROUNDING):
        difference = 0.0
    interval = statistics.bootstrap_difference(a, b, source)
    found = msgspec.structs.replace(
        found,
        difference=difference,
        percent=difference / abs(found.mean_a) * 100 if found.mean_a else None,
        interval=(interval.low, interval.high) if interval is not None else None,
        p=statistics.compute_mann_whitney(a, b),
    )
    return msgspec.structs.replace(found, change=classify_change(found, subject.min_percent))


def classify_change(found: MetricComparison, min_percent: float) -> Change:
    """Classify a difference: it is significant if the interval excludes 0 and the test agrees.

    Without repeats there is no interval, so a difference is unclear, never a regression.
    """
    if found.difference is None:
        return "missing"
    is_small = found.percent is not None and abs(found.percent) < min_percent
    if found.difference == 0 or is_small:
        return "same"
    if found.interval is None or found.p is None or found.p >= SIGNIFICANCE:
        return "unclear"
    if not statistics.Interval(*found.interval).excludes_zero:
        return "unclear"
    if not found.better:
        return "changed"
    is_lower = found.difference < 0
    return "improvement" if is_lower == (found.better == "lower") else "regression"


def find_direction(name: str, results: Sequence[Result], rules: Rules) -> Better:
    """Which direction is better: by the rules, a success criterion, or the unit."""
    if name in rules.lower:
        return "lower"
    if name in rules.higher:
        return "higher"
    for result in results:
        criteria = result.hypothesis.success_criteria if result.hypothesis is not None else ()
        for each in criteria:
            if each.metric == name:
                return _BY_OPERATOR.get(each.operator, "")
    unit = next((result.units[name] for result in results if name in result.units), "")
    if unit in _LOWER_UNITS:
        return "lower"
    return "higher" if unit in _HIGHER_UNITS else ""
