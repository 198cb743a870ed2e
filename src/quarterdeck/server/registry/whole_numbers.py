"""Floats without a fraction, which Go writes as integers: `1000.0` becomes `1000`.

They are floats while an object is validated, and integers when it is read again.
"""

from typing import Any

_ENDS = (b".0,", b".0}", b".0]")
_LARGEST = 1e21
"""From here on Go writes an exponent."""


def may_have_whole_floats(encoded: bytes) -> bool:
    """Whether JSON may have such a number below 10**16; a text that looks like one counts too."""
    return b".0" in encoded and any(end in encoded for end in _ENDS)


def write_whole_floats(value: Any) -> None:
    """Replace floats without a fraction in an object or a list by integers, in place."""
    parts = [value]
    for part in parts:  # grows: recursion would cost a call for each part
        members = part.items() if type(part) is dict else enumerate(part)
        for key, each in members:
            kind = type(each)
            if kind is dict or kind is list:
                parts.append(each)
            elif kind is float and each.is_integer() and abs(each) < _LARGEST:
                part[key] = int(each)  # of a member that is there: the iteration goes on
