"""Indexes of an indexed job as text: `0,2-4`."""

import re
from collections.abc import Iterator

from quarterdeck.meta.field import quote

Interval = tuple[int, int]


class InvalidIndexesError(ValueError):
    """Raised when a text is not a list of indexes; the text is Kubernetes'."""


def count_indexes(text: str, completions: int) -> int:
    """Count the indexes in a text.

    Raises:
        InvalidIndexesError: if it is not such a list, or the indexes are not in order.
    """
    last, total = None, 0
    for part in text.split(",") if text else ():
        first, end = _parse_interval(part, completions)
        if last is not None and last >= first:
            raise InvalidIndexesError(_format_order(last, first))
        total += end - first + 1
        last = end
    return total


def find_overlap(some: str, others: str, completions: int) -> int | None:
    """Find the first index that is in both texts; intervals that cannot be read do not count."""
    left, right = _iterate_valid(some, completions), _iterate_valid(others, completions)
    one, other = next(left, None), next(right, None)
    while one is not None and other is not None:
        if one[0] <= other[1] and other[0] <= one[1]:
            return max(one[0], other[0])
        if one[0] <= other[0]:
            one = next(left, None)
        else:
            other = next(right, None)
    return None


def _iterate_valid(text: str, completions: int) -> Iterator[Interval]:
    for part in text.split(",") if text else ():
        try:
            yield _parse_interval(part, completions)
        except InvalidIndexesError:
            continue


def _parse_interval(text: str, completions: int) -> Interval:
    parts = text.split("-")
    if len(parts) > 2:
        raise InvalidIndexesError(
            f"the fragment {quote(text)} violates the requirement that an index interval can have"
            " at most two parts separated by '-'"
        )
    first, last = (_parse_index(part, completions) for part in (parts[0], parts[-1]))
    if len(parts) > 1 and first >= last:
        raise InvalidIndexesError(_format_order(first, last))
    return first, last


def _parse_index(text: str, completions: int) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise InvalidIndexesError(f"cannot convert string to integer for index: {quote(text)}")
    if int(text) >= completions:
        raise InvalidIndexesError(f"too large index: {quote(text)}")
    return int(text)


def _format_order(previous: int, current: int) -> str:
    return f"non-increasing order, previous: {previous}, current: {current}"
