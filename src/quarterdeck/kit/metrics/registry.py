"""Families of series by name, bounded in number; see the package for the policy when full."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from quarterdeck.kit.metrics.series import Counter, Gauge, Histogram
from quarterdeck.kit.metrics.text import encode_header, encode_labels, encode_series

DEFAULT_MAX_SERIES = 1000
OVERFLOW = "exceeded_cardinality_limit"
"""The value of every label of the overflow series; controller-runtime's word."""
_OVERFLOW_METRIC = "quarterdeck_metrics_overflow_total"

S = TypeVar("S", Counter, Gauge, Histogram)


class Limit(msgspec.Struct, frozen=True):
    """How many series a family may have."""

    max_series: int
    on_overflow: Callable[[str], None]
    """Called with the name of the metric, for each look-up of a label set beyond the limit."""


class Family(Generic[S]):
    """All series of one name, distinguished by the values of their labels."""

    def __init__(
        self, name: str, text: str, labels: Sequence[str], *, make: Callable[[], S], limit: Limit
    ) -> None:
        _check_names(name, labels, limit.max_series)
        self.name = name
        self.text = text
        self.kind = make().KIND
        self.label_names = tuple(labels)
        self.max_series = limit.max_series
        self._make: Callable[[], S] = make
        self._on_overflow = limit.on_overflow
        self._series: dict[tuple[str, ...], S] = {}
        self._overflow: S | None = None

    def labels(self, *values: str) -> S:
        """Get or create the series with these label values; a new one starts at zero.

        When the family is full, every new label set gets the one overflow series.
        """
        series = self._series.get(values)
        return self._add(values) if series is None else series

    def series(self) -> Mapping[tuple[str, ...], S]:
        """All series so far, by label values, without the overflow series."""
        return self._series

    def remove(self, *values: str) -> None:
        """Remove the series with these label values, which makes room for another."""
        self._series.pop(values, None)

    def encode(self) -> Iterator[str]:
        """The lines of the family in the text format, in the order of their labels."""
        yield from encode_header(self.name, self.kind, self.text)
        for values, series in sorted(self._series.items(), key=_get_values):
            yield from encode_series(self.name, encode_labels(self.label_names, values), series)
        if self._overflow is not None and not isinstance(self._overflow, Gauge):
            labels = encode_labels(self.label_names, [OVERFLOW] * len(self.label_names))
            yield from encode_series(self.name, labels, self._overflow)

    def _add(self, values: tuple[str, ...]) -> S:
        if len(values) != len(self.label_names):
            raise ValueError(f"metric {self.name} has labels {self.label_names}, got {values}")
        if len(self._series) < self.max_series:
            series = self._series[values] = self._make()
            return series
        self._on_overflow(self.name)
        if self._overflow is None:
            self._overflow = self._make()
        return self._overflow


class Registry:
    """The metrics of one process, of one manager, or of one server."""

    def __init__(self) -> None:
        self._families: dict[str, Family[Counter] | Family[Gauge] | Family[Histogram]] = {}
        self._collectors: list[Callable[[], None]] = []
        self._overflows: Family[Counter] | None = None

    @property
    def families(self) -> "tuple[Family[Any], ...]":
        """Every declared family, in the order of declaration."""
        return tuple(self._families.values())

    def counter(
        self,
        name: str,
        text: str,
        labels: Sequence[str] = (),
        *,
        max_series: int = DEFAULT_MAX_SERIES,
    ) -> Family[Counter]:
        """Declare a counter.

        Raises:
            ValueError: if the name is taken, or a name is not valid in Prometheus.
        """
        limit = Limit(max_series, self._count_overflow)
        return self._declare(Family(name, text, labels, make=Counter, limit=limit))

    def gauge(
        self,
        name: str,
        text: str,
        labels: Sequence[str] = (),
        *,
        max_series: int = DEFAULT_MAX_SERIES,
    ) -> Family[Gauge]:
        """Declare a gauge; raises as `counter` does."""
        limit = Limit(max_series, self._count_overflow)
        return self._declare(Family(name, text, labels, make=Gauge, limit=limit))

    def histogram(
        self,
        name: str,
        text: str,
        labels: Sequence[str] = (),
        *,
        buckets: Sequence[float],
        max_series: int = DEFAULT_MAX_SERIES,
    ) -> Family[Histogram]:
        """Declare a histogram; raises as `counter` does, and if `buckets` do not rise."""
        bounds = tuple(buckets)
        _check_buckets(name, labels, bounds)
        limit = Limit(max_series, self._count_overflow)
        return self._declare(
            Family(name, text, labels, make=lambda: Histogram(bounds), limit=limit)
        )

    def add_collector(self, function: Callable[[], None]) -> None:
        """Call a function before each rendering, to set gauges to present values."""
        self._collectors.append(function)

    def render(self) -> bytes:
        """All metrics in the text format."""
        for collect in self._collectors:
            collect()
        lines = [line for family in self._families.values() for line in family.encode()]
        lines.append("")
        return "\n".join(lines).encode()

    def get_value(self, name: str, *labels: str) -> float:
        """One value, the number of observations of a histogram; 0 for a series not made yet."""
        series = self._families[name].series().get(labels)
        return 0.0 if series is None else series.read()

    def _declare(self, family: Family[S]) -> Family[S]:
        if family.name in self._families:
            raise ValueError(f"metric {family.name} is declared twice")
        self._families[family.name] = family
        return family

    def _count_overflow(self, metric: str) -> None:
        if self._overflows is None:
            self._overflows = self.counter(
                _OVERFLOW_METRIC,
                "Lookups of new label sets while a metric had its maximum number of series.",
                ("metric",),
            )
        self._overflows.labels(metric).value += 1


def _get_values(item: tuple[tuple[str, ...], object]) -> tuple[str, ...]:
    return item[0]


def _check_names(name: str, labels: Sequence[str], max_series: int) -> None:
    if not name.isascii() or not name.replace(":", "_").isidentifier():
        raise ValueError(f"metric name {name!r} is not valid in Prometheus")
    for label in labels:
        if not label.isascii() or not label.isidentifier() or label.startswith("__"):
            raise ValueError(f"metric {name}: label name {label!r} is not valid in Prometheus")
    if max_series < 1:
        raise ValueError(f"metric {name}: max_series must be at least 1, got {max_series}")


def _check_buckets(name: str, labels: Sequence[str], bounds: Sequence[float]) -> None:
    if "le" in labels:
        raise ValueError(f"metric {name}: label 'le' is reserved for the buckets of histograms")
    if not bounds or list(bounds) != sorted(set(bounds)) or math.isinf(bounds[-1]):
        raise ValueError(f"metric {name}: buckets must be finite and rise, got {bounds}")
