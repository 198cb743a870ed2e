"""Integers that Go cannot hold: beyond 64 bits a number without a fraction is a float."""

from typing import Any

_FEWEST, _MOST = -(2**63), 2**63 - 1


def round_large_integers(value: Any) -> None:
    """Replace integers beyond 64 bits in an object or a list by floats, in place."""
    parts = [value]
    for part in parts:  # grows: recursion would cost a call for each part
        members = part.items() if type(part) is dict else enumerate(part)
        for key, each in members:
            kind = type(each)
            if kind is dict or kind is list:
                parts.append(each)
            elif kind is int and not _FEWEST <= each <= _MOST:
                part[key] = float(each)  # of a member that is there: the iteration goes on
