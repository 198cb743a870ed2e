"""Tokens of collectors: one a cluster, bound to its name, kept as a hash.

A token has 256 random bits, so one round of SHA-256 is enough: it cannot be guessed.
"""

import hashlib
import hmac
import secrets
from datetime import datetime

import msgspec

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.ports import StateReader, StateStore
from quarterdeck.hubstate.writes import SetValue
from quarterdeck.kit import json, rfc3339
from quarterdeck.kit.redaction import Secret

PREFIX = "qdc_"
"""Prefix of all tokens, so that scanners for leaked secrets can find them."""


class TokenRecord(msgspec.Struct, frozen=True):
    """The stored record of a token: its hash, and when it was issued."""

    hash: str
    issued_at: str


def get_key(cluster: str) -> str:
    """The key of the token's hash; it is deleted with the cluster."""
    return keys.cluster(cluster, "collector:token")


def hash_token(cluster: str, token: str) -> str:
    """The hash of a token for one cluster: the same token for another cluster has another hash."""
    return hashlib.sha256(f"{cluster}\0{token}".encode()).hexdigest()


async def issue_token(state: StateStore, cluster: str, *, at: datetime) -> Secret[str]:
    """Issue a new token; the previous one is no longer accepted.

    Raises:
        HubStateError: if it could not be stored.
    """
    token = PREFIX + secrets.token_urlsafe(32)
    record = TokenRecord(hash_token(cluster, token), rfc3339.format_time(at))
    await state.commit([SetValue(get_key(cluster), json.encode(record))])
    return Secret(token)


async def check_token(state: StateReader, cluster: str, token: str) -> bool:
    """Whether a token is the one of this cluster.

    Raises:
        HubStateError: if the store cannot be asked.
    """
    return matches(await state.get(get_key(cluster)), hash_token(cluster, token))


def matches(record: bytes | None, hashed: str) -> bool:
    """Whether a hash equals the recorded one; takes the same time if there is no record."""
    try:
        known = msgspec.json.decode(record, type=TokenRecord).hash if record else ""
    except msgspec.DecodeError:
        known = ""
    return hmac.compare_digest(known or "0" * len(hashed), hashed) and bool(known)
