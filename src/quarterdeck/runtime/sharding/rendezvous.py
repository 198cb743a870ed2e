"""Rendezvous hashing: which member is responsible for what. Pure.

Every member computes the same answer from the same list of members, and a member that comes or
goes moves only the shards that it gets or had.
"""

import hashlib
from collections.abc import Iterable


def choose_member(shard: int, members: Iterable[str]) -> str | None:
    """The member with the highest weight for a shard; None without members."""
    return max(members, key=lambda member: (_weigh(f"{shard}/{member}"), member), default=None)


def find_shard(name: str, count: int) -> int:
    """The shard of an object, the same in every process."""
    return _weigh(name) % count


def _weigh(text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")
