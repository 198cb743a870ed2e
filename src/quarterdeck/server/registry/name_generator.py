"""Generated names and uids, from the random generator of the server."""

import random
import uuid

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


def generate_uid(rng: random.Random) -> str:
    """Generate a uid: a UUID of version 4."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))
