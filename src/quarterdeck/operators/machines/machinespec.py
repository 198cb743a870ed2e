"""The request of a claim to a hypervisor: names, owner, sizes, network. Pure."""

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.shape import MachineNetwork
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.operators.machines.machine import Nic, Owner, VMSpec
from quarterdeck.operators.machines.ownership import build_tag
from quarterdeck.operators.machines.plan.placement import Request
from quarterdeck.operators.machines.sizes import parse_bytes


def build_owner(claim: MachineClaim, operator_uid: str) -> Owner:
    """Build the owner of the claim's VM; tags are expected once the VM has been configured."""
    ref = claim.status.vm_ref
    pool = claim.spec.runner_pool_ref
    return Owner(
        operator_uid=operator_uid,
        claim_uid=claim.metadata.uid,
        claim=str(claim.key),
        vm_name=ref.name if ref is not None and ref.name else claim.metadata.name,
        cluster=ref.hypervisor_cluster if ref is not None else "",
        pool=pool.name if pool is not None else "",
        created_at=claim.metadata.creation_timestamp or "",
        is_tagged=ref is not None and ref.configured,
    )


def build_request(claim: MachineClaim, template: HypervisorMachineTemplate) -> Request:
    """Build the request for CPU, memory and disk: the claim's, or the template's."""
    resources = claim.spec.resources or template.spec.resources
    return Request(resources.cpu, parse_bytes(resources.memory), parse_bytes(resources.disk))


def choose_network(claim: MachineClaim, template: HypervisorMachineTemplate) -> MachineNetwork:
    """Choose the claim's network, or the template's."""
    return claim.spec.network or template.spec.network or MachineNetwork()


def build_vm_spec(
    claim: MachineClaim, template: HypervisorMachineTemplate, cluster: HypervisorCluster
) -> VMSpec:
    """Build the desired configuration of the claim's VM."""
    request, network = build_request(claim, template), choose_network(claim, template)
    ref, mock = claim.status.vm_ref, template.spec.template.mock
    attestation = template.spec.attestation
    return VMSpec(
        name=ref.name if ref is not None and ref.name else claim.metadata.name,
        cpu=request.cpu,
        memory_bytes=request.memory_bytes,
        disk_bytes=request.disk_bytes,
        nics=(Nic(network.bridge or cluster.spec.default_network, network.vlan),),
        storage=cluster.spec.default_storage,
        tags=tuple(
            build_tag(f"{key}-{value}" if value else key)
            for key, value in sorted(cluster.spec.tags.items())
        ),
        has_tpm=attestation is not None and "tpm" in attestation.method,
        boot_s=mock.boot_seconds if mock is not None else None,
        failure_profile=mock.failure_profile if mock is not None else "none",
    )


def build_runner_name(claim: MachineClaim) -> str:
    """The name that a runner registers with."""
    workload = claim.spec.workload_config
    github = workload.config.github if workload is not None and workload.config else None
    if github is not None and github.runner_name:
        return github.runner_name
    return f"{claim.metadata.name}-{claim.metadata.uid[:8]}"
