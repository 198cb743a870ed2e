"""MachineClaim: one desired VM."""

from typing import Annotated, Literal

import msgspec

from quarterdeck.apis.hypervisor import names
from quarterdeck.apis.hypervisor.references import ObjectReference
from quarterdeck.apis.hypervisor.shape import MachineNetwork, MachineResources
from quarterdeck.apis.hypervisor.workload import WorkloadConfig
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct, always_written
from quarterdeck.meta.schema import Rule

Phase = Literal[
    "Pending", "Provisioning", "Bootstrapping", "Ready", "Draining", "Terminating", "Failed"
]
PowerState = Literal["On", "Off"]
DeletionPolicy = Literal["Delete", "Retain"]

PROVIDER_ID_ONCE = Rule(
    rule=(
        "!has(oldSelf.providerID) || "
        "(has(self.providerID) && self.providerID == oldSelf.providerID)"
    ),
    message="providerID is immutable once set",
    field_path=".providerID",
)


class ClaimTimeouts(Struct, frozen=True, kw_only=True):
    """How long each part of a machine's life may take."""

    provision: Annotated[str, Schema(default="10m", pattern=names.DURATION_PATTERN)] = "10m"
    """From the choice of a node to the running VM."""
    bootstrap: Annotated[str, Schema(default="15m", pattern=names.DURATION_PATTERN)] = "15m"
    """From the running VM to ready."""
    drain: Annotated[str, Schema(default="5m", pattern=names.DURATION_PATTERN)] = "5m"
    """How long a deletion waits for work under way and for pre-drain hooks."""
    delete: Annotated[str, Schema(default="10m", pattern=names.DURATION_PATTERN)] = "10m"
    """How long a deletion may take before a warning is given; it is retried for ever."""


class MachineClaimSpec(Struct, frozen=True, kw_only=True):
    """The desired VM."""

    template_ref: ObjectReference
    """The recipe."""
    runner_pool_ref: ObjectReference | None = None
    """The pool that made the claim."""
    fleet_ref: ObjectReference | None = None
    """The fleet that made the claim."""
    workload_config: WorkloadConfig | None = None
    """What the machine is for."""
    revision: str = ""
    """Revision of the fleet that the claim belongs to."""
    power_state: Annotated[PowerState, Schema(default="On")] = "On"
    """Whether the VM runs."""
    node_name: str = ""
    """Node that the VM must be on; chosen by the operator if left out."""
    provider_id: str = msgspec.field(name="providerID", default="")
    """Identity of the VM at the provider."""
    deletion_policy: Annotated[DeletionPolicy, Schema(default="Delete")] = "Delete"
    """What happens to the VM when the claim is deleted."""
    timeouts: Annotated[ClaimTimeouts, Schema(default={})] = ClaimTimeouts()
    """How long each part of the machine's life may take."""
    failed_retention: Annotated[str, Schema(default="0s", pattern=names.DURATION_PATTERN)] = "0s"
    """How long the VM of a failed claim is kept for debugging before its owner replaces it."""
    resources: MachineResources | None = None
    """Processors, memory and disk, instead of the template's."""
    network: MachineNetwork | None = None
    """Addresses and names, instead of the template's."""


class VmReference(Struct, frozen=True, kw_only=True):
    """Where the VM is; written before it is made."""

    hypervisor_cluster: str
    """Cluster of the VM, as namespace/name."""
    vm_id: Int32
    """Id of the VM; ids are reused, so an id alone proves nothing."""
    node: str
    """Node of the VM."""
    name: str = ""
    """Name of the VM."""
    configured: bool = False
    """Whether the ownership tags have been written."""
    adopted: bool = False
    """Whether the VM existed before the claim."""


class NetworkInfo(Struct, frozen=True, kw_only=True):
    """Addresses of the VM."""

    ip_address: str = ""
    """First address of the VM."""
    mac_address: str = ""
    """Hardware address of the VM."""
    ssh_address: str = ""
    """Where SSH of the VM is reached, as HOST:PORT, if not at its address."""
    static_address: str = ""
    """Address from network.staticConfig, with prefix length; taken while the claim exists."""


class TaskReference(Struct, frozen=True, kw_only=True):
    """A task of the hypervisor that is under way."""

    id: str
    """Identity of the task."""
    node: str = ""
    """Node of the task."""
    operation: str = ""
    """What the task does."""
    started_at: Time = ""
    """When the task was started."""


