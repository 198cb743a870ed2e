"""Quantities as numbers: cores and bytes. An invalid quantity reads as 0, never as an error."""

import functools

from quarterdeck.kit.quantity import Quantity, QuantityError


@functools.lru_cache(maxsize=4096)
def parse_cores(text: str | int | None) -> float:
    """CPU in cores: `500m` is 0.5."""
    return _parse(text).as_float()


@functools.lru_cache(maxsize=4096)
def parse_whole(text: str | int | None) -> int:
    """A whole number: bytes, pods and the like."""
    return _parse(text).as_int()


def compute_percent(part: float, total: float) -> float:
    """The percentage of a total; 0 if the total is not positive."""
    return part / total * 100 if total > 0 else 0.0


def _parse(text: str | int | None) -> Quantity:
    try:
        return Quantity.parse(str(text or "0"))
    except QuantityError:
        return Quantity.of(0)
