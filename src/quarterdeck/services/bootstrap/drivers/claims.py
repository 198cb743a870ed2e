"""MachineClaims as the service sees them, and what it writes into their status."""

import binascii
import random
from collections.abc import Iterable
from datetime import datetime

from cryptography import x509

from quarterdeck.apis.core.config import ConfigMap, Secret
from quarterdeck.apis.hypervisor.bootstrap import TpmPolicy
from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.references import ObjectReference
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.apis.hypervisor.workload import GithubWorkload
from quarterdeck.attest.endorsement import EndorsementPolicy
from quarterdeck.attest.pcr_policy import Mode, PcrPolicy
from quarterdeck.client.client import Client
from quarterdeck.kit import rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.identity import Key
from quarterdeck.runtime.informer.informer import Informer
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.ports import (
    DEFAULT_PCRS,
    AttestationRecord,
    Directive,
    Instruction,
    KnownClaim,
    Report,
    TpmRules,
    WriteConflict,
)
from quarterdeck.services.bootstrap.refusal import RefusalReason, Refused
from quarterdeck.services.bootstrap.workload import Workload
from quarterdeck.wire.status import Conflict, Forbidden, NotFound

_LAST_PCR = 23
_LONGEST_MESSAGE = 512
_WORKING = ("Busy", "Idle", "JobCompleted")
"""Reported phases that imply whether a job runs."""
_INDEX_S = 1.0
"""Shortest time between two lists of claims for unknown UIDs, against floods of them."""
_MODES: dict[str, Mode] = {
    "exact": "exact",
    "allowlist": "allowlist",
    "record-only": "record-only",
}


