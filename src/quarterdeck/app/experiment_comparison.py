"""Compares the stored summaries of two experiments, for the dashboard."""

from typing import Any

import msgspec

from quarterdeck.operators.experiments.results.comparison import compare
from quarterdeck.operators.experiments.results.document import Result, ResultError, decode
from quarterdeck.services.hub.web.comparisons import Incomparable

MAX_VALUES = 10_000
"""Maximum number of values of both runs, because statistics of more take too long."""


def compare_summaries(a: bytes, b: bytes) -> list[dict[str, Any]]:
    """Compare each metric of two summaries, as `quarterdeck experiments compare` does.

    Raises:
        Incomparable: if one is not a summary, or they have too many values.
    """
    try:
        first, second = decode(a), decode(b)
    except ResultError as error:
        raise Incomparable(f"cannot read the stored results: {error}") from error
    count = _count_values(first) + _count_values(second)
    if count > MAX_VALUES:
        raise Incomparable(
            f"the runs have {count:,} values, and the dashboard compares at most {MAX_VALUES:,}; "
            "compare them with `quarterdeck experiments compare`"
        )
    found: list[dict[str, Any]] = msgspec.to_builtins(compare(first, second).metrics)
    return found


def _count_values(result: Result) -> int:
    return sum(len(values) for values in result.samples.values())
