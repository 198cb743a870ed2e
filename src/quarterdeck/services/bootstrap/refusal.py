"""Reasons why attestations are refused: exact in the audit log, hidden from the caller."""

import enum

from quarterdeck.services.bootstrap.claim import Claim


class RefusalReason(enum.StrEnum):
    """The reason in the audit log, the metrics and the claim; the caller does not get it."""

    MALFORMED = "Malformed"
    """The request cannot be read."""
    UNKNOWN_TOKEN = "UnknownToken"
    """No token has this id."""
    WRONG_SECRET = "WrongSecret"
    """The token has a known id and a wrong secret."""
    EXPIRED = "Expired"
    """The token or session is too old."""
    REUSED = "Reused"
    """The token was used before, by another key."""
    REVOKED = "Revoked"
    """The token was withdrawn."""
    WRONG_PLACE = "WrongPlace"
    """The token is bound to another address."""
    WRONG_METHOD = "WrongMethod"
    """The template of the claim requires another method."""
    WRONG_IDENTITY = "WrongIdentity"
    """The client certificate is absent, expired, or names no machine of ours."""
    CLAIM_GONE = "ClaimGone"
    """The claim does not exist any more, or is being deleted."""
    UNTRUSTED_TPM = "UntrustedTpm"
    """The TPM or its keys are not trusted."""
    CLONED_TPM = "ClonedTpm"
    """The endorsement key belongs to another live claim."""
    INVALID_QUOTE = "InvalidQuote"
    """The quote or its PCR values are not valid."""
    WRONG_ANSWER = "WrongAnswer"
    """The answer does not have the secret of the challenge, or is not valid otherwise."""
    UNKNOWN_SESSION = "UnknownSession"
    """There is no such challenge, or it was answered already."""
    LIMITED = "Limited"
    """There were too many attempts."""


class Refused(Exception):
    """Raised when an attestation is refused; `detail` is for the audit log only."""

    def __init__(
        self, reason: RefusalReason, detail: str = "", *, claim: Claim | None = None
    ) -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.detail = detail
        self.claim = claim
        """The claim of the attestation; set if its status should show the refusal."""
