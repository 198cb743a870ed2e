"""A light metrics registry: counters, gauges, histograms, and Prometheus' text format.

Written because the usual library takes longer to import than our server to start, and takes a
lock for every observation; an event loop needs none. Only what the runtime needs is here.
"""

import bisect
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Counter:
    """A number that only rises."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, amount: float = 1.0) -> None:
        """Add."""
        self.value += amount

    def samples(self, name: str, labels: str) -> Iterable[str]:
        """The lines of the text format."""
        yield f"{name}{_braces(labels)} {_number(self.value)}"


class Gauge:
    """A number that rises and falls, or is asked for when read."""

    __slots__ = ("_ask", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self._ask: Callable[[], float] | None = None

    def set(self, value: float) -> None:
        """Replace."""
        self.value = value

    def inc(self, amount: float = 1.0) -> None:
        """Add."""
        self.value += amount

    def dec(self, amount: float = 1.0) -> None:
        """Subtract."""
        self.value -= amount

    def ask(self, function: Callable[[], float]) -> None:
        """Compute the value when it is read."""
        self._ask = function

    def samples(self, name: str, labels: str) -> Iterable[str]:
        """The lines of the text format."""
        value = self._ask() if self._ask is not None else self.value
        yield f"{name}{_braces(labels)} {_number(value)}"


class Histogram:
    """Counts observations in buckets."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        """All observations."""
        return sum(self.counts)

    def samples(self, name: str, labels: str) -> Iterable[str]:
        """Cumulative buckets, sum and count."""
        total = 0
        lead = f"{labels}," if labels else ""
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            total += count
            yield f'{name}_bucket{{{lead}le="{_number(bound)}"}} {total}'
        yield f"{name}_sum{_braces(labels)} {_number(self.sum)}"
        yield f"{name}_count{_braces(labels)} {total}"


M = TypeVar("M", Counter, Gauge, Histogram)


class Family(Generic[M]):
    """All metrics of one name, told apart by labels."""

    def __init__(
        self, name: str, text: str, *, kind: str, labels: Sequence[str], make: Callable[[], M]
    ) -> None:
        self.name = name
        self.text = text
        self.kind = kind
        self.label_names = tuple(labels)
        self._make: Callable[[], M] = make
        self._children: dict[tuple[str, ...], M] = {}

    def labels(self, *values: str) -> M:
        """The metric with these label values, made at zero when first asked for."""
        child = self._children.get(values)
        if child is None:
            if len(values) != len(self.label_names):
                raise ValueError(f"{self.name} has labels {self.label_names}, got {values}")
            child = self._children[values] = self._make()
        return child

    def children(self) -> dict[tuple[str, ...], M]:
        """All metrics so far, by label values."""
        return self._children

    def remove(self, *values: str) -> None:
        """Forget the metric with these label values."""
        self._children.pop(values, None)

    def render(self) -> Iterable[str]:
        """The family in the text format."""
        yield f"# HELP {self.name} {self.text}"
        yield f"# TYPE {self.name} {self.kind}"
        for values, child in self._children.items():
            pairs = zip(self.label_names, values, strict=True)
            labels = ",".join(f'{name}="{_escape(value)}"' for name, value in pairs)
            yield from child.samples(self.name, labels)


class Registry:
    """The metrics of one process, or of one manager."""

    def __init__(self) -> None:
        self._families: dict[str, Family[Counter] | Family[Gauge] | Family[Histogram]] = {}
        self._refreshers: list[Callable[[], None]] = []

    def counter(self, name: str, text: str, labels: Sequence[str] = ()) -> Family[Counter]:
        """Declare a counter."""
        return self._add(Family(name, text, kind="counter", labels=labels, make=Counter))

    def gauge(self, name: str, text: str, labels: Sequence[str] = ()) -> Family[Gauge]:
        """Declare a gauge."""
        return self._add(Family(name, text, kind="gauge", labels=labels, make=Gauge))

    def histogram(
        self, name: str, text: str, labels: Sequence[str] = (), *, buckets: Sequence[float]
    ) -> Family[Histogram]:
        """Declare a histogram."""
        bounds = tuple(buckets)
        return self._add(
            Family(name, text, kind="histogram", labels=labels, make=lambda: Histogram(bounds))
        )

    def refresh(self, function: Callable[[], None]) -> None:
        """Call a function before each reading, to set gauges from what it knows."""
        self._refreshers.append(function)

    def render(self) -> bytes:
        """Everything in the text format."""
        for refresher in self._refreshers:
            refresher()
        lines = [line for family in self._families.values() for line in family.render()]
        return ("\n".join(lines) + "\n").encode()

    def value(self, name: str, *labels: str) -> float:
        """One value, for tests and health; the count of a histogram."""
        child = self._families[name].labels(*labels)
        return float(child.count) if isinstance(child, Histogram) else child.value

    def _add(self, family: Family[M]) -> Family[M]:
        if family.name in self._families:
            raise ValueError(f"metric {family.name} is declared twice")
        self._families[family.name] = family
        return family


def _braces(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
