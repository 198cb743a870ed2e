"""Statistics of two samples: bootstrap interval of the difference, and Mann-Whitney. Pure.

Means are compared because users think in them; the Mann-Whitney test beside it does not assume any
distribution and is not moved by one outlier.
"""

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

CONFIDENCE = 0.95
RESAMPLES = 2000
_FEWEST_RESAMPLES = 200
_MAX_DRAWS = 4_000_000
"""Limit of draws, so that a bootstrap takes about a second at most."""
_MAX_EXACT = 20
"""Up to this size of both samples, and without ties, the exact distribution is used."""


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether both bounds have the same sign."""
        return self.low > 0 or self.high < 0


def compute_mean(values: Sequence[float]) -> float:
    """The arithmetic mean of at least one value; no sum is too large for it."""
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        return float(sum(map(Fraction, values)) / len(values))


def bootstrap_difference(
    a: Sequence[float], b: Sequence[float], source: random.Random
) -> Interval | None:
    """The percentile interval of mean(b) - mean(a); None if a sample has less than 2 values."""
    if len(a) < 2 or len(b) < 2:
        return None
    count = max(_FEWEST_RESAMPLES, min(RESAMPLES, _MAX_DRAWS // (len(a) + len(b))))
    found = sorted(
        compute_mean(source.choices(b, k=len(b))) - compute_mean(source.choices(a, k=len(a)))
        for _ in range(count)
    )
    tail = (1 - CONFIDENCE) / 2
    return Interval(_compute_quantile(found, tail), _compute_quantile(found, 1 - tail))


def _compute_quantile(ordered: Sequence[float], share: float) -> float:
    """Interpolate between two neighbors; exact if they are equal."""
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    rest = position - below
    return ordered[below] + (ordered[above] - ordered[below]) * rest


def compute_mann_whitney(a: Sequence[float], b: Sequence[float]) -> float | None:
    """The two-sided p-value that both samples are alike; None if one is empty."""
    if not a or not b:
        return None
    ranks, ties = rank([*a, *b])
    u = math.fsum(ranks[: len(a)]) - len(a) * (len(a) + 1) / 2
    if not ties and max(len(a), len(b)) <= _MAX_EXACT:
        return _compute_exact_p(u, len(a), len(b))
    return _approximate(u, len(a), len(b), ties)


def rank(values: Sequence[float]) -> tuple[list[float], list[int]]:
    """The rank of each value from 1, ties sharing their mean; and the sizes of the ties."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, ties, done = [0.0] * len(values), [], 0
    for _, group in itertools.groupby(order, key=values.__getitem__):
        members = list(group)
        for index in members:
            ranks[index] = done + (len(members) + 1) / 2
        if len(members) > 1:
            ties.append(len(members))
        done += len(members)
    return ranks, ties


def _compute_exact_p(u: float, n: int, m: int) -> float:
    counts = _count_arrangements(n, m)
    smaller = int(min(u, n * m - u))
    return min(1.0, 2 * sum(counts[: smaller + 1]) / math.comb(n + m, n))


def _count_arrangements(n: int, m: int) -> list[int]:
    """How many orders of n and m values give each U: the coefficients of a Gaussian binomial."""
    size = n * m + 1
    counts = [1] + [0] * (size - 1)
    for k in range(1, n + 1):
        for index in range(size - 1, m + k - 1, -1):
            counts[index] -= counts[index - m - k]
        for index in range(k, size):
            counts[index] += counts[index - k]
    return counts


def _approximate(u: float, n: int, m: int, ties: Sequence[int]) -> float:
    total = n + m
    tied = sum(size**3 - size for size in ties)
    variance = n * m / 12 * ((total + 1) - tied / (total * (total - 1))) if total > 1 else 0.0
    if variance <= 0:
        return 1.0
    distance = max(0.0, abs(u - n * m / 2) - 0.5)
    return min(1.0, math.erfc(distance / math.sqrt(2 * variance)))
