"""Cuts names to a length: values of labels and names of dependents have less room than names."""

import hashlib

_HASH = 8


def truncate_name(name: str, limit: int) -> str:
    """The beginning of a name, with a letter or digit at its end as names have."""
    return name[:limit].rstrip("-.")


def shorten_name(name: str, limit: int, *, salt: str) -> str:
    """Shorten a name that is too long to its beginning and a hash of `salt`."""
    return name if len(name) <= limit else append_hash(name, limit, salt=salt)


def append_hash(name: str, limit: int, *, salt: str) -> str:
    """The beginning of a name and a hash of `salt`, together within the limit."""
    digest = hashlib.sha256(salt.encode()).hexdigest()[:_HASH]
    return f"{truncate_name(name, limit - _HASH - 1)}-{digest}"
