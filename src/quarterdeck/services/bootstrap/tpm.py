"""Attestation by TPM: a challenge that one TPM can open, and a quote bound to the request.

1. The endorsement key must be trusted, and belong to no other live claim.
2. The secret is wrapped for that TPM and for the name of its attestation key.
3. The quote is signed by the attestation key over a nonce with the certificate request in it.
"""

import base64
import binascii
import hmac
import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import msgspec

from quarterdeck.attest.credential import Credential, make_credential
from quarterdeck.attest.endorsement import check_endorsement, hash_key
from quarterdeck.attest.errors import InvalidQuote, MalformedStructure, UntrustedKey
from quarterdeck.attest.pcr_policy import PcrPolicy, check_pcrs, hash_pcrs
from quarterdeck.attest.public_area import (
    PublicArea,
    check_attestation_key,
    parse_public,
    parse_sized_public,
)
from quarterdeck.attest.quote import bind_nonce, verify_quote
from quarterdeck.attest.reader import write_sized
from quarterdeck.kit import rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.services.bootstrap.audit import Audit, Caller
from quarterdeck.services.bootstrap.challenges import (
    LIFETIME_S,
    Challenge,
    ChallengeExpired,
    Challenges,
)
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.issuer import Issuer, hash_request_key
from quarterdeck.services.bootstrap.join_tokens import JoinTokens
from quarterdeck.services.bootstrap.limiter import AttestationLimiter, find_network
from quarterdeck.services.bootstrap.messages import (
    ChallengeAnswer,
    ChallengeRequest,
    Credentials,
    VerifyRequest,
)
from quarterdeck.services.bootstrap.ports import (
    AttestationRecord,
    Claims,
    KnownClaim,
    WriteConflict,
)
from quarterdeck.services.bootstrap.refusal import RefusalReason, Refused

METHOD: Final = "tpm"
WITH_TOKEN: Final = "tpm+token"
_BYTES = 32
_TRIES = 5


