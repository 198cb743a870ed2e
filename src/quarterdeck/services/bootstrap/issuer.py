"""Issues credentials; the authority is in a store that replicas share, and is rotated."""

import hashlib
from datetime import datetime, timedelta

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from quarterdeck.kit import rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.services.bootstrap.authority import (
    AuthorityState,
    InvalidRequest,
    Issued,
    build_bundle,
    create_authority,
    issue_identity,
    parse_request,
    rotate_authority,
)
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.identity import TRUST_DOMAIN, build_spiffe_id
from quarterdeck.services.bootstrap.messages import Credentials
from quarterdeck.services.bootstrap.ports import AuthorityStore, StoredAuthority, WriteConflict
from quarterdeck.services.bootstrap.refusal import RefusalReason, Refused

LIFETIME = timedelta(hours=1)
_TRIES = 5


class Issuer:
    """Signs the keys of machines that were attested."""

    def __init__(
        self,
        store: AuthorityStore,
        *,
        clock: Clock,
        trust_domain: str = TRUST_DOMAIN,
        lifetime: timedelta = LIFETIME,
    ) -> None:
        self.trust_domain = trust_domain
        self._store = store
        self._clock = clock
        self._lifetime = lifetime
        self._known: StoredAuthority | None = None

    async def open_authority(self) -> AuthorityState:
        """The current authority: created if there is none, rotated when due.

        Replicas race for both; the losers use what the winner has written.
        """
        for _ in range(_TRIES):
            known = self._known or await self._store.read()
            now = self._clock.now()
            try:
                if known is None:
                    await self._store.create(create_authority(self.trust_domain, now))
                    continue
                rotated = rotate_authority(known.state, self.trust_domain, now)
                if rotated is known.state:
                    self._known = known
                    return known.state
                self._known = None
                await self._store.swap(rotated, known.version)
            except WriteConflict:
                self._known = None
        raise WriteConflict(
            "the authority was changed by another replica at every attempt; try again"
        )

    async def issue(
        self, claim: Claim, request: bytes, *, selectors: tuple[str, ...] = ()
    ) -> tuple[Credentials, Issued]:
        """Issue credentials to a machine; only the key of its request is used.

        Raises:
            Refused: if the request cannot be signed.
        """
        state = await self.open_authority()
        spiffe_id = build_spiffe_id(self.trust_domain, claim)
        try:
            issued = issue_identity(
                state, request, spiffe_id, now=self._clock.now(), lifetime=self._lifetime
            )
        except InvalidRequest as error:
            raise Refused(RefusalReason.MALFORMED, str(error)) from error
        return _describe(state, issued, spiffe_id, selectors), issued

    async def read_bundle(self) -> str:
        """The certificates that peers trust, in PEM."""
        return b"".join(build_bundle(await self.open_authority())).decode()

    def now(self) -> datetime:
        """The current time, by the clock that certificates are issued with."""
        return self._clock.now()


def hash_request_key(request: bytes) -> str:
    """The digest of the key in a certificate request.

    Raises:
        Refused: if the request cannot be signed.
    """
    try:
        key = parse_request(request)
    except InvalidRequest as error:
        raise Refused(RefusalReason.MALFORMED, str(error)) from error
    encoded = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(encoded).hexdigest()


def _describe(
    state: AuthorityState, issued: Issued, spiffe_id: str, selectors: tuple[str, ...]
) -> Credentials:
    return Credentials(
        spiffe_id=spiffe_id,
        certificate=issued.certificate.decode(),
        chain=tuple(each.decode() for each in issued.chain),
        trust_bundle=b"".join(build_bundle(state)).decode(),
        not_after=rfc3339.format_time(issued.not_after),
        renew_after=rfc3339.format_time(issued.renew_after),
        selectors=selectors,
    )
