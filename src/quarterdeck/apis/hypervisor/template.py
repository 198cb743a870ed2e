"""HypervisorMachineTemplate: a recipe that machines are made by."""

from typing import Annotated, Literal

from quarterdeck.apis.hypervisor import names
from quarterdeck.apis.hypervisor.bootstrap import Attestation, Bootstrap
from quarterdeck.apis.hypervisor.references import ObjectReference
from quarterdeck.apis.hypervisor.shape import (
    CloudInit,
    MachineMetadata,
    MachineNetwork,
    MachineResources,
)
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct, always_written
from quarterdeck.meta.schema import Rule

FailureProfile = Literal["none", "flaky", "slow"]

ONE_IDENTITY = Rule(
    rule="[has(self.templateId), has(self.templateName), has(self.templateTags)].exists_one(x, x)",
    message="exactly one of templateId, templateName and templateTags must be set",
)
ONE_SOURCE = Rule(
    rule="[has(self.proxmox), has(self.libvirt), has(self.mock)].exists_one(x, x)",
    message="exactly one of proxmox, libvirt and mock must be set",
)


class ProxmoxTemplate(Struct, frozen=True, kw_only=True):
    """A template of Proxmox VE, by id, name or tags."""

    template_id: Annotated[Int32, Schema(minimum=0)] | None = None
    """Id of the template."""
    template_name: str = ""
    """Name of the template."""
    template_tags: Annotated[tuple[str, ...], Schema(list_type="set")] = ()
    """Tags that exactly one template has."""
    clone: bool = False
    """Clone the template; kept for existing manifests, machines are always clones."""
    linked_clone: bool = False
    """Share the template's disk instead of copying it."""


class LibvirtTemplate(Struct, frozen=True, kw_only=True):
    """An image for local QEMU."""

    image: Annotated[str, Schema(min_length=1)]
    """Name of an imported disk image; each machine gets an overlay on it."""
    kernel: str = ""
    """Kernel to boot instead of the image's boot loader: a file beside the image."""
    initrd: str = ""
    """Initial RAM disk for the kernel: a file beside the image."""
    command_line: str = ""
    """Command line of the kernel."""


class MockTemplate(Struct, frozen=True, kw_only=True):
    """A template of the simulator."""

    template_name: Annotated[str, Schema(default="simulated")] = "simulated"
    """Name of the simulator's template."""
    boot_seconds: Annotated[float, Schema(minimum=0)] | None = None
    """How long a machine boots; the simulator's own time if left out."""
    failure_profile: Annotated[FailureProfile, Schema(default="none")] = "none"
    """flaky: one call in five about these machines fails; slow: their tasks and boots take five
    times as long."""
    linked_clone: bool = True
    """Share the template's disk instead of copying it."""


class TemplateSource(Struct, frozen=True, kw_only=True):
    """What a machine is a copy of; exactly one is set."""

    proxmox: Annotated[ProxmoxTemplate, Schema(rules=(ONE_IDENTITY,))] | None = None
    """A template of Proxmox VE."""
    libvirt: LibvirtTemplate | None = None
    """An image for local QEMU."""
    mock: MockTemplate | None = None
    """A template of the simulator."""


class HypervisorMachineTemplateSpec(Struct, frozen=True, kw_only=True):
    """The recipe."""

    hypervisor_cluster_ref: ObjectReference
    """The hypervisor that machines are made on."""
    template: Annotated[TemplateSource, Schema(rules=(ONE_SOURCE,))]
    """What a machine is a copy of."""
    resources: MachineResources
    """Processors, memory and disk."""
    attestation: Attestation | None = None
    """How a machine proves its identity; no attestation if left out."""
    bootstrap: Bootstrap
    """What a machine does after its start."""
    network: MachineNetwork | None = None
    """Addresses and names."""
    cloud_init: CloudInit | None = None
    """Data for cloud-init, merged with what the bootstrap needs."""
    metadata: MachineMetadata | None = None
    """Labels and annotations that are copied to claims."""


class HypervisorMachineTemplateStatus(Struct, frozen=True, kw_only=True):
    """What is known of a template."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    template_available: bool = always_written(default=False)
    """Whether the template exists on the hypervisor and a machine would fit."""
    validation_status: str = ""
    """Valid, or Invalid."""
    last_validated: Time = ""
    """When the hypervisor was last asked."""
    template_id: Int32 = 0
    """Id of the template on the hypervisor."""
    claims: Int32 = 0
    """Claims that use the template."""
    conditions: Conditions = ()
    """TemplateValid, Unsupported, and Deleting while a deletion is blocked."""


class HypervisorMachineTemplate(Object, frozen=True, kw_only=True):
    """A recipe that machines are made by."""

    KIND = KindInfo(
        group=names.GROUP,
        version=names.VERSION,
        kind="HypervisorMachineTemplate",
        plural="hypervisormachinetemplates",
        singular="hypervisormachinetemplate",
        short_names=("hmt",),
        categories=(names.CATEGORY,),
        columns=(
            Column(name="Template ID", type="integer", path=".status.templateId"),
            Column(name="CPU", type="integer", path=".spec.resources.cpu"),
            Column(name="Memory", path=".spec.resources.memory"),
            Column(name="Available", type="boolean", path=".status.templateAvailable"),
            Column(
                name="Reason",
                path='.status.conditions[?(@.type=="TemplateValid")].reason',
                priority=1,
            ),
            AGE,
        ),
    )
    spec: HypervisorMachineTemplateSpec
    """The recipe."""
    status: HypervisorMachineTemplateStatus = HypervisorMachineTemplateStatus()
    """What is known of the template."""
