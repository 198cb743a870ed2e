"""From rounds to statements: medians with spread, ratios, and how a cost grows."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

SUPERLINEAR = 1.25
"""An exponent above this is called out: the cost grows faster than the size."""


def summarize(rounds: Sequence[float]) -> dict[str, float]:
    """The median, and the range it came from."""
    return {
        "median": _short(statistics.median(rounds)),
        "low": _short(min(rounds)),
        "high": _short(max(rounds)),
    }


def ratio(ours: float, theirs: float, *, is_more_better: bool) -> float | None:
    """How many times better we are than they; below 1 we lose."""
    if ours <= 0 or theirs <= 0:
        return None
    return _short(ours / theirs if is_more_better else theirs / ours)


def ratios(
    ours: Sequence[float], theirs: Sequence[float], *, is_more_better: bool
) -> dict[str, float | None]:
    """The ratio of the medians, and the range of the ratios round by round."""
    middle, peer = statistics.median(ours), statistics.median(theirs)
    whole = ratio(middle, peer, is_more_better=is_more_better)
    pairs = zip(ours, theirs, strict=False)
    rounds = [ratio(us, them, is_more_better=is_more_better) for us, them in pairs]
    known = [each for each in rounds if each is not None]
    return {
        "ratio": whole,
        "ratio_low": min(known, default=None),
        "ratio_high": max(known, default=None),
    }


def spread(summary: dict[str, Any]) -> str:
    """A ratio with its range: `2.1x (1.9 to 2.4)`."""
    low, high = summary.get("ratio_low"), summary.get("ratio_high")
    text = f"{summary['ratio']:.3g}x"
    return text if low is None or high is None else f"{text} ({low:.3g} to {high:.3g})"


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float | None:
    """The slope of cost over size on logarithmic scales: 1 is linear, 2 is quadratic."""
    points = [
        (math.log(size), math.log(cost))
        for size, cost in zip(sizes, costs, strict=True)
        if size > 0 and cost > 0
    ]
    if len({x for x, _ in points}) < 2:
        return None
    slope, _ = statistics.linear_regression([x for x, _ in points], [y for _, y in points])
    return round(slope, 2)


def verdict(case: dict[str, Any]) -> list[str]:
    """What a reader must not overlook: where we lose, and what grows too fast."""
    remarks = []
    for name, entry in case["contenders"].items():
        if "missing" in entry:
            continue
        last = entry["sizes"][-1]
        if (times := last.get("ratio")) is not None and times < 0.95:
            remarks.append(f"{name} is {1 / times:.2g}x better than us")
        if (slope := entry.get("exponent")) is not None and slope > SUPERLINEAR:
            remarks.append(f"{name} grows superlinearly (exponent {slope})")
    return remarks


def _short(value: float) -> float:
    """Four significant digits: more would be noise."""
    return float(f"{value:.4g}")
