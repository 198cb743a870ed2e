"""Samples as lines of Prometheus text, and queries as PromQL. Pure."""

import math
import re
from collections.abc import Iterable, Iterator

from quarterdeck.hubstate.ports import RangeQuery, Reduction, Sample

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_FUNCTIONS: dict[Reduction, str] = {
    "avg": "avg_over_time",
    "min": "min_over_time",
    "max": "max_over_time",
    "last": "last_over_time",
}


def encode_samples(samples: Iterable[Sample]) -> Iterator[str]:
    """Encode one line per sample, with its time in milliseconds; skips non-finite values."""
    for sample in samples:
        if math.isfinite(sample.value):
            labels = ",".join(f'{name}="{escape(value)}"' for name, value in sample.labels)
            series = f"{sample.name}{{{labels}}}" if labels else sample.name
            at_ms = int(sample.at.timestamp() * 1000)
            yield f"{series} {_format_number(float(sample.value))} {at_ms}\n"


def escape(value: str) -> str:
    """Escape the value of a label for use between quotes."""
    return value.translate(_ESCAPES)


def encode_query(query: RangeQuery) -> str:
    """The PromQL expression that yields one point per step.

    Raises:
        ValueError: if the name of the metric or of a label is invalid.
    """
    for name in (query.name, *query.labels):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a valid name of a metric or label")
    matchers = ",".join(
        f'{name}=~"{escape("|".join(map(re.escape, values)))}"'
        for name, values in sorted(query.labels.items())
    )
    step_ms = int(query.step.total_seconds() * 1000)
    return f"{_FUNCTIONS[query.reduction]}({query.name}{{{matchers}}}[{step_ms}ms])"


def _format_number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
