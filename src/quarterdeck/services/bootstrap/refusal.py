"""Why an attestation is refused: exact for the audit log, uniform for the caller."""

import enum

from quarterdeck.services.bootstrap.claim import Claim


class Why(enum.StrEnum):
    """What the audit log and the metrics say; the caller learns none of it."""

    MALFORMED = "Malformed"
    """The request cannot be read."""
    UNKNOWN_TOKEN = "UnknownToken"
    """No token has this id."""
    WRONG_SECRET = "WrongSecret"
    """The id is known, the secret is not its own."""
    EXPIRED = "Expired"
    """The token or session is too old."""
    REUSED = "Reused"
    """The token was used before, by another key."""
    REVOKED = "Revoked"
    """The token was withdrawn."""
    WRONG_PLACE = "WrongPlace"
    """The token is bound to another address."""
    WRONG_METHOD = "WrongMethod"
    """The template of the claim asks for another proof."""
    WRONG_IDENTITY = "WrongIdentity"
    """The client certificate is absent, expired, or names no machine of ours."""
    CLAIM_GONE = "ClaimGone"
    """The claim does not exist any more, or is being deleted."""
    UNTRUSTED_TPM = "UntrustedTpm"
    """The TPM or its keys are not trusted."""
    CLONED_TPM = "ClonedTpm"
    """The endorsement key belongs to another live claim."""
    INVALID_QUOTE = "InvalidQuote"
    """The quote does not prove what it should."""
    WRONG_ANSWER = "WrongAnswer"
    """The secret of the challenge was not opened."""
    UNKNOWN_SESSION = "UnknownSession"
    """There is no such challenge, or it was answered already."""
    LIMITED = "Limited"
    """Too many tries."""


class Refused(Exception):
    """Raised when an attestation is refused; `detail` is for the audit log only."""

    def __init__(self, why: Why, detail: str = "", *, claim: Claim | None = None) -> None:
        super().__init__(why.value)
        self.why = why
        self.detail = detail
        self.claim = claim
        """Whom the proof was for, if it failed for a reason that its owner should know."""