class AttestationStatus(Struct, frozen=True, kw_only=True):
    """How the machine proved its identity."""

    method: str
    """The method of the template by which it was proved."""
    spiffe_id: str = msgspec.field(name="spiffeID", default="")
    """Identity of the machine."""
    ek_hash: str = ""
    """Digest of the endorsement key."""
    ak_name: str = ""
    """Name of the attestation key."""
    pcr_digest: str = ""
    """SHA-256 over the quoted PCRs of the newest attestation by TPM."""
    attested_at: Time = ""
    """When it was attested."""
    cert_serial: str = ""
    """Serial number of the certificate."""
    cert_not_after: Time = ""
    """When the certificate expires."""


class AttestationRefusal(Struct, frozen=True, kw_only=True):
    """A proof that the bootstrap service did not accept."""

    reason: str
    """Why it was refused, for programs."""
    message: str = ""
    """Why it was refused, for people."""
    time: Time = ""
    """When it was refused."""


class JobStatus(Struct, frozen=True, kw_only=True):
    """The work of a runner."""

    id: str = ""
    """Identity of the job."""
    busy: bool = False
    """Whether a job runs."""
    since: Time = ""
    """When the runner became busy or idle."""


class PhaseTransition(Struct, frozen=True, kw_only=True):
    """When a phase was entered."""

    phase: Phase
    """The phase."""
    time: Time
    """When it was entered."""


class MachineClaimStatus(Struct, frozen=True, kw_only=True):
    """What is known of the VM."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    phase: Phase | None = None
    """Where in its life the machine is."""
    step: str = ""
    """What is done next within the phase."""
    vm_ref: VmReference | None = None
    """Where the VM is."""
    network_info: NetworkInfo | None = None
    """Addresses of the VM."""
    bootstrap_info: str = ""
    """What the bootstrap reported."""
    provider_id: str = msgspec.field(name="providerID", default="")
    """Identity of the VM at the provider."""
    task_ref: TaskReference | None = None
    """The task that is under way."""
    retry_after: Time = ""
    """When the next try is due."""
    attempts: Int32 = 0
    """Failed tries of the current phase."""
    failure_reason: str = ""
    """Why the claim failed, for programs."""
    failure_message: str = ""
    """Why the claim failed, for people."""
    ready_since: Time = ""
    """Since when the machine is ready."""
    attestation: AttestationStatus | None = None
    """How the machine proved its identity."""
    attestation_refusal: AttestationRefusal | None = None
    """The newest proof that was refused."""
    last_heartbeat: Time = ""
    """When the agent of the machine was last heard of; written about once a minute."""
    job: JobStatus | None = None
    """The work of a runner."""
    calls: Int32 = always_written(0)
    """Calls of the hypervisor that were made for this machine, polls of the cluster excluded."""
    phase_transitions: Annotated[
        tuple[PhaseTransition, ...], Schema(list_type="atomic", max_items=32)
    ] = ()
    """When each phase was entered, the newest last."""
    conditions: Conditions = ()
    """What is true of the machine."""


class MachineClaim(Object, frozen=True, kw_only=True):
    """One desired VM."""

    KIND = KindInfo(
        group=names.GROUP,
        version=names.VERSION,
        kind="MachineClaim",
        plural="machineclaims",
        singular="machineclaim",
        short_names=("mc",),
        categories=(names.CATEGORY,),
        columns=(
            Column(name="Phase", path=".status.phase"),
            Column(name="Template", path=".spec.templateRef.name"),
            Column(name="Pool", path=".spec.runnerPoolRef.name", priority=1),
            Column(name="Fleet", path=".spec.fleetRef.name"),
            Column(name="VMID", type="integer", path=".status.vmRef.vmId"),
            Column(name="Node", path=".status.vmRef.node"),
            Column(name="IP", path=".status.networkInfo.ipAddress"),
            Column(name="Reason", path='.status.conditions[?(@.type=="Ready")].reason', priority=1),
            AGE,
        ),
        selectable=(".status.phase",),
    )
    spec: Annotated[MachineClaimSpec, Schema(rules=(PROVIDER_ID_ONCE,))]
    """The desired VM."""
    status: MachineClaimStatus = MachineClaimStatus()
    """What is known of the VM."""
