"""What is stored of a join token, and how it changes. Pure: whoever stores it compares and swaps.

A token is used once. The machine that used it may have lost the answer, so the same key gets the
same answer again for a short while; another key gets none.
"""

import enum
from datetime import datetime, timedelta

import msgspec

from quarterdeck.attest.join_token import JoinToken, hash_token, matches_hash
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.refusal import Refused, Why

MIN_LIFETIME = timedelta(seconds=60)
MAX_LIFETIME = timedelta(hours=24)
DEFAULT_LIFETIME = timedelta(hours=1)
REPLAY_WINDOW = timedelta(seconds=120)
KEPT_AFTER = timedelta(hours=24)
"""How long a used record stays, for whoever asks what happened."""


class State(enum.StrEnum):
    """Where in its life a token is; expiry is a matter of the clock."""

    ISSUED = "Issued"
    CONSUMED = "Consumed"
    REVOKED = "Revoked"


class TokenRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A join token as it is stored: never its secret."""

    id: str
    hash: str
    claim: Claim
    expires: datetime
    state: State = State.ISSUED
    selectors: tuple[str, ...] = ()
    bound_ip: str = ""
    bound_mac: str = ""
    key_hash: str = ""
    """Digest of the public key that used it."""
    consumed_at: datetime | None = None
    consumed_from: str = ""
    answer: bytes = b""
    """What the machine was given, for a repeated request; it holds no secret."""

    def is_live(self, now: datetime) -> bool:
        """Whether it can still be used."""
        return self.state is State.ISSUED and now < self.expires

    def is_obsolete(self, now: datetime) -> bool:
        """Whether it can be forgotten."""
        return now >= self.expires + KEPT_AFTER


def record_token(
    token: JoinToken, claim: Claim, *, now: datetime, lifetime: timedelta, bound_ip: str = ""
) -> TokenRecord:
    """The record of a new token.

    Raises:
        ValueError: if the lifetime is out of range.
    """
    if not MIN_LIFETIME <= lifetime <= MAX_LIFETIME:
        raise ValueError(
            f"ttlSeconds: {lifetime.total_seconds():g} is out of range; choose"
            f" {MIN_LIFETIME.total_seconds():g} to {MAX_LIFETIME.total_seconds():g} seconds"
        )
    return TokenRecord(
        id=token.id,
        hash=hash_token(token),
        claim=claim,
        expires=now + lifetime,
        bound_ip=bound_ip,
    )


def check_token(
    record: TokenRecord | None, token: JoinToken, *, key_hash: str, address: str, now: datetime
) -> bool:
    """Whether the token is used for the first time; false if the same key repeats itself.

    Raises:
        Refused: if the token may not be used; in the order that tells an attacker least.
    """
    if record is None:
        raise Refused(Why.UNKNOWN_TOKEN, f"token {token.id}")
    about = f"token {record.id} of {record.claim.namespace}/{record.claim.name}"
    if not matches_hash(token, record.hash):
        raise Refused(Why.WRONG_SECRET, about)
    if record.state is State.REVOKED:
        raise Refused(Why.REVOKED, about)
    if record.state is State.CONSUMED:
        _check_replay(record, key_hash, now=now, about=about)
        return False
    if now >= record.expires:
        raise Refused(Why.EXPIRED, about)
    if record.bound_ip and record.bound_ip != address:
        raise Refused(Why.WRONG_PLACE, f"{about}: bound to {record.bound_ip}, used from {address}")
    return True


def consume_token(
    record: TokenRecord, *, key_hash: str, address: str, answer: bytes, now: datetime
) -> TokenRecord:
    """The record of a token that was just used; store it by compare-and-swap."""
    return msgspec.structs.replace(
        record,
        state=State.CONSUMED,
        key_hash=key_hash,
        consumed_at=now,
        consumed_from=address,
        answer=answer,
    )


def revoke_token(record: TokenRecord) -> TokenRecord:
    """The record of a token that was withdrawn; one that was used stays as it is."""
    if record.state is not State.ISSUED:
        return record
    return msgspec.structs.replace(record, state=State.REVOKED)


def _check_replay(record: TokenRecord, key_hash: str, *, now: datetime, about: str) -> None:
    assert record.consumed_at is not None  # set together with the state
    if key_hash != record.key_hash:
        raise Refused(Why.REUSED, f"{about}: used before from {record.consumed_from}")
    if now >= record.consumed_at + REPLAY_WINDOW:
        raise Refused(Why.EXPIRED, f"{about}: used {now - record.consumed_at} ago")
