"""Quantities as numbers: cores and bytes. A cluster that lies reads as 0, never as an error."""

import functools

from quarterdeck.kit.quantity import Quantity, QuantityError


@functools.lru_cache(maxsize=4096)
def parse_cores(text: str | int | None) -> float:
    """CPU in cores: `500m` is 0.5."""
    return _parse(text).as_float()


@functools.lru_cache(maxsize=4096)
def parse_whole(text: str | int | None) -> int:
    """Bytes, pods and other things that are counted."""
    return _parse(text).as_int()


def compute_percent(part: float, total: float) -> float:
    """A share; 0 of nothing."""
    return part / total * 100 if total > 0 else 0.0


def _parse(text: str | int | None) -> Quantity:
    try:
        return Quantity.parse(str(text or "0"))
    except QuantityError:
        return Quantity.of(0)
