"""Attestation by a method of another package; checks claims and limits, and issues certificates."""

import hashlib
from collections.abc import Mapping
from datetime import timedelta

import msgspec

from quarterdeck.kit import rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.services.bootstrap.audit import Audit, Caller
from quarterdeck.services.bootstrap.challenges import LIFETIME_S, Challenges
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.issuer import Issuer, hash_request_key
from quarterdeck.services.bootstrap.limiter import AttestationLimiter, find_network
from quarterdeck.services.bootstrap.messages import (
    Credentials,
    EvidenceRequest,
    MethodAnswer,
    MethodRequest,
)
from quarterdeck.services.bootstrap.methods import (
    AttestationChallenge,
    AttestationFailed,
    AttestationMethod,
)
from quarterdeck.services.bootstrap.ports import AttestationRecord, Claims, KnownClaim
from quarterdeck.services.bootstrap.refusal import RefusalReason, Refused


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """An open challenge to a machine, with its claim and its certificate request."""

    claim_uid: str
    method: str
    request: bytes
    challenge: AttestationChallenge


class PluginAttestation:
    """The two steps of an attestation by any method that is installed."""

    def __init__(
        self,
        methods: Mapping[str, AttestationMethod],
        claims: Claims,
        issuer: Issuer,
        *,
        limiter: AttestationLimiter,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self.methods = methods
        self._claims = claims
        self._issuer = issuer
        self._limiter = limiter
        self._audit = audit
        self._clock = clock
        self._sessions: Challenges[Session] = Challenges(clock=clock)

    async def challenge(self, method: str, request: MethodRequest, caller: Caller) -> MethodAnswer:
        """Start an attestation: build a challenge for a machine.

        Raises:
            Refused: if the claim or the evidence is not acceptable.
            TooManyChallenges: if too many are open.
        """
        self._limiter.check_address(caller.address)
        self._limiter.check_failures(request.claim_uid, caller.address)
        known, csr = await self._find_claim(request.claim_uid, method), request.csr.encode()
        hash_request_key(csr)
        try:
            challenge = await self.methods[method].begin(
                known.claim, request.evidence, hashlib.sha256(csr).digest()
            )
        except AttestationFailed as error:
            raise self._fail(known.claim, str(error), caller) from error
        session = Session(
            claim_uid=known.claim.uid, method=method, request=csr, challenge=challenge
        )
        expires = self._clock.now() + timedelta(seconds=LIFETIME_S)
        return MethodAnswer(
            session_id=self._sessions.open(session, find_network(caller.address)),
            challenge=dict(challenge.payload),
            expires_at=rfc3339.format_time(expires),
        )

    async def verify(self, method: str, request: EvidenceRequest, caller: Caller) -> Credentials:
        """Verify the answer of a machine, and issue its certificate.

        Raises:
            Refused: if the answer is not valid.
        """
        self._limiter.check_address(caller.address)
        session = self._sessions.take(request.session_id)
        self._limiter.check_failures(session.claim_uid, caller.address)
        known = await self._find_claim(session.claim_uid, method)
        if session.method != method:
            text = f"the challenge was issued for method {session.method}"
            raise self._fail(known.claim, text, caller)
        digest = hashlib.sha256(session.request).digest()
        try:
            proved = await self.methods[method].finish(
                known.claim, session.challenge, request.evidence, digest
            )
        except AttestationFailed as error:
            raise self._fail(known.claim, str(error), caller) from error
        selectors = (*known.selectors, *proved.selectors)
        credentials, issued = await self._issuer.issue(
            known.claim, session.request, selectors=selectors
        )
        attested = AttestationRecord(
            method=method,
            spiffe_id=credentials.spiffe_id,
            serial=issued.serial,
            not_after=issued.not_after,
            at=self._clock.now(),
        )
        await self._claims.record(known.claim, attested)
        self._audit.record_issued(method, caller, known.claim, serial=issued.serial)
        return credentials

    async def _find_claim(self, uid: str, method: str) -> KnownClaim:
        known = await self._claims.find(uid)
        if known is None or known.is_terminating:
            raise Refused(RefusalReason.CLAIM_GONE, f"claim with uid {uid}")
        if known.method != method:
            claim = known.claim
            text = (
                f"claim {claim.namespace}/{claim.name} requires {known.method or 'no attestation'}"
            )
            raise Refused(RefusalReason.WRONG_METHOD, text)
        return known

    def _fail(self, claim: Claim, detail: str, caller: Caller) -> Refused:
        """Count a failure: answers may be easy to guess, so a caller has few attempts."""
        self._limiter.count_failure(claim.uid, caller.address)
        text = f"claim {claim.namespace}/{claim.name}: {detail}"
        return Refused(RefusalReason.WRONG_ANSWER, text, claim=claim)
