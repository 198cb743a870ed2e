"""The first step of a machine: choose node, id and address, and record them in the status."""

from quarterdeck.apis.hypervisor.claim import MachineClaim, NetworkInfo, VmReference
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.apis.hypervisor.names import ADOPT
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit.digits import parse_digits
from quarterdeck.meta.conditions import FALSE
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.allocations import Allocations, Entry, get_fleet_key
from quarterdeck.operators.machines.claim_failures import Failed
from quarterdeck.operators.machines.conditions import PROVISIONING, Reason
from quarterdeck.operators.machines.errors import Code, HypervisorError
from quarterdeck.operators.machines.machine_context import SOON, Machine
from quarterdeck.operators.machines.machinespec import build_request, choose_network
from quarterdeck.operators.machines.plan.addresses import InvalidPool, choose_address
from quarterdeck.operators.machines.plan.claim import Step
from quarterdeck.operators.machines.plan.placement import NodeRules, choose_node, compute_rooms
from quarterdeck.operators.machines.recipe_checks import (
    find_network_mistake,
    find_resource_mistake,
    find_server_mistake,
)
from quarterdeck.operators.machines.report import set_condition
from quarterdeck.operators.machines.template import get_template_version, read_template
from quarterdeck.runtime import RequeueAfter, Stalled, Waiting

FIRST_ID, LAST_ID = 100, 999_999_999
_CAPACITY_S = 30.0


async def place(
    machine: Machine,
    template: HypervisorMachineTemplate,
    cluster: HypervisorCluster,
    allocations: Allocations,
) -> RequeueAfter:
    """Choose node, id and address; they are in the status before anything is created."""
    if ADOPT in machine.claim.metadata.annotations:
        return await adopt(machine, cluster)
    _check_recipe(machine.claim, cluster)
    async with machine.connection.choosing:
        address = _choose_address(machine, template, allocations)
        node = await _choose_node(machine, template, cluster, allocations)
        vmid = await _reserve_id(machine, cluster, allocations)
        claim = machine.claim
        request = build_request(claim, template)
        entry = Entry(vmid, node, get_fleet_key(claim), address, request, None)
        allocations.put(claim.metadata.uid, entry)
    reference = VmReference(
        hypervisor_cluster=str(cluster.key), vm_id=vmid, node=node, name=claim.metadata.name
    )
    machine.ctx.status.set(vm_ref=reference)
    if address:
        info = NetworkInfo(ip_address=address, static_address=address)
        machine.ctx.status.set(network_info=info)
    machine.enter("Provisioning", Step.CLONE)
    machine.ctx.event(Reason.NODE_CHOSEN, f"VM {vmid} will be created on node {node}")
    return SOON


def _check_recipe(claim: MachineClaim, cluster: HypervisorCluster) -> None:
    """Refuse invalid fields of the claim and DNS servers of the cluster.

    The template was checked before.
    """
    servers = cluster.spec.dns.servers if cluster.spec.dns is not None else ()
    mistake = (
        find_resource_mistake(claim.spec.resources, "spec.resources")
        or find_network_mistake(claim.spec.network, "spec.network")
        or find_server_mistake(servers, f"HypervisorCluster {cluster.key}: spec.dns.servers")
    )
    if mistake:
        raise Stalled(Reason.TEMPLATE_INVALID, mistake)


async def _choose_node(
    machine: Machine,
    template: HypervisorMachineTemplate,
    cluster: HypervisorCluster,
    allocations: Allocations,
) -> str:
    claim, connection = machine.claim, machine.connection
    info = connection.get_cached_template(get_template_version(template))
    if info is None:
        info = await read_template(connection, template)
        connection.cache_template(get_template_version(template), info)
    read_at, nodes = await connection.get_nodes()
    hints = cluster.spec.scheduler_hints
    fleet = get_fleet_key(claim)
    desired = NodeRules(
        allowed=frozenset(cluster.spec.nodes) & frozenset(info.nodes),
        pinned=claim.spec.node_name,
        siblings=allocations.list_siblings(fleet) if await _is_spread(machine) else {},
        memory_adjustment=hints.memory_adjustment if hints is not None else 100,
    )
    left = compute_rooms(nodes, allocations.compute_reserved(read_at))
    choice = choose_node(left, build_request(claim, template), desired)
    if choice.problem:
        set_condition(
            machine.ctx, PROVISIONING, FALSE, Reason.INSUFFICIENT_CAPACITY, choice.problem
        )
        raise Waiting(Reason.INSUFFICIENT_CAPACITY, choice.problem, after_s=_CAPACITY_S)
    return choice.node


async def _is_spread(machine: Machine) -> bool:
    """Whether to spread machines over nodes: runners always, fleets unless `spread` is none."""
    reference = machine.claim.spec.fleet_ref
    if reference is None:
        return machine.claim.spec.runner_pool_ref is not None
    fleet = await machine.ctx.find(Fleet, reference.name)
    placement = fleet.spec.placement if fleet is not None else None
    return placement is None or placement.spread != "none"


async def _reserve_id(
    machine: Machine, cluster: HypervisorCluster, allocations: Allocations
) -> int:
    limits = cluster.spec.vmid_range
    start = limits.start if limits is not None else FIRST_ID
    end = limits.end if limits is not None else LAST_ID
    taken = allocations.ids
    return await machine.call(
        "reserve_id", lambda each: each.reserve_id(start=start, end=end, taken=taken)
    )


def _choose_address(
    machine: Machine, template: HypervisorMachineTemplate, allocations: Allocations
) -> str:
    network = choose_network(machine.claim, template)
    if network.mode != "static" or network.static_config is None:
        return ""
    try:
        address = choose_address(network.static_config, allocations.addresses)
    except InvalidPool as error:
        raise Stalled(Reason.TEMPLATE_INVALID, str(error)) from error
    if not address:
        raise Waiting(
            Reason.NO_FREE_ADDRESS,
            "every address of network.staticConfig is taken: extend the pool",
            after_s=_CAPACITY_S,
        )
    return address


async def adopt(machine: Machine, cluster: HypervisorCluster) -> RequeueAfter:
    """Adopt an existing VM that has no owner."""
    text = machine.claim.metadata.annotations[ADOPT]
    vmid = parse_digits(text)
    if vmid is None:
        raise Stalled(
            Reason.ADOPTION_REFUSED, f"annotation {ADOPT}: {text!r} must be the id of a VM"
        )
    try:
        vm = await machine.call("get_vm", lambda each: each.get_vm(vmid))
    except HypervisorError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        raise Failed(Reason.ADOPTION_REFUSED, f"VM {vmid} not found") from error
    owner = ownership.read_owner(vm)
    is_ours = owner is not None and (
        (owner.operator_uid, owner.claim_uid) == (machine.operator_uid, machine.claim.metadata.uid)
    )
    if vm.is_template or (owner is not None and not is_ours):
        whose = "it is a template" if owner is None else f"it belongs to claim {owner.claim}"
        raise Failed(Reason.ADOPTION_REFUSED, f"VM {vmid} cannot be adopted: {whose}")
    reference = VmReference(
        hypervisor_cluster=str(cluster.key),
        vm_id=vmid,
        node=vm.node,
        name=vm.name,
        adopted=True,
    )
    machine.ctx.status.set(vm_ref=reference)
    machine.enter("Provisioning", Step.CONFIGURE)
    machine.ctx.event(Reason.ADOPTED, f"VM {vmid} ({vm.name}) adopted")
    return SOON
