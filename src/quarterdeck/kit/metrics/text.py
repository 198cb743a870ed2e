"""Prometheus' text format, version 0.0.4."""

import math
from collections.abc import Iterator, Sequence

from quarterdeck.kit.metrics.series import Counter, Gauge, Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def encode_header(name: str, kind: str, text: str) -> Iterator[str]:
    """The HELP and TYPE lines of a family."""
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
    yield f"# HELP {name} {escaped}"
    yield f"# TYPE {name} {kind}"


def encode_labels(names: Sequence[str], values: Sequence[str]) -> str:
    """Label pairs without their braces."""
    pairs = zip(names, values, strict=True)
    return ",".join(f'{name}="{_escape_value(value)}"' for name, value in pairs)


def encode_series(name: str, labels: str, series: Counter | Gauge | Histogram) -> Iterator[str]:
    """The lines of one series; `labels` come from `encode_labels`."""
    if isinstance(series, Histogram):
        yield from _encode_histogram(name, labels, series)
    else:
        yield f"{name}{_enclose(labels)} {format_number(series.read())}"


def _encode_histogram(name: str, labels: str, histogram: Histogram) -> Iterator[str]:
    """Cumulative buckets, the sum and the count."""
    total = 0
    lead = f"{labels}," if labels else ""
    for bound, count in zip((*histogram.bounds, math.inf), histogram.counts, strict=True):
        total += count
        yield f'{name}_bucket{{{lead}le="{format_number(bound)}"}} {total}'
    enclosed = _enclose(labels)
    yield f"{name}_sum{enclosed} {format_number(histogram.sum)}"
    yield f"{name}_count{enclosed} {total}"


def format_number(value: float) -> str:
    """A number as Go's client writes it: integers without a point, `+Inf`, `-Inf`, `NaN`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _enclose(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""


def _escape_value(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
