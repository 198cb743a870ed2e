"""Generated names and uids, from the random generator of the server."""

import random

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels, and without characters that look alike: no suffix spells a word."""
_SUFFIX_LENGTH = 5
MAX_BASE_LENGTH = 58
"""Longer prefixes are cut, so that names stay within 63 characters."""


def generate_name(base: str, rng: random.Random) -> str:
    """Generate a name from a prefix, which is a `generateName`."""
    return base[:MAX_BASE_LENGTH] + generate_suffix(rng)


def generate_suffix(rng: random.Random) -> str:
    """Generate the random end of a name."""
    return "".join(rng.choices(_ALPHABET, k=_SUFFIX_LENGTH))


_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}
"""The variant digit of a UUID, by the random digit in its place."""


def generate_uid(rng: random.Random) -> str:
    """Generate a uid: a UUID of version 4, which every request and every object needs."""
    digits = rng.getrandbits(128).to_bytes(16, "big").hex()
    variant = _VARIANT[digits[16]]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