class KubeClaims:
    """Implements `Claims`."""

    def __init__(self, client: Client, *, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._statuses = client.resource(MachineClaim.KIND.gvr).subresource("status")
        self._names: dict[str, tuple[str, str]] = {}
        self._listed_at = float("-inf")
        self._informer = Informer(client.raw, MachineClaim, clock=clock, rng=random.Random())

    async def get(self, namespace: str, name: str) -> KnownClaim | None:
        """A claim by name."""
        try:
            claim = await self._client.get(MachineClaim, name, namespace)
        except NotFound:
            return None
        return _describe(claim, await self._read_template(claim))

    async def find(self, uid: str) -> KnownClaim | None:
        """A claim by its UID."""
        if uid not in self._names and self._clock.monotonic() >= self._listed_at + _INDEX_S:
            await self._list()
        place = self._names.get(uid)
        found = await self.get(*place) if place is not None else None
        return found if found is not None and found.claim.uid == uid else None

    async def read_tpm_rules(self, claim: Claim) -> TpmRules:
        """Read which TPMs the template of a claim accepts.

        Raises:
            Refused: if the rules cannot be read: then no TPM is accepted.
        """
        found = await self._client.get(MachineClaim, claim.name, claim.namespace)
        template = await self._read_template(found)
        attestation = template.spec.attestation if template is not None else None
        config = attestation.config if attestation is not None else None
        policy = config.tpm if config is not None and config.tpm is not None else TpmPolicy()
        namespace = template.metadata.namespace if template is not None else claim.namespace
        try:
            pcrs = await self._read_pcr_policy(policy.pcr_policy_ref, namespace)
            selection = tuple(policy.pcr_selection) or DEFAULT_PCRS
            _check_registers(selection, "spec.attestation.config.tpm.pcrSelection")
            return TpmRules(
                endorsement=await self._read_endorsement(policy, namespace),
                pcrs=pcrs,
                # machines quote what they are asked for: without the PCRs of the policy, in vain
                selection=tuple(sorted({*selection, *pcrs.required})),
            )
        except (NotFound, Forbidden, ValueError) as error:
            text = f"the TPM policy of {claim.namespace}/{claim.name} cannot be read: {error}"
            raise Refused(RefusalReason.UNTRUSTED_TPM, text, claim=claim) from error

    async def find_endorsed(self, endorsement_hash: str) -> tuple[Claim, ...]:
        """Live claims that are bound to a TPM."""
        return tuple(
            _name(each)
            for each in await self._list()
            if each.status.attestation is not None
            and each.status.attestation.ek_hash == endorsement_hash
        )

    async def record(
        self, claim: Claim, attested: AttestationRecord | None, *, version: str = ""
    ) -> None:
        """Write the attestation into the status of a claim; None removes it.

        Raises:
            WriteConflict: if the claim does not have the `version` any more, if one is given.
        """
        value: dict[str, str] | None = None
        if attested is not None:
            value = {
                "method": attested.method,
                "spiffeID": attested.spiffe_id,
                "certSerial": attested.serial,
                "certNotAfter": rfc3339.format_time(attested.not_after),
            }
            if attested.at is not None:
                value["attestedAt"] = rfc3339.format_time(attested.at)
            if attested.endorsement_hash:
                value["ekHash"] = attested.endorsement_hash
            if attested.pcr_digest:
                value["pcrDigest"] = attested.pcr_digest
            if attested.attestation_key:
                value["akName"] = attested.attestation_key
        try:
            await self._patch(claim, {"attestation": value}, version=version)
        except Conflict as error:
            if not version:
                raise
            raise WriteConflict(f"claim {claim.namespace}/{claim.name} has changed") from error

    async def report(self, claim: Claim, report: Report, at: datetime) -> None:
        """Write the report of a machine into the status of its claim."""
        text = f"{report.phase}: {report.message}" if report.message else report.phase
        status: dict[str, object] = {"bootstrapInfo": text}
        if report.phase in _WORKING:
            is_busy, since = report.phase == "Busy", rfc3339.format_time(at)
            status["job"] = {"id": report.job, "busy": is_busy, "since": since}
        await self._patch(claim, status)

    async def run(self) -> None:
        """Keep the cache of claims up to date for heartbeats, until cancelled."""
        await self._informer.run()

    async def read_workload(self, claim: Claim) -> Workload:
        """Read the workload of a claim's machine."""
        found = await self._client.get(MachineClaim, claim.name, claim.namespace)
        template = await self._read_template(found)
        if template is None:
            return Workload()
        bootstrap, workload = template.spec.bootstrap, found.spec.workload_config
        details = workload.config if workload is not None else None
        wanted = details.github if details is not None else None
        return Workload(
            method=bootstrap.method,
            github=bootstrap.config.github if bootstrap.config is not None else None,
            wanted=wanted or GithubWorkload(),
            namespace=template.metadata.namespace,
        )

    async def get_instruction(self, claim: Claim) -> Instruction:
        """The directive for a machine; reads its claim if the cache does not have it.

        An older claim of the name may be in the cache for a while after it was replaced.
        """
        found = self._informer.cache.get(Key(claim.namespace, claim.name))
        if found is None or found.metadata.uid != claim.uid:
            try:
                found = await self._client.get(MachineClaim, claim.name, claim.namespace)
            except NotFound:
                return Instruction(directive="shutdown")
        if found.metadata.uid != claim.uid:
            return Instruction(directive="shutdown")
        seen = found.status.last_heartbeat
        return Instruction(
            directive=_choose_directive(found), last_heartbeat=rfc3339.parse(seen) if seen else None
        )

    async def record_heartbeat(self, claim: Claim, at: datetime) -> None:
        """Record the time of a machine's heartbeat."""
        await self._patch(claim, {"lastHeartbeat": rfc3339.format_time(at)})

    async def record_refusal(self, claim: Claim, refused: Refused, at: datetime) -> None:
        """Write into the status of a claim that an attestation was refused, and why."""
        refusal = {
            "reason": refused.reason.value,
            "message": refused.detail[:_LONGEST_MESSAGE],
            "time": rfc3339.format_time(at),
        }
        try:
            await self._patch(claim, {"attestationRefusal": refusal})
        except (NotFound, Conflict):
            return  # the claim is gone, or another one has its name

    async def _patch(self, claim: Claim, status: dict[str, object], *, version: str = "") -> None:
        expected = {"uid": claim.uid} | ({"resourceVersion": version} if version else {})
        patch = {"metadata": expected, "status": status}
        await self._statuses.patch(claim.name, patch, namespace=claim.namespace)

    async def _list(self) -> list[MachineClaim]:
        found = await self._client.list(MachineClaim)
        self._listed_at = self._clock.monotonic()
        self._names = {
            each.metadata.uid: (each.metadata.namespace, each.metadata.name) for each in found
        }
        return found

    async def _read_template(self, claim: MachineClaim) -> HypervisorMachineTemplate | None:
        reference = claim.spec.template_ref
        namespace = reference.namespace or claim.metadata.namespace
        try:
            return await self._client.get(HypervisorMachineTemplate, reference.name, namespace)
        except NotFound:
            return None

    async def _read_endorsement(self, policy: TpmPolicy, namespace: str) -> EndorsementPolicy:
        """Read the trusted certificates: self-signed ones are roots, others intermediates."""
        found: list[x509.Certificate] = []
        for reference in policy.trusted_ca_refs:
            place = reference.namespace or namespace
            secret = await self._client.get(Secret, reference.name, place)
            for key in secret.data:
                found += x509.load_pem_x509_certificates(secret.read(key) or b"")
        return EndorsementPolicy(
            roots=tuple(each for each in found if each.subject == each.issuer),
            intermediates=tuple(each for each in found if each.subject != each.issuer),
            hashes=frozenset(each.lower() for each in policy.ek_hashes),
            requires_certificate=policy.require_ek_cert,
        )

    async def _read_pcr_policy(
        self, reference: ObjectReference | None, namespace: str
    ) -> PcrPolicy:
        """Read the PCR policy from a ConfigMap: `mode`, and hexadecimal values by PCR index."""
        if reference is None:
            return PcrPolicy()
        place = reference.namespace or namespace
        settings = dict((await self._client.get(ConfigMap, reference.name, place)).data)
        mode = _MODES[_choose_mode(settings.pop("mode", "exact"))]
        try:
            values = {
                int(index): tuple(bytes.fromhex(each) for each in text.replace(",", " ").split())
                for index, text in settings.items()
            }
        except (ValueError, binascii.Error) as error:
            raise ValueError(f"ConfigMap {place}/{reference.name}: {error}") from error
        _check_registers(values, f"ConfigMap {place}/{reference.name}")
        return PcrPolicy(mode=mode, values=values)


def _check_registers(indexes: Iterable[int], place: str) -> None:
    """Raises `ValueError` for a register that no TPM has; `place` says who names it."""
    if absent := sorted(index for index in indexes if not 0 <= index <= _LAST_PCR):
        raise ValueError(f"{place}: PCR {absent[0]} does not exist; the last one is {_LAST_PCR}")


def _choose_mode(text: str) -> str:
    if text not in _MODES:
        raise ValueError(f"mode {text!r} is unknown; choose one of {', '.join(_MODES)}")
    return text


def _name(claim: MachineClaim) -> Claim:
    meta = claim.metadata
    return Claim(namespace=meta.namespace, name=meta.name, uid=meta.uid)


def _describe(claim: MachineClaim, template: HypervisorMachineTemplate | None) -> KnownClaim:
    attestation = template.spec.attestation if template is not None else None
    recorded, job = claim.status.attestation, claim.status.job
    return KnownClaim(
        claim=_name(claim),
        version=claim.metadata.resource_version or "",
        method=attestation.method if attestation is not None else "",
        directive=_choose_directive(claim),
        is_busy=job is not None and job.busy,
        selectors=_select(claim),
        endorsement_hash=recorded.ek_hash if recorded is not None else "",
        pcr_digest=recorded.pcr_digest if recorded is not None else "",
        certificate_serial=recorded.cert_serial if recorded is not None else "",
    )


def _choose_directive(claim: MachineClaim) -> Directive:
    """Choose the directive for a machine by the state of its claim."""
    if claim.status.phase in ("Terminating", "Failed"):
        return "shutdown"
    if claim.status.phase == "Draining" or claim.metadata.deletion_timestamp:
        return "drain"
    return "none"


def _select(claim: MachineClaim) -> tuple[str, ...]:
    spec = claim.spec
    found = [
        f"hyperfleet:namespace:{claim.metadata.namespace}",
        f"hyperfleet:machine-claim:{claim.metadata.name}",
        f"hyperfleet:template:{spec.template_ref.name}",
    ]
    if spec.workload_config is not None:
        found.append(f"hyperfleet:workload-type:{spec.workload_config.type}")
    if spec.runner_pool_ref is not None:
        found.append(f"hyperfleet:runner-pool:{spec.runner_pool_ref.name}")
    return tuple(found)
