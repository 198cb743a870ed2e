"""The boot of a machine: it becomes ready when the VM runs and its address is known."""

from quarterdeck.apis.hypervisor.claim import NetworkInfo
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit import rfc3339
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.operators.machines.claim_failures import Failed
from quarterdeck.operators.machines.conditions import (
    BOOTSTRAPPED,
    HEALTHY,
    POWERED_ON,
    PROVISIONING,
    READY,
    Reason,
)
from quarterdeck.operators.machines.connection import View
from quarterdeck.operators.machines.machine import VMInfo
from quarterdeck.operators.machines.machine_context import Machine
from quarterdeck.operators.machines.plan.claim import (
    Verdict,
    assess_vm,
    compute_poll_s,
    find_entry_time,
)
from quarterdeck.operators.machines.report import report_condition, set_condition
from quarterdeck.operators.machines.template import get_template_version
from quarterdeck.runtime import DONE, RequeueAfter, Result

BOOT_POLL_S = 1.0
ASK_AFTER_S = 4.0
"""How long a machine boots before its VM is read on its own to get the address."""


def needs_service(template: HypervisorMachineTemplate) -> bool:
    """Whether only the bootstrap service can report a machine ready."""
    return template.spec.attestation is not None or template.spec.bootstrap.method != "none"


async def await_boot(machine: Machine, template: HypervisorMachineTemplate) -> Result:
    """Make the machine ready once its VM runs and the address is known; fail if the VM is lost."""
    view = await machine.connection.get_view(max_age_s=BOOT_POLL_S)
    vm = view.vms.get(machine.ref.vm_id)
    verdict = assess_vm(vm, machine.owner)
    if verdict is Verdict.RUNNING and vm is not None:
        return await _await_address(machine, template, view, vm)
    is_lost = verdict in (Verdict.MISSING, Verdict.FOREIGN, Verdict.STOPPED)
    if is_lost and not _is_fresh(machine):
        return await _confirm_loss(machine)
    return RequeueAfter(BOOT_POLL_S)


async def _await_address(
    machine: Machine, template: HypervisorMachineTemplate, view: View, vm: VMInfo
) -> Result:
    """Make the machine ready once its address is known, or if it has no guest agent to report one.

    Some hypervisors list the addresses of all VMs, others report those of one VM at a time. The
    VM is read on its own only if the list has no address of any VM, and after `ASK_AFTER_S`.
    """
    if vm.ips:
        return become_ready(machine, vm)
    age_s = _compute_age_s(machine)
    if age_s < ASK_AFTER_S or any(each.ips for each in view.vms.values()):
        return RequeueAfter(BOOT_POLL_S)
    info = machine.connection.get_cached_template(get_template_version(template))
    if machine.ref.adopted or (info is not None and not info.has_agent):
        return become_ready(machine, vm)
    seen = await machine.find_vm()
    if seen is not None and seen.ips and assess_vm(seen, machine.owner) is Verdict.RUNNING:
        return become_ready(machine, seen)
    text = f"VM {vm.id} runs on node {vm.node}; waiting for an address from its guest agent"
    set_condition(machine.ctx, READY, FALSE, Reason.BOOTING, text)
    return RequeueAfter(compute_poll_s(age_s))


def _is_fresh(machine: Machine) -> bool:
    """Whether the VM started so recently that a shared list may be older than its start."""
    return _compute_age_s(machine) < 2 * BOOT_POLL_S + 1.0  # times of objects are whole seconds


def _compute_age_s(machine: Machine) -> float:
    since = find_entry_time(machine.claim)
    return (machine.ctx.now() - since).total_seconds() if since is not None else 0.0


async def _confirm_loss(machine: Machine) -> RequeueAfter:
    """Read this VM on its own before failing the claim: the shared list may be outdated."""
    vm = await machine.find_vm()
    match assess_vm(vm, machine.owner):
        case Verdict.MISSING:
            raise Failed(Reason.VM_MISSING, f"VM {machine.ref.vm_id} was deleted while it booted")
        case Verdict.FOREIGN:
            raise Failed(
                Reason.VM_NOT_OWNED, f"VM {machine.ref.vm_id} no longer belongs to this claim"
            )
        case Verdict.STOPPED:
            raise Failed(Reason.VM_STOPPED, f"VM {machine.ref.vm_id} stopped while it booted")
        case _:
            return RequeueAfter(BOOT_POLL_S)


def become_ready(machine: Machine, vm: VMInfo | None) -> Result:
    """Set phase Ready and its conditions; `vm` is None for a machine that is switched off."""
    ctx, ref = machine.ctx, machine.ref
    now = rfc3339.format_time(ctx.now())
    machine.enter("Ready")
    since = ctx.status.current.ready_since or now
    ctx.status.set(task_ref=None, attempts=0, ready_since=since)
    text = f"VM {ref.vm_id} on node {ref.node}"
    if vm is None:
        set_condition(ctx, POWERED_ON, FALSE, Reason.STOPPED, "spec.powerState is Off")
        set_condition(ctx, PROVISIONING, FALSE, Reason.PROVISIONED, text)
    else:
        observe(machine, vm)
        runs = f"VM {vm.id} runs on node {vm.node}"
        set_condition(ctx, POWERED_ON, TRUE, Reason.STARTED, runs)
    set_condition(
        ctx, BOOTSTRAPPED, TRUE, Reason.MACHINE_READY, "the template requires no bootstrap"
    )
    set_condition(ctx, HEALTHY, TRUE, Reason.MACHINE_READY, text)
    report_condition(ctx, READY, TRUE, Reason.MACHINE_READY, text)
    return DONE


def observe(machine: Machine, vm: VMInfo) -> None:
    """Write address, MAC, provider id and node of the VM into the status.

    An address that the VM still has stays. So does the static address, also if the VM never reports
    it: by the status it stays taken after a restart.
    """
    ctx = machine.ctx
    before = ctx.status.current.network_info
    address = before.ip_address if before is not None else ""
    if vm.ips:
        bare = address.partition("/")[0]
        address = bare if bare in vm.ips else vm.ips[0]
    ctx.status.set(
        network_info=NetworkInfo(
            ip_address=address,
            mac_address=vm.mac,
            ssh_address=vm.ssh_address,
            static_address=before.static_address if before is not None else "",
        ),
        provider_id=f"{machine.connection.hypervisor.name}://{vm.uuid}",
    )
    if vm.node and vm.node != machine.ref.node:
        machine.set_ref(node=vm.node)
