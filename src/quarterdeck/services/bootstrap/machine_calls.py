"""What an attested machine may ask, by its certificate: only about its own claim."""

from datetime import timedelta

from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock
from quarterdeck.services.bootstrap.audit import Audit, Caller
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.errors import CallError
from quarterdeck.services.bootstrap.identity import authenticate_machine
from quarterdeck.services.bootstrap.issuer import Issuer
from quarterdeck.services.bootstrap.limiter import AttestationLimiter, Limits
from quarterdeck.services.bootstrap.messages import Credentials, StatusRequest
from quarterdeck.services.bootstrap.ports import Attested, Claims, Directive, KnownClaim, Report
from quarterdeck.services.bootstrap.refusal import Refused, Why

HEARTBEAT_S = 15
RECORDED = timedelta(seconds=60)
"""How often heartbeats are written down: each of them would be too many writes."""
_RENEWALS = Limits(per_address_s=1 / 60, address_burst=3, all_s=500, all_burst=500)
_CALLS = Limits(per_address_s=1, address_burst=10, all_s=1000, all_burst=2000)


class MachineCalls:
    """Renewal, configuration, reports and heartbeats."""

    def __init__(self, claims: Claims, issuer: Issuer, *, audit: Audit, clock: Clock) -> None:
        self._claims = claims
        self._issuer = issuer
        self._audit = audit
        self._clock = clock
        self._renewals = AttestationLimiter(clock=clock, limits=_RENEWALS)
        self._calls = AttestationLimiter(clock=clock, limits=_CALLS)

    async def renew(self, peer: http.Peer, csr: bytes, caller: Caller) -> Credentials:
        """Another certificate for a machine whose claim lives.

        Raises:
            Refused: if the claim is gone or leaving, or the machine comes too often.
        """
        claim = self._authenticate(peer)
        self._renewals.check_address(claim.uid)
        known = await self._require(claim)
        credentials, issued = await self._issuer.issue(claim, csr, selectors=known.selectors)
        attested = Attested(
            method=known.method,
            spiffe_id=credentials.spiffe_id,
            serial=issued.serial,
            not_after=issued.not_after,
        )
        await self._claims.record(claim, attested)
        self._audit.grant("renew", caller, claim, serial=issued.serial)
        return credentials

    async def read_config(self, peer: http.Peer) -> dict[str, object]:
        """What the machine has to run.

        Raises:
            CallError: for workloads whose credentials cannot be fetched yet.
        """
        claim = self._authenticate(peer)
        self._calls.check_address(claim.uid)
        known = await self._require(claim)
        if known.workload not in ("", "none"):
            text = f"bootstrap method {known.workload} is not supported yet; use method none"
            raise CallError(501, "not_implemented", text)
        return {"method": "none", "runner_name": f"{claim.name}-{claim.uid[:8]}", "labels": []}

    async def report(self, peer: http.Peer, request: StatusRequest) -> Directive:
        """Take what a machine says of itself; what it should do next."""
        claim = self._authenticate(peer)
        self._calls.check_address(claim.uid)
        known = await self._find(claim)
        if known is None:
            return "shutdown"
        report = Report(phase=request.phase, message=request.message, job=request.job.id)
        await self._claims.report(claim, report)
        return known.directive

    async def beat(self, peer: http.Peer) -> Directive:
        """A machine lives; what it should do next."""
        claim = self._authenticate(peer)
        self._calls.check_address(claim.uid)
        found, now = await self._claims.instruct(claim), self._clock.now()
        is_recorded = found.last_heartbeat is not None and now < found.last_heartbeat + RECORDED
        if found.directive != "shutdown" and not is_recorded:
            await self._claims.beat(claim, now)
        return found.directive

    def _authenticate(self, peer: http.Peer) -> Claim:
        return authenticate_machine(peer, self._issuer.trust_domain, now=self._clock.now())

    async def _find(self, claim: Claim) -> KnownClaim | None:
        known = await self._claims.get(claim.namespace, claim.name)
        return known if known is not None and known.claim == claim else None

    async def _require(self, claim: Claim) -> KnownClaim:
        known = await self._find(claim)
        if known is None or known.is_leaving or not known.certificate_serial:
            raise Refused(Why.CLAIM_GONE, f"claim {claim.namespace}/{claim.name} {claim.uid}")
        return known
