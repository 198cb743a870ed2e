"""Ports of the service: claims, registration of runners, and stores of tokens and authority."""

from datetime import datetime
from typing import Literal, Protocol

import msgspec

from quarterdeck.attest.endorsement import EndorsementPolicy
from quarterdeck.attest.pcr_policy import PcrPolicy
from quarterdeck.services.bootstrap.authority import AuthorityState
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.refusal import Refused
from quarterdeck.services.bootstrap.token_record import TokenRecord
from quarterdeck.services.bootstrap.workload import Registration, Workload

Directive = Literal["none", "drain", "shutdown"]
DEFAULT_PCRS = (0, 1, 2, 3, 4, 7)


class TpmRules(msgspec.Struct, frozen=True, kw_only=True):
    """Which TPMs and boots a claim accepts."""

    endorsement: EndorsementPolicy = EndorsementPolicy(requires_certificate=True)
    pcrs: PcrPolicy = PcrPolicy()
    selection: tuple[int, ...] = DEFAULT_PCRS


class KnownClaim(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of an existing claim that the service uses."""

    claim: Claim
    version: str = ""
    """Resource version of the claim, for a write that depends on what was read."""
    method: str = ""
    """The attestation method of the template; empty if it requires none."""
    directive: Directive = "none"
    """What the machine should do next, by the state of the claim."""
    is_busy: bool = False
    """Whether the machine reports a running job."""
    selectors: tuple[str, ...] = ()
    endorsement_hash: str = ""
    """Hash of the endorsement key that the claim was bound to at its first attestation."""
    pcr_digest: str = ""
    """Digest of the PCR values at its last attestation."""
    certificate_serial: str = ""
    """Serial number of the newest certificate; empty before the attestation."""

    @property
    def is_terminating(self) -> bool:
        """Whether the machine is to drain or shut down, so that it gets no new credentials."""
        return self.directive != "none"

    @property
    def may_renew(self) -> bool:
        """Whether the machine may renew its certificate: also to finish a job while it drains.

        It switches itself off when its certificate expires.
        """
        return self.directive == "none" or (self.directive == "drain" and self.is_busy)


class AttestationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record of an attestation or a renewal in the status of a claim."""

    method: str
    spiffe_id: str
    serial: str
    not_after: datetime
    at: datetime | None = None
    """When the machine was attested; None for a renewal, which is no new attestation."""
    endorsement_hash: str = ""
    pcr_digest: str = ""
    attestation_key: str = ""
    """Name of the attestation key, in hexadecimal digits."""


class Instruction(msgspec.Struct, frozen=True, kw_only=True):
    """The directive for a machine that sends a heartbeat, and its last recorded heartbeat."""

    directive: Directive = "none"
    last_heartbeat: datetime | None = None
    """When a heartbeat was last recorded."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a machine."""

    phase: str
    message: str = ""
    job: str = ""


class RegistrationToken(msgspec.Struct, frozen=True, kw_only=True):
    """The short-lived token that a runner registers with."""

    token: str
    expires_at: str
    registration: Registration

    def __repr__(self) -> str:
        return f"RegistrationToken(expires_at={self.expires_at!r})"


class Registrar(Protocol):
    """The CI system that runners are registered with."""

    async def register(self, workload: Workload) -> RegistrationToken:
        """Get a registration token.

        Raises:
            WorkloadError: if no token can be obtained.
        """


class Claims(Protocol):
    """The claims of the cluster."""

    async def get(self, namespace: str, name: str) -> KnownClaim | None:
        """A claim by name."""

    async def find(self, uid: str) -> KnownClaim | None:
        """A claim by its UID."""

    async def read_tpm_rules(self, claim: Claim) -> TpmRules:
        """Read which TPMs the template of a claim accepts."""

    async def find_endorsed(self, endorsement_hash: str) -> tuple[Claim, ...]:
        """Live claims that are bound to a TPM."""

    async def record(
        self, claim: Claim, attested: AttestationRecord | None, *, version: str = ""
    ) -> None:
        """Write the attestation into the status of a claim; None removes it.

        Raises:
            WriteConflict: if the claim does not have the `version` any more, if one is given.
        """

    async def report(self, claim: Claim, report: Report, at: datetime) -> None:
        """Write the report of a machine into the status of its claim."""

    async def read_workload(self, claim: Claim) -> Workload:
        """Read the workload of a claim's machine."""

    async def get_instruction(self, claim: Claim) -> Instruction:
        """The directive for a machine, by the cached state of its claim."""

    async def record_heartbeat(self, claim: Claim, at: datetime) -> None:
        """Record the time of a machine's heartbeat."""

    async def record_refusal(self, claim: Claim, refused: Refused, at: datetime) -> None:
        """Write into the status of a claim that an attestation was refused, and why."""


class WriteConflict(Exception):
    """Raised when a concurrent write won; the caller should read again and decide again."""


class StoredToken(msgspec.Struct, frozen=True):
    """A record and the version that a swap must name."""

    record: TokenRecord
    version: str


class TokenStore(Protocol):
    """Stores join tokens, shared by all replicas."""

    async def read(self, identity: str) -> StoredToken | None:
        """A record by the id of its token."""

    async def list_by_claim(self, uid: str) -> tuple[StoredToken, ...]:
        """The records of one claim."""

    async def list_all(self) -> tuple[StoredToken, ...]:
        """Every record."""

    async def create(self, record: TokenRecord) -> None:
        """Add a record."""

    async def swap(self, record: TokenRecord, version: str) -> None:
        """Replace a record if it is unchanged since it was read. Raises `WriteConflict`."""

    async def delete(self, identity: str) -> None:
        """Delete a record."""


class StoredAuthority(msgspec.Struct, frozen=True):
    """The authority and the version that a swap must name."""

    state: AuthorityState
    version: str


class AuthorityStore(Protocol):
    """Stores the authority, shared by all replicas."""

    async def read(self) -> StoredAuthority | None:
        """The authority, if there is one."""

    async def create(self, state: AuthorityState) -> None:
        """Store the first authority. Raises `WriteConflict` if another replica was faster."""

    async def swap(self, state: AuthorityState, version: str) -> None:
        """Replace the authority. Raises `WriteConflict`."""