class TpmAttestation:
    """The two steps of an attestation by TPM."""

    def __init__(
        self,
        claims: Claims,
        issuer: Issuer,
        challenges: Challenges[Challenge],
        *,
        tokens: JoinTokens,
        limiter: AttestationLimiter,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._claims = claims
        self._issuer = issuer
        self._challenges = challenges
        self._tokens = tokens
        self._limiter = limiter
        self._audit = audit
        self._clock = clock

    async def challenge(self, request: ChallengeRequest, caller: Caller) -> ChallengeAnswer:
        """Start an attestation: build a challenge for a TPM.

        Raises:
            Refused: if the claim, the TPM or its keys are not acceptable.
            TooManyChallenges: if too many are open.
        """
        self._limiter.check_address(caller.address)
        known = await self._find_claim(request.claim_uid)
        csr = self._check_csr(known.claim, request.csr, caller)
        token_id = await self._check_token(known, request, caller)
        rules = await self._claims.read_tpm_rules(known.claim)
        try:
            endorsement = parse_public(self._decode(known.claim, request.ek_public, caller))
            certificate = self._decode(known.claim, request.ek_certificate, caller) or None
            now = self._clock.now()
            identity = check_endorsement(rules.endorsement, endorsement, certificate, now=now)
            await self._check_unique(known, identity, caller)
            attestation = parse_sized_public(self._decode(known.claim, request.ak_public, caller))
            check_attestation_key(attestation)
            opened = self._describe(known, endorsement, attestation, csr)
            opened = msgspec.structs.replace(opened, token_id=token_id)
            credential = make_credential(endorsement, attestation.name, opened.secret)
            session = self._challenges.open(opened, f"{find_network(caller.address)} {identity}")
            return self._answer(session, opened, credential, selection=rules.selection)
        except (MalformedStructure, UntrustedKey) as error:
            raise self._fail(
                known.claim, RefusalReason.UNTRUSTED_TPM, str(error), caller
            ) from error

    async def verify(self, request: VerifyRequest, caller: Caller) -> Credentials:
        """Verify the answer of a TPM, and issue a certificate; a challenge can be answered once.

        Raises:
            Refused: if the answer is not valid.
        """
        self._limiter.check_address(caller.address)
        challenge = await self._take_challenge(request.session_id, caller)
        known = await self._find_claim(challenge.claim_uid)
        secret = self._decode(known.claim, request.secret, caller)
        if not hmac.compare_digest(secret, challenge.secret):
            raise self._fail(
                known.claim,
                RefusalReason.WRONG_ANSWER,
                "the answer does not contain the secret of the challenge",
                caller,
            )
        area = parse_sized_public(challenge.attestation_key)
        pcrs = await self._check_quote(known, request, challenge, caller)
        await self._check_unique(known, challenge.endorsement_hash, caller)
        selectors = (*known.selectors, *_select(challenge.endorsement_hash, pcrs))
        credentials, issued = await self._issuer.issue(
            known.claim, challenge.request, selectors=selectors
        )
        if challenge.token_id:
            await self._tokens.spend(challenge.token_id, challenge.request, caller)
        attested = AttestationRecord(
            method=known.method,
            spiffe_id=credentials.spiffe_id,
            serial=issued.serial,
            not_after=issued.not_after,
            at=self._clock.now(),
            endorsement_hash=challenge.endorsement_hash,
            pcr_digest=hash_pcrs(pcrs),
            attestation_key=area.name.hex(),
        )
        await self._bind(known, attested, caller)
        self._audit.record_issued(known.method, caller, known.claim, serial=issued.serial)
        return credentials

    async def _take_challenge(self, session: str, caller: Caller) -> Challenge:
        """Remove and return the challenge; a late answer is reported in the claim's status."""
        try:
            return self._challenges.take(session)
        except ChallengeExpired as error:
            known = await self._find_claim(error.claim_uid)
            text = f"the challenge was answered after more than {LIFETIME_S:.0f} s"
            raise self._fail(known.claim, RefusalReason.EXPIRED, text, caller) from error

    def _check_csr(self, claim: Claim, csr: str, caller: Caller) -> bytes:
        try:
            hash_request_key(csr.encode())
        except Refused as error:
            raise self._fail(claim, error.reason, error.detail, caller) from error
        return csr.encode()

    def _decode(self, claim: Claim, text: str, caller: Caller) -> bytes:
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            detail = "a member of the request is not base64"
            raise self._fail(claim, RefusalReason.MALFORMED, detail, caller) from error

    async def _check_token(
        self, known: KnownClaim, request: ChallengeRequest, caller: Caller
    ) -> str:
        if known.method != WITH_TOKEN:
            return ""
        return await self._tokens.check_unspent(
            request.token, known.claim, request.csr.encode(), facts=request.machine, caller=caller
        )

    def _describe(
        self, known: KnownClaim, endorsement: PublicArea, attestation: PublicArea, csr: bytes
    ) -> Challenge:
        return Challenge(
            claim_uid=known.claim.uid,
            secret=secrets.token_bytes(_BYTES),
            nonce=secrets.token_bytes(_BYTES),
            request=csr,
            endorsement_hash=hash_key(endorsement.key),
            attestation_key=write_sized(attestation.encoded),
        )

    def _answer(
        self,
        session: str,
        challenge: Challenge,
        credential: Credential,
        *,
        selection: tuple[int, ...],
    ) -> ChallengeAnswer:
        expires = self._clock.now() + timedelta(seconds=LIFETIME_S)
        return ChallengeAnswer(
            session_id=session,
            credential_blob=_encode(credential.blob),
            encrypted_secret=_encode(credential.encrypted_secret),
            nonce=_encode(challenge.nonce),
            pcr_selection={"sha256": selection},
            expires_at=rfc3339.format_time(expires),
        )

    async def _check_quote(
        self, known: KnownClaim, request: VerifyRequest, challenge: Challenge, caller: Caller
    ) -> dict[int, bytes]:
        claim = known.claim
        rules = await self._claims.read_tpm_rules(claim)
        try:
            pcrs = _parse_pcrs(request.pcrs)
            verify_quote(
                self._decode(claim, request.quote, caller),
                self._decode(claim, request.signature, caller),
                parse_sized_public(challenge.attestation_key).key,
                nonce=bind_nonce(challenge.nonce, challenge.request),
                pcrs=pcrs,
                required=frozenset(rules.selection) | rules.pcrs.required,
            )
            check_pcrs(rules.pcrs, pcrs)
            _check_first_boot(rules.pcrs, known, pcrs)
        except (InvalidQuote, MalformedStructure) as error:
            raise self._fail(claim, RefusalReason.INVALID_QUOTE, str(error), caller) from error
        return pcrs

    async def _bind(self, known: KnownClaim, attested: AttestationRecord, caller: Caller) -> None:
        """Record the TPM, then check again: of two replicas, at least one sees the other's.

        The claim is written as it was read, so that of two TPMs one is recorded and the other sees
        it.
        """
        identity = attested.endorsement_hash
        for _ in range(_TRIES):
            try:
                await self._claims.record(known.claim, attested, version=known.version)
                break
            except WriteConflict:
                known = await self._find_claim(known.claim.uid)
                await self._check_unique(known, identity, caller)
        else:
            raise WriteConflict(f"claim {known.claim.name} was changed at every attempt; try again")
        try:
            await self._check_unique(known, identity, caller)
        except Refused:
            await self._claims.record(known.claim, None)
            raise

    async def _find_claim(self, uid: str) -> KnownClaim:
        known = await self._claims.find(uid)
        if known is None or known.is_terminating:
            raise Refused(RefusalReason.CLAIM_GONE, f"claim with uid {uid}")
        if known.method not in (METHOD, WITH_TOKEN):
            claim = known.claim
            text = (
                f"claim {claim.namespace}/{claim.name} requires {known.method or 'no attestation'}"
            )
            raise Refused(RefusalReason.WRONG_METHOD, text)
        return known

    async def _check_unique(self, known: KnownClaim, identity: str, caller: Caller) -> None:
        """Check that the TPM has no other live claim, and the claim no other TPM."""
        claim = known.claim
        others = [
            f"{each.namespace}/{each.name}"
            for each in await self._claims.find_endorsed(identity)
            if each.uid != claim.uid
        ]
        if others:
            text = f"endorsement key {identity} belongs to {', '.join(others)}"
            raise self._fail(claim, RefusalReason.CLONED_TPM, text, caller)
        if known.endorsement_hash not in ("", identity):
            text = f"the claim is bound to endorsement key {known.endorsement_hash}, not {identity}"
            raise self._fail(claim, RefusalReason.UNTRUSTED_TPM, text, caller)

    def _fail(self, claim: Claim, reason: RefusalReason, detail: str, caller: Caller) -> Refused:
        """Count a failure and build the error; failures never refuse a valid answer."""
        text = f"claim {claim.namespace}/{claim.name}: {detail}"
        if self._limiter.count_failure(claim.uid, caller.address):
            return Refused(
                RefusalReason.LIMITED, f"{text}; too many failed attempts from {caller.address}"
            )
        return Refused(reason, text, claim=claim)


def _check_first_boot(policy: PcrPolicy, known: KnownClaim, pcrs: Mapping[int, bytes]) -> None:
    """In mode record-only, refuse a boot that differs from the first one, which is trusted."""
    if policy.mode == "record-only" and known.pcr_digest not in ("", hash_pcrs(pcrs)):
        raise InvalidQuote("the machine was booted differently than when it was first attested")


def _select(endorsement_hash: str, pcrs: Mapping[int, bytes]) -> tuple[str, ...]:
    values = tuple(f"tpm:pcr:{index}:{value.hex()}" for index, value in sorted(pcrs.items()))
    return (f"tpm:ek-hash:{endorsement_hash}", *values)


def _parse_pcrs(values: Mapping[str, str]) -> dict[int, bytes]:
    try:
        return {int(index): bytes.fromhex(value) for index, value in values.items()}
    except ValueError as error:
        raise MalformedStructure("the values of PCRs are not hexadecimal digits") from error


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()
