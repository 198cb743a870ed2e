"""Generated names and uids, from the random generator of the server."""

import random

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels, and without characters that look alike: no suffix spells a word."""
_SUFFIX_LENGTH = 5
MAX_BASE_LENGTH = 58
"""Longer prefixes are cut, so that names stay within 63 characters."""


def generate_name(base: str, rng: random.Random) -> str:
    """Generate a name from a prefix, as `generateName` asks for."""
    return base[:MAX_BASE_LENGTH] + generate_suffix(rng)


def generate_suffix(rng: random.Random) -> str:
    """Generate the random end of a name."""
    return "".join(rng.choices(_ALPHABET, k=_SUFFIX_LENGTH))


_FREE_BITS = ~(0xF << 76 | 0x3 << 62)
_VERSION_4 = 0x4 << 76 | 0x2 << 62
"""The bits of a UUID that say its version and variant."""


def generate_uid(rng: random.Random) -> str:
    """Generate a uid: a UUID of version 4, which every request and every object needs."""
    digits = f"{rng.getrandbits(128) & _FREE_BITS | _VERSION_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
