"""Converts numbers as Go decodes and encodes them.

An integer over 64 bits becomes a float. A float without a fraction is written as an integer:
`1000.0` becomes `1000`, so it is a float while an object is validated, and an integer when the
object is read again.
"""

from collections.abc import Iterator
from typing import Any

_FEWEST, _MOST = -(2**63), 2**63 - 1
_WHOLE = b".0"
_ENDS = frozenset({b",", b"}", b"]"})
_LARGEST = 1e21
"""From here on Go writes an exponent."""


def round_large_integers(value: Any) -> None:
    """Replace integers beyond 64 bits in an object or a list by floats, in place."""
    for part, key, number in _list_members(value, int):
        if not _FEWEST <= number <= _MOST:
            part[key] = float(number)


def may_have_whole_floats(encoded: bytes) -> bool:
    """Whether JSON may have floats without a fraction below 10**16; also true for such a text."""
    at = encoded.find(_WHOLE)
    while at >= 0:
        if encoded[at + 2 : at + 3] in _ENDS:
            return True
        at = encoded.find(_WHOLE, at + 2)
    return False


def write_whole_floats(value: Any) -> None:
    """Replace floats without a fraction in an object or a list by integers, in place."""
    for part, key, number in _list_members(value, float):
        if number.is_integer() and abs(number) < _LARGEST:
            part[key] = int(number)


def _list_members(value: Any, wanted: type) -> Iterator[tuple[Any, Any, Any]]:
    """Yield container, key and value of each member of a type, at any depth; it may be replaced."""
    parts = [value]
    for part in parts:  # grows: recursion would cost a call for each part
        members = part.items() if type(part) is dict else enumerate(part)
        for key, each in members:
            kind = type(each)
            if kind is dict or kind is list:
                parts.append(each)
            elif kind is wanted:
                yield part, key, each
