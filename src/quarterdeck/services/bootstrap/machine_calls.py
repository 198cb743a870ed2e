"""Calls of attested machines; a certificate allows only calls for its own claim."""

from datetime import timedelta

from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock
from quarterdeck.services.bootstrap import errors
from quarterdeck.services.bootstrap.audit import Audit, Caller
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.errors import CallError
from quarterdeck.services.bootstrap.identity import authenticate_machine
from quarterdeck.services.bootstrap.issuer import Issuer
from quarterdeck.services.bootstrap.limiter import AttestationLimiter, Limits
from quarterdeck.services.bootstrap.messages import Credentials, StatusRequest
from quarterdeck.services.bootstrap.ports import (
    AttestationRecord,
    Claims,
    Directive,
    KnownClaim,
    Registrar,
    Report,
)
from quarterdeck.services.bootstrap.refusal import RefusalReason, Refused
from quarterdeck.services.bootstrap.workload import (
    Workload,
    WorkloadError,
    build_empty_config,
    build_runner_config,
)

HEARTBEAT_S = 15
RECORDED = timedelta(seconds=60)
"""Shortest time between two recorded heartbeats, to limit writes to the API server."""
_RENEWALS = Limits(per_address_s=1 / 60, address_burst=3, all_s=500, all_burst=500)
_CALLS = Limits(per_address_s=1, address_burst=10, all_s=1000, all_burst=2000)


class MachineCalls:
    """Serves renewal, configuration, reports and heartbeats."""

    def __init__(
        self,
        claims: Claims,
        issuer: Issuer,
        *,
        audit: Audit,
        clock: Clock,
        registrar: Registrar | None = None,
    ) -> None:
        self._registrar = registrar
        self._claims = claims
        self._issuer = issuer
        self._audit = audit
        self._clock = clock
        self._renewals = AttestationLimiter(clock=clock, limits=_RENEWALS)
        self._calls = AttestationLimiter(clock=clock, limits=_CALLS)
        self._configs = AttestationLimiter(clock=clock, limits=_RENEWALS)

    async def renew(self, peer: http.Peer, csr: bytes, caller: Caller) -> Credentials:
        """Renew the certificate of a machine whose claim exists.

        Raises:
            Refused: if the claim is gone or being deleted without a running job, or the machine
                renews too often.
        """
        claim = self._authenticate(peer)
        self._renewals.check_address(claim.uid)
        known = await self._require(claim)
        if not known.may_renew:
            raise _refuse(claim)
        credentials, issued = await self._issuer.issue(claim, csr, selectors=known.selectors)
        attested = AttestationRecord(
            method=known.method,
            spiffe_id=credentials.spiffe_id,
            serial=issued.serial,
            not_after=issued.not_after,
        )
        await self._claims.record(claim, attested)
        self._audit.record_issued("renew", caller, claim, serial=issued.serial)
        return credentials

    async def read_config(self, peer: http.Peer, caller: Caller) -> dict[str, object]:
        """Build the configuration of a machine, with a newly fetched registration token.

        Raises:
            CallError: if it cannot be prepared; the reason is in the status of the claim.
            Refused: if the claim is gone or being deleted, or the machine asks too often.
        """
        claim = self._authenticate(peer)
        self._configs.check_address(claim.uid)
        if (await self._require(claim)).is_terminating:
            raise _refuse(claim)
        workload = await self._claims.read_workload(claim)
        if workload.method in ("", "none"):
            return build_empty_config(claim)
        try:
            return await self._register(claim, workload, caller)
        except WorkloadError as error:
            self._audit.record_workload_failure(caller, claim, str(error))
            report = Report(phase="Bootstrapping", message=str(error))
            await self._claims.report(claim, report, self._clock.now())
            raise CallError(*errors.BUSY) from error

    async def _register(
        self, claim: Claim, workload: Workload, caller: Caller
    ) -> dict[str, object]:
        if workload.method != "runner-token" or self._registrar is None:
            text = f"bootstrap method {workload.method} is not supported; use runner-token or none"
            raise WorkloadError(text)
        token = await self._registrar.register(workload)
        self._audit.record_registration(caller, claim, where=token.registration.page)
        return build_runner_config(
            claim,
            workload,
            registration=token.registration,
            token=token.token,
            expires_at=token.expires_at,
        )

    async def report(self, peer: http.Peer, request: StatusRequest) -> Directive:
        """Record the report of a machine; returns its next directive."""
        claim = self._authenticate(peer)
        self._calls.check_address(claim.uid)
        known = await self._find(claim)
        if known is None:
            return "shutdown"
        report = Report(phase=request.phase, message=request.message, job=request.job.id)
        await self._claims.report(claim, report, self._clock.now())
        return known.directive

    async def record_heartbeat(self, peer: http.Peer) -> Directive:
        """Record a heartbeat, unless one was recorded just before; returns the next directive."""
        claim = self._authenticate(peer)
        self._calls.check_address(claim.uid)
        found, now = await self._claims.get_instruction(claim), self._clock.now()
        is_recorded = found.last_heartbeat is not None and now < found.last_heartbeat + RECORDED
        if found.directive != "shutdown" and not is_recorded:
            await self._claims.record_heartbeat(claim, now)
        return found.directive

    def _authenticate(self, peer: http.Peer) -> Claim:
        return authenticate_machine(peer, self._issuer.trust_domain, now=self._clock.now())

    async def _find(self, claim: Claim) -> KnownClaim | None:
        known = await self._claims.get(claim.namespace, claim.name)
        return known if known is not None and known.claim == claim else None

    async def _require(self, claim: Claim) -> KnownClaim:
        known = await self._find(claim)
        if known is None or not known.certificate_serial:
            raise _refuse(claim)
        return known


def _refuse(claim: Claim) -> Refused:
    text = f"claim {claim.namespace}/{claim.name} {claim.uid}"
    return Refused(RefusalReason.CLAIM_GONE, text)
