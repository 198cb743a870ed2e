"""Open challenges to machines: one for each claim and peer, valid once and for a short time."""

import secrets
from collections import OrderedDict
from typing import Generic, Protocol, TypeVar

import msgspec

from quarterdeck.kit.clock import Clock
from quarterdeck.services.bootstrap.refusal import RefusalReason, Refused

LIFETIME_S = 60.0
MAX_OPEN = 1000
MAX_OF_CLAIM = 16
"""Open challenges of one claim, one for each peer; beyond that the oldest is dropped."""
_ID_BYTES = 16


class Challenge(msgspec.Struct, frozen=True, kw_only=True):
    """A challenge to a TPM, with its claim and everything needed to verify the answer."""

    claim_uid: str
    secret: bytes
    nonce: bytes
    request: bytes
    """The certificate request; the quote is bound to it."""
    endorsement_hash: str
    attestation_key: bytes
    """TPM2B_PUBLIC of the key that must sign."""
    token_id: str = ""
    """Id of the join token in the request; the token is used up by a valid answer."""


class TooManyChallenges(Exception):
    """Raised when too many challenges are open; the caller should try again later."""


class ChallengeExpired(Refused):
    """Raised when the answer to a challenge comes too late."""

    def __init__(self, claim_uid: str) -> None:
        text = f"challenge of claim {claim_uid}: the answer came after {LIFETIME_S:.0f} s"
        super().__init__(RefusalReason.EXPIRED, text)
        self.claim_uid = claim_uid


class Bound(Protocol):
    """A challenge that belongs to a claim."""

    @property
    def claim_uid(self) -> str:
        """UID of the claim."""


T = TypeVar("T", bound=Bound)


class _Open(Generic[T]):
    """An open challenge, the peer that requested it, and its deadline."""

    __slots__ = ("challenge", "deadline", "peer")

    def __init__(self, deadline: float, peer: str, challenge: T) -> None:
        self.deadline = deadline
        self.peer = peer
        self.challenge = challenge


class Challenges(Generic[T]):
    """The open challenges of one process."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._open: OrderedDict[str, _Open[T]] = OrderedDict()
        self._by_claim: dict[str, OrderedDict[str, str]] = {}
        """Ids of open challenges by claim and peer, the oldest first."""

    def __len__(self) -> int:
        return len(self._open)

    def open(self, challenge: T, peer: str) -> str:
        """Store a challenge; returns its id. An earlier one of the same claim and peer is dropped.

        Those of other peers stay open: a peer cannot invalidate the challenge of another machine.

        Raises:
            TooManyChallenges: if too many are open.
        """
        self._forget_expired()
        self._make_room(challenge.claim_uid, peer)
        if len(self._open) >= MAX_OPEN:
            raise TooManyChallenges(f"{MAX_OPEN} challenges are open")
        identity = secrets.token_urlsafe(_ID_BYTES)
        self._open[identity] = _Open(self._clock.monotonic() + LIFETIME_S, peer, challenge)
        self._by_claim.setdefault(challenge.claim_uid, OrderedDict())[peer] = identity
        return identity

    def take(self, identity: str) -> T:
        """Remove and return the challenge that is being answered: it is valid once.

        Raises:
            Refused: if it is unknown, or has expired.
        """
        found = self._open.get(identity)
        self._remove(identity)
        if found is None:
            raise Refused(
                RefusalReason.UNKNOWN_SESSION,
                "no challenge of this session is open: it was answered, replaced or never issued",
            )
        if self._clock.monotonic() >= found.deadline:
            raise ChallengeExpired(found.challenge.claim_uid)
        return found.challenge

    def _make_room(self, claim_uid: str, peer: str) -> None:
        of_claim = self._by_claim.get(claim_uid, OrderedDict())
        self._remove(of_claim.get(peer, ""))
        if len(of_claim) >= MAX_OF_CLAIM:
            self._remove(next(iter(of_claim.values())))

    def _forget_expired(self) -> None:
        now = self._clock.monotonic()
        while self._open:
            identity, oldest = next(iter(self._open.items()))
            if oldest.deadline > now:
                return
            self._remove(identity)

    def _remove(self, identity: str) -> None:
        found = self._open.pop(identity, None)
        if found is None:
            return
        claim_uid = found.challenge.claim_uid
        of_claim = self._by_claim[claim_uid]
        del of_claim[found.peer]
        if not of_claim:
            del self._by_claim[claim_uid]
