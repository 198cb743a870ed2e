"""Text that is different in each object, so that no cache looks better than it is.

Objects that are copies of one another would flatter whoever compresses or shares them. The same
seed gives the same text.
"""

import functools
import string
from random import Random

_WORDS = 1_000
_LONGEST = 9


def words(length: int, *, seed: int) -> str:
    """Words of a small language: what names, commands and descriptions are like."""
    rng, text = Random(seed), ""
    while len(text) < length:
        text += " ".join(rng.choices(_language(), k=1 + length // _LONGEST)) + " "
    return text[:length]


def noise(length: int, *, seed: int) -> str:
    """Letters and digits without any order: what keys and certificates are like."""
    return "".join(Random(seed).choices(string.ascii_letters + string.digits, k=length))


@functools.cache
def _language() -> list[str]:
    rng = Random(0)
    return [
        "".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, _LONGEST)))
        for _ in range(_WORDS)
    ]
