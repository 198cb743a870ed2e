"""Join tokens: issued to the operator, used once by a machine or revoked, deleted later."""

from datetime import timedelta
from typing import Final

import msgspec

from quarterdeck.attest.errors import InvalidToken
from quarterdeck.attest.join_token import JoinToken, generate_token, parse_token
from quarterdeck.kit import rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.services.bootstrap.audit import Audit, Caller
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.errors import CallError
from quarterdeck.services.bootstrap.issuer import Issuer, hash_request_key
from quarterdeck.services.bootstrap.limiter import AttestationLimiter
from quarterdeck.services.bootstrap.messages import (
    Credentials,
    JoinRequest,
    MachineFacts,
    TokenAnswer,
    TokenRequest,
)
from quarterdeck.services.bootstrap.ports import (
    AttestationRecord,
    Claims,
    KnownClaim,
    StoredToken,
    TokenStore,
    WriteConflict,
)
from quarterdeck.services.bootstrap.refusal import RefusalReason, Refused
from quarterdeck.services.bootstrap.token_record import (
    TokenRecord,
    check_token,
    consume_token,
    record_token,
    revoke_token,
)

METHOD: Final = "join-token"
_TRIES = 5


class JoinTokens:
    """Issues, checks, uses up, revokes and deletes join tokens."""

    def __init__(
        self,
        store: TokenStore,
        claims: Claims,
        issuer: Issuer,
        *,
        limiter: AttestationLimiter,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._store = store
        self._claims = claims
        self._issuer = issuer
        self._limiter = limiter
        self._audit = audit
        self._clock = clock

    async def create(self, request: TokenRequest, caller: Caller) -> TokenAnswer:
        """Issue a token for a claim.

        Raises:
            CallError: if there is no such claim, it has a live token, or the lifetime is invalid.
        """
        wanted = request.claim
        claim = Claim(namespace=wanted.namespace, name=wanted.name, uid=wanted.uid)
        known = await self._claims.get(claim.namespace, claim.name)
        if known is None or known.claim != claim:
            text = f"claim {claim.namespace}/{claim.name} with uid {claim.uid} does not exist"
            raise CallError(404, "not_found", text)
        await self._make_room(claim, caller, rotate=request.rotate)
        token = generate_token()
        record = self._record(token, claim, request)
        await self._store.create(record)
        self._audit.record_token_change("issued", caller, claim, token_id=record.id)
        return TokenAnswer(
            id=record.id, token=token.reveal(), expires_at=rfc3339.format_time(record.expires)
        )

    async def revoke(self, identity: str, caller: Caller) -> None:
        """Revoke a token; does nothing if it is unknown or was used."""
        for _ in range(_TRIES):
            stored = await self._store.read(identity)
            if stored is None or revoke_token(stored.record) == stored.record:
                return
            try:
                await self._store.swap(revoke_token(stored.record), stored.version)
            except WriteConflict:
                continue
            self._audit.record_token_change(
                "revoked", caller, stored.record.claim, token_id=identity
            )
            return

    async def forget_obsolete(self) -> int:
        """Remove obsolete records; returns their number."""
        now = self._clock.now()
        old = [each.record for each in await self._store.list_all() if each.record.is_obsolete(now)]
        for record in old:
            await self._store.delete(record.id)
        return len(old)

    async def attest(self, request: JoinRequest, caller: Caller) -> Credentials:
        """Exchange a token for credentials.

        Raises:
            Refused: if the token may not be used.
        """
        self._limiter.check_address(caller.address)
        token, csr = _parse(request.token), request.csr.encode()
        key_hash = hash_request_key(csr)
        for _ in range(_TRIES):
            stored = await self._store.read(token.id)
            is_first = self._check(stored, token, request, key_hash=key_hash, caller=caller)
            assert stored is not None  # checked with the token
            known = await self._find_claim(stored.record)
            if not is_first:
                self._audit.record_repeated_answer(caller, known.claim, token_id=token.id)
                return await self._repeat(stored.record, known)
            try:
                return await self._consume(stored, known, csr, key_hash=key_hash, caller=caller)
            except WriteConflict:
                continue  # it was changed in the meantime: decide again
        raise Refused(
            RefusalReason.REUSED,
            f"conflict: token {token.id} was changed at every attempt; try again",
        )

    async def check_unspent(
        self, text: str, claim: Claim, csr: bytes, *, facts: MachineFacts, caller: Caller
    ) -> str:
        """Check a token that accompanies another proof, without using it up; returns its id.

        Raises:
            Refused: if it may not be used, or is of another claim.
        """
        token, key_hash = _parse(text), hash_request_key(csr)
        stored = await self._store.read(token.id)
        request = JoinRequest(token=text, csr=csr.decode(), machine=facts)
        self._check(stored, token, request, key_hash=key_hash, caller=caller)
        assert stored is not None  # checked with the token
        if stored.record.claim != claim:
            text = f"token {token.id} belongs to claim {stored.record.claim.name}"
            raise Refused(RefusalReason.WRONG_SECRET, text, claim=claim)
        return token.id

    async def spend(self, identity: str, csr: bytes, caller: Caller) -> None:
        """Use up a token that accompanied another proof, after that proof was verified.

        Raises:
            Refused: if it was used or revoked, or has expired, meanwhile.
        """
        key_hash = hash_request_key(csr)
        for _ in range(_TRIES):
            stored = await self._store.read(identity)
            if stored is not None and stored.record.key_hash == key_hash:
                return  # the same machine again, after a lost answer
            if stored is None or not stored.record.is_live(self._clock.now()):
                break
            used = consume_token(
                stored.record,
                key_hash=key_hash,
                address=caller.address,
                answer=b"",
                now=self._clock.now(),
            )
            try:
                await self._store.swap(used, stored.version)
            except WriteConflict:
                continue
            return
        raise Refused(
            RefusalReason.REUSED, f"token {identity} was used before the attestation was complete"
        )

    def _record(self, token: JoinToken, claim: Claim, request: TokenRequest) -> TokenRecord:
        lifetime = timedelta(seconds=request.ttl_seconds)
        try:
            record = record_token(
                token, claim, now=self._clock.now(), lifetime=lifetime, bound_ip=request.bound_ip
            )
        except ValueError as error:
            raise CallError(400, "invalid_request", str(error)) from error
        return msgspec.structs.replace(
            record, selectors=request.selectors, bound_mac=request.bound_mac.lower()
        )

    async def _make_room(self, claim: Claim, caller: Caller, *, rotate: bool) -> None:
        """Revoke live tokens of a claim, or refuse: a claim has at most one."""
        now = self._clock.now()
        live = [
            each for each in await self._store.list_by_claim(claim.uid) if each.record.is_live(now)
        ]
        if live and not rotate:
            text = (
                f"claim {claim.namespace}/{claim.name} already has a valid token; set rotate to "
                "replace it"
            )
            raise CallError(409, "conflict", text)
        for each in live:
            await self.revoke(each.record.id, caller)

    def _check(
        self,
        stored: StoredToken | None,
        token: JoinToken,
        request: JoinRequest,
        *,
        key_hash: str,
        caller: Caller,
    ) -> bool:
        """Whether this is the first use; failures are counted, but never block a valid token."""
        record = stored.record if stored is not None else None
        try:
            is_first = check_token(
                record, token, key_hash=key_hash, address=caller.address, now=self._clock.now()
            )
            if record is not None and record.bound_mac:
                _check_mac(record, request)
        except Refused as refused:
            if record is None:
                raise
            if self._limiter.count_failure(record.claim.uid, caller.address):
                text = f"{refused.detail}; too many failed attempts from {caller.address}"
                raise Refused(RefusalReason.LIMITED, text) from refused
            refused.claim = record.claim
            raise
        return is_first

    async def _find_claim(self, record: TokenRecord) -> KnownClaim:
        claim = record.claim
        known = await self._claims.get(claim.namespace, claim.name)
        if known is None or known.claim != claim or known.is_terminating:
            raise Refused(
                RefusalReason.CLAIM_GONE, f"claim {claim.namespace}/{claim.name} {claim.uid}"
            )
        if known.method != METHOD:
            text = (
                f"claim {claim.namespace}/{claim.name} requires {known.method or 'no attestation'}"
            )
            raise Refused(RefusalReason.WRONG_METHOD, text)
        return known

    async def _consume(
        self, stored: StoredToken, known: KnownClaim, csr: bytes, *, key_hash: str, caller: Caller
    ) -> Credentials:
        selectors = (*known.selectors, *stored.record.selectors)
        credentials, issued = await self._issuer.issue(known.claim, csr, selectors=selectors)
        now = self._clock.now()
        used = consume_token(
            stored.record,
            key_hash=key_hash,
            address=caller.address,
            answer=msgspec.json.encode((credentials, issued.serial)),
            now=now,
        )
        await self._store.swap(used, stored.version)
        await self._note(known, credentials, issued.serial)
        self._audit.record_issued(METHOD, caller, known.claim, serial=issued.serial)
        return credentials

    async def _repeat(self, record: TokenRecord, known: KnownClaim) -> Credentials:
        """Return the stored answer; record the attestation if the first call did not."""
        credentials, serial = msgspec.json.decode(record.answer, type=tuple[Credentials, str])
        if not known.certificate_serial:
            await self._note(known, credentials, serial)
        return credentials

    async def _note(self, known: KnownClaim, credentials: Credentials, serial: str) -> None:
        attested = AttestationRecord(
            method=METHOD,
            spiffe_id=credentials.spiffe_id,
            serial=serial,
            not_after=rfc3339.parse(credentials.not_after),
            at=self._clock.now(),
        )
        await self._claims.record(known.claim, attested)


def _parse(text: str) -> JoinToken:
    try:
        return parse_token(text)
    except InvalidToken as error:
        raise Refused(RefusalReason.MALFORMED, str(error)) from error


def _check_mac(record: TokenRecord, request: JoinRequest) -> None:
    if record.bound_mac not in {each.lower() for each in request.machine.mac}:
        text = f"token {record.id}: bound to the hardware address {record.bound_mac}"
        raise Refused(RefusalReason.WRONG_PLACE, text)
