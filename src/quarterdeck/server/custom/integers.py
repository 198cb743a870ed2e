"""Integers that Go cannot hold: beyond 64 bits a number without a fraction is a float."""

from typing import Any

_FEWEST, _MOST = -(2**63), 2**63 - 1


def round_large_integers(value: Any) -> None:
    """Replace integers beyond 64 bits in an object or a list by floats, in place."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    large = []
    for key, each in members:
        kind = type(each)
        if kind is dict or kind is list:
            round_large_integers(each)
        elif kind is int and not _FEWEST <= each <= _MOST:
            large.append(key)
    for key in large:
        value[key] = float(value[key])
