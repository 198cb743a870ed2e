"""The stored record of a join token, and its changes. Pure: the store compares and swaps.

A token is used once. The machine that used it may have lost the answer, so the same key gets the
same answer again for a short while; another key gets none.
"""

import enum
from datetime import datetime, timedelta

import msgspec

from quarterdeck.attest.join_token import JoinToken, hash_token, matches_hash
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.refusal import RefusalReason, Refused

MIN_LIFETIME = timedelta(seconds=60)
MAX_LIFETIME = timedelta(hours=24)
REPLAY_WINDOW = timedelta(seconds=120)
KEPT_AFTER = timedelta(hours=24)
"""How long a record is kept after its token has expired, for diagnosis."""


class State(enum.StrEnum):
    """The state of a token; expiry is not a state, but compared with the clock."""

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
    """The answer to the machine, for a repeated request; it holds no secret."""

    def is_live(self, now: datetime) -> bool:
        """Whether it can still be used."""
        return self.state is State.ISSUED and now < self.expires

    def is_obsolete(self, now: datetime) -> bool:
        """Whether the record can be deleted."""
        return now >= self.expires + KEPT_AFTER


def record_token(
    token: JoinToken, claim: Claim, *, now: datetime, lifetime: timedelta, bound_ip: str = ""
) -> TokenRecord:
    """Build the record of a new token.

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
    """Whether this is the first use of a token; False if the same key repeats its request.

    Raises:
        Refused: if the token may not be used; the secret is checked before the token's state.
    """
    if record is None:
        raise Refused(RefusalReason.UNKNOWN_TOKEN, f"token {token.id}")
    about = f"token {record.id} of {record.claim.namespace}/{record.claim.name}"
    if not matches_hash(token, record.hash):
        raise Refused(RefusalReason.WRONG_SECRET, about)
    if record.state is State.REVOKED:
        raise Refused(RefusalReason.REVOKED, about)
    if record.state is State.CONSUMED:
        _check_replay(record, key_hash, now=now, about=about)
        return False
    if now >= record.expires:
        raise Refused(RefusalReason.EXPIRED, about)
    if record.bound_ip and record.bound_ip != address:
        raise Refused(
            RefusalReason.WRONG_PLACE, f"{about}: bound to {record.bound_ip}, used from {address}"
        )
    return True


def consume_token(
    record: TokenRecord, *, key_hash: str, address: str, answer: bytes, now: datetime
) -> TokenRecord:
    """Build the record of a used token, to be stored by compare-and-swap."""
    return msgspec.structs.replace(
        record,
        state=State.CONSUMED,
        key_hash=key_hash,
        consumed_at=now,
        consumed_from=address,
        answer=answer,
    )


def revoke_token(record: TokenRecord) -> TokenRecord:
    """Build the record of a revoked token; that of a used one stays the same."""
    if record.state is not State.ISSUED:
        return record
    return msgspec.structs.replace(record, state=State.REVOKED)


def _check_replay(record: TokenRecord, key_hash: str, *, now: datetime, about: str) -> None:
    assert record.consumed_at is not None  # set together with the state
    if key_hash != record.key_hash:
        raise Refused(RefusalReason.REUSED, f"{about}: used before from {record.consumed_from}")
    if now >= record.consumed_at + REPLAY_WINDOW:
        raise Refused(RefusalReason.EXPIRED, f"{about}: used {now - record.consumed_at} ago")
