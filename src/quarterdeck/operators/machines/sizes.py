"""Parses values of specs: memory, disks, durations, times. Pure."""

import functools
from datetime import UTC, datetime

from quarterdeck.kit import duration, rfc3339
from quarterdeck.kit.quantity import Quantity

_NANO = 10**9
_BINARY = {"K": "Ki", "M": "Mi", "G": "Gi", "T": "Ti"}


@functools.lru_cache(maxsize=256)
def parse_bytes(text: str) -> int:
    """Bytes of a size such as 8Gi or 50G; hypervisors count both in powers of two."""
    if text[-1:] in _BINARY:
        text = text[:-1] + _BINARY[text[-1]]
    return Quantity.parse(text).nano // _NANO


def format_bytes(amount: int) -> str:
    """Bytes as the shortest exact quantity with a binary suffix."""
    for suffix, size in (("Gi", 1024**3), ("Mi", 1024**2), ("Ki", 1024)):
        if amount and amount % size == 0:
            return f"{amount // size}{suffix}"
    return str(amount)


@functools.lru_cache(maxsize=256)
def parse_seconds(text: str) -> float:
    """Seconds of a duration such as 10m; 0 for an empty text."""
    return duration.parse_seconds(text) if text else 0.0


def parse_time(text: str | None) -> datetime | None:
    """A time of an object; None if there is none."""
    if not text:
        return None
    return rfc3339.parse(text).astimezone(UTC)


def compute_seconds_since(text: str | None, now: datetime) -> float | None:
    """Seconds since a time of an object; None if it is not set."""
    moment = parse_time(text)
    return (now - moment).total_seconds() if moment is not None else None


def parse_amount(value: int | str, whole: int, *, up: bool) -> int:
    """A number, or a percentage of `whole` rounded up or down."""
    text = str(value)
    if not text.endswith("%"):
        return int(text)
    share = int(text[:-1]) * whole
    return -(-share // 100) if up else share // 100
