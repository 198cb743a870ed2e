"""One time series of each type: a counter, a gauge, a histogram."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import ClassVar


class Counter:
    """A number that only rises. Hot paths may add to `value` directly."""

    KIND: ClassVar[str] = "counter"
    __slots__ = ("_function", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self._function: Callable[[], float] | None = None

    def inc(self, amount: float = 1.0) -> None:
        """Add `amount`, which must not be negative."""
        if amount < 0:
            raise ValueError(f"a counter cannot be decreased: inc({amount})")
        self.value += amount

    def set_function(self, function: Callable[[], float]) -> None:
        """Compute the value when it is read, from a count that is kept elsewhere."""
        self._function = function

    def read(self) -> float:
        """The current value."""
        return self.value if self._function is None else self._function()


class Gauge:
    """A number that rises and falls, or is computed when it is read."""

    KIND: ClassVar[str] = "gauge"
    __slots__ = ("_function", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self._function: Callable[[], float] | None = None

    def set(self, value: float) -> None:
        """Replace the value."""
        self.value = value

    def inc(self, amount: float = 1.0) -> None:
        """Add `amount`."""
        self.value += amount

    def dec(self, amount: float = 1.0) -> None:
        """Subtract `amount`."""
        self.value -= amount

    def set_function(self, function: Callable[[], float]) -> None:
        """Compute the value when it is read."""
        self._function = function

    def read(self) -> float:
        """The current value."""
        return self.value if self._function is None else self._function()


class Histogram:
    """Counts observations in buckets."""

    KIND: ClassVar[str] = "histogram"
    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        """`bounds` are the upper limits of the buckets, rising, without infinity."""
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        """The number of observations."""
        return sum(self.counts)

    def read(self) -> float:
        """The number of observations."""
        return float(self.count)
