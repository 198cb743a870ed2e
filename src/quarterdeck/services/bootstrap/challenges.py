"""Open challenges of TPMs: one for each claim, answered once, soon or not at all."""

import secrets
from collections import OrderedDict
from typing import Generic, Protocol, TypeVar

import msgspec

from quarterdeck.kit.clock import Clock
from quarterdeck.services.bootstrap.refusal import Refused, Why

LIFETIME_S = 60.0
MAX_OPEN = 1000
_ID_BYTES = 16


class Challenge(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of a TPM, and for whom; everything needed to judge the answer."""

    claim_uid: str
    secret: bytes
    nonce: bytes
    request: bytes
    """The certificate request; the quote is bound to it."""
    endorsement_hash: str
    attestation_key: bytes
    """TPM2B_PUBLIC of the key that must sign."""
    token_id: str = ""
    """The join token that was presented, and is spent with the answer."""


class TooManyChallenges(Exception):
    """Raised when no more challenges can be open; the caller should come back later."""


class Bound(Protocol):
    """Whatever is asked for a claim."""

    @property
    def claim_uid(self) -> str:
        """The claim it is for."""


T = TypeVar("T", bound=Bound)


class Challenges(Generic[T]):
    """The open challenges of one process."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._open: OrderedDict[str, tuple[float, T]] = OrderedDict()
        self._by_claim: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._open)

    def open(self, challenge: T) -> str:
        """Remember a challenge; its id. An earlier one of the same claim is void from now on.

        Raises:
            TooManyChallenges: if too many are open.
        """
        self._forget_expired()
        self._remove(self._by_claim.get(challenge.claim_uid, ""))
        if len(self._open) >= MAX_OPEN:
            raise TooManyChallenges(f"{MAX_OPEN} challenges are open")
        identity = secrets.token_urlsafe(_ID_BYTES)
        self._open[identity] = (self._clock.monotonic() + LIFETIME_S, challenge)
        self._by_claim[challenge.claim_uid] = identity
        return identity

    def take(self, identity: str) -> T:
        """The challenge that is being answered; it cannot be answered again.

        Raises:
            Refused: if there is none, or it is too old.
        """
        found = self._open.get(identity)
        self._remove(identity)
        if found is None:
            raise Refused(Why.UNKNOWN_SESSION)
        deadline, challenge = found
        if self._clock.monotonic() >= deadline:
            raise Refused(Why.EXPIRED, f"challenge of claim {challenge.claim_uid}")
        return challenge

    def _forget_expired(self) -> None:
        now = self._clock.monotonic()
        while self._open:
            identity, (deadline, _) = next(iter(self._open.items()))
            if deadline > now:
                return
            self._remove(identity)

    def _remove(self, identity: str) -> None:
        found = self._open.pop(identity, None)
        if found is not None and self._by_claim.get(found[1].claim_uid) == identity:
            del self._by_claim[found[1].claim_uid]
