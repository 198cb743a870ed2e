"""A ready machine: compared with what the hypervisor reports, and switched on or off."""

from quarterdeck.meta.conditions import FALSE, TRUE, find
from quarterdeck.operators.machines.claim_booting import become_ready, needs_service, observe
from quarterdeck.operators.machines.claim_failures import Failed, Retry
from quarterdeck.operators.machines.claim_steps import Recipe
from quarterdeck.operators.machines.conditions import (
    HEALTHY,
    POWERED_ON,
    READY,
    VM_CLEANED_UP,
    Reason,
)
from quarterdeck.operators.machines.machine import Power, PowerAction, VMInfo
from quarterdeck.operators.machines.machine_context import SOON, Machine, format_cause, is_running
from quarterdeck.operators.machines.plan.claim import (
    HEARTBEAT_CHECK_S,
    HEARTBEAT_LOST_S,
    Step,
    Verdict,
    assess_vm,
    compute_heartbeat_left_s,
)
from quarterdeck.operators.machines.report import report_condition, set_condition
from quarterdeck.operators.machines.sizes import compute_seconds_since
from quarterdeck.runtime import DONE, RequeueAfter, Result

POWER_CHECK_S = 30.0
ADDRESS_CHECK_S = 300.0
"""How long after a restart the VM is read for its address, which may have changed."""


async def watch(machine: Machine) -> Result:
    """Compare the VM with its spec; it is read on its own only if the shared list differs."""
    view = await machine.connection.get_view(max_age_s=POWER_CHECK_S)
    vm = view.vms.get(machine.ref.vm_id)
    verdict = assess_vm(vm, machine.owner)
    is_expected = verdict is find_expected_verdict(machine)
    if not is_expected and verdict is not Verdict.UNKNOWN:
        vm = await machine.find_vm()
        verdict = assess_vm(vm, machine.owner)
    return await _act(machine, vm, verdict)


def find_expected_verdict(machine: Machine) -> Verdict:
    """The verdict that `spec.powerState` implies for the VM of a ready machine."""
    is_on = machine.claim.spec.power_state == "On"
    return Verdict.RUNNING if is_on else Verdict.STOPPED


async def _act(machine: Machine, vm: VMInfo | None, verdict: Verdict) -> Result:
    vmid = machine.ref.vm_id
    match verdict:
        case Verdict.MISSING:
            raise Failed(Reason.VM_MISSING, f"VM {vmid} was deleted by someone else")
        case Verdict.FOREIGN:
            raise Failed(
                Reason.VM_NOT_OWNED,
                f"VM {vmid} was renamed, re-tagged or replaced by someone else; it is not changed",
            )
        case Verdict.UNKNOWN:
            text = f"node {machine.ref.node} does not answer"
            report_condition(machine.ctx, HEALTHY, FALSE, Reason.NODE_OFFLINE, text)
            return DONE
        case Verdict.LOCKED:
            return RequeueAfter(POWER_CHECK_S)
        case Verdict.STOPPED if machine.claim.spec.power_state == "On":
            return await _handle_stopped(machine)
        case Verdict.RUNNING if machine.claim.spec.power_state == "Off":
            return machine.proceed(Step.STOP)
        case _:
            assert vm is not None
            return await _watch_at_rest(machine, vm)


async def _watch_at_rest(machine: Machine, vm: VMInfo) -> Result:
    moved = machine.connection.moved
    if vm.id in moved or _awaits_address(machine, vm):
        moved.discard(vm.id)
        vm = await machine.find_vm() or vm  # some lists do not show addresses
    observe(machine, vm)
    machine.ctx.status.set(attempts=0)
    place = f"VM {vm.id} on node {machine.ref.node}"
    # it may have been False while the template or the cluster was missing
    report_condition(machine.ctx, READY, TRUE, Reason.MACHINE_READY, place)
    if vm.power is Power.RUNNING:
        text = f"VM {vm.id} runs on node {vm.node}"
        set_condition(machine.ctx, POWERED_ON, TRUE, Reason.STARTED, text)
    else:
        set_condition(machine.ctx, POWERED_ON, FALSE, Reason.STOPPED, "spec.powerState is Off")
    result = _check_heartbeat(machine, place)
    return RequeueAfter(POWER_CHECK_S) if _awaits_address(machine, vm) else result


def _awaits_address(machine: Machine, vm: VMInfo) -> bool:
    """Whether a VM was restarted recently and has not reported an address since.

    The first start comes before the machine is ready, and waits for the address itself.
    """
    if vm.ips or vm.power is not Power.RUNNING:
        return False
    on_s = _compute_powered_s(machine)
    ready_s = compute_seconds_since(machine.ctx.status.current.ready_since, machine.ctx.now())
    return on_s is not None and ready_s is not None and on_s < min(ready_s, ADDRESS_CHECK_S)


def _compute_powered_s(machine: Machine) -> float | None:
    """Seconds since the VM was switched on; None if it is off."""
    powered = find(machine.ctx.status.current.conditions, POWERED_ON)
    if powered is None or powered.status != TRUE:
        return None
    return compute_seconds_since(powered.last_transition_time, machine.ctx.now())


def _check_heartbeat(machine: Machine, text: str) -> Result:
    """Set the condition Healthy: False if the heartbeats of the agent have stopped, else True.

    The agent of a machine that was switched on has the same time for its first heartbeat.
    """
    claim = machine.claim
    left_s = compute_heartbeat_left_s(claim, machine.ctx.now())
    if left_s is not None and (on_s := _compute_powered_s(machine)) is not None:
        left_s = max(left_s, HEARTBEAT_LOST_S - on_s)
    if left_s is not None and left_s <= 0:
        silence = f"the agent was last heard of at {claim.status.last_heartbeat}"
        report_condition(machine.ctx, HEALTHY, FALSE, Reason.HEARTBEAT_LOST, silence)
        return RequeueAfter(POWER_CHECK_S)
    set_condition(machine.ctx, HEALTHY, TRUE, Reason.MACHINE_READY, text)
    if claim.status.attestation is None:
        return DONE
    return RequeueAfter(HEARTBEAT_CHECK_S if left_s is None else min(left_s, HEARTBEAT_CHECK_S))


async def _handle_stopped(machine: Machine) -> Result:
    """Delete the claim of a stopped runner, fail a machine of a fleet, and restart any other."""
    claim, ctx = machine.claim, machine.ctx
    text = f"VM {machine.ref.vm_id} has stopped"
    if claim.spec.runner_pool_ref is not None:
        report_condition(
            ctx, VM_CLEANED_UP, FALSE, Reason.VM_SHUTDOWN_DETECTED, text, warning=False
        )
        await ctx.delete(claim)
        return DONE
    if claim.spec.fleet_ref is not None:
        raise Failed(Reason.VM_STOPPED, text)
    report_condition(ctx, POWERED_ON, FALSE, Reason.VM_STOPPED, f"{text}; restarting it")
    return machine.proceed(Step.START)


async def switch_off(machine: Machine) -> Result:
    """Shut down a ready machine whose `spec.powerState` is Off."""
    if machine.claim.spec.power_state == "On":
        return machine.proceed(Step.WATCH)
    if machine.claim.status.task_ref is not None:
        info = await machine.poll()
        if is_running(info):
            return RequeueAfter(machine.poll_again_s())
        machine.ctx.status.set(task_ref=None)
        if assess_vm(await machine.find_vm(), machine.owner) is not Verdict.STOPPED:
            text = f"the VM is still running after its shutdown{format_cause(info)}"
            raise Retry(Reason.STOPPING, text)
        return become_ready(machine, None)
    ref, owner = machine.ref, machine.owner
    task = await machine.call(
        "power",
        lambda each: each.power(ref.vm_id, PowerAction.SHUTDOWN, owner=owner),
        node=ref.node,
    )
    return machine.track(task) if task is not None else become_ready(machine, None)


async def switch_on(machine: Machine, recipe: Recipe) -> Result:
    """Start a ready machine again."""
    if machine.claim.spec.power_state == "Off":
        return machine.proceed(Step.WATCH)
    if machine.claim.status.task_ref is not None:
        info = await machine.poll()
        if is_running(info):
            return RequeueAfter(machine.poll_again_s())
        machine.ctx.status.set(task_ref=None)
        vm = await machine.find_vm()
        if vm is None or assess_vm(vm, machine.owner) is not Verdict.RUNNING:
            raise Retry(
                Reason.STARTING, f"the VM is not running after its start{format_cause(info)}"
            )
        return _report_switched_on(machine, recipe, vm)
    if _needs_new_seed(machine, recipe):
        machine.enter("Provisioning", Step.SEED)
        return SOON
    ref, owner = machine.ref, machine.owner
    task = await machine.call(
        "power", lambda each: each.power(ref.vm_id, PowerAction.ON, owner=owner), node=ref.node
    )
    if task is not None:
        return machine.track(task)
    return _report_switched_on(machine, recipe, await machine.find_vm())


def _needs_new_seed(machine: Machine, recipe: Recipe) -> bool:
    """Whether a machine was made switched off and has yet to attest.

    The join token and the root certificate in its seed may have expired meanwhile.
    """
    is_attested = machine.claim.status.attestation is not None
    is_to_attest = recipe.template.spec.attestation is not None and recipe.inviter is not None
    return is_to_attest and not is_attested and not machine.ref.adopted


def _report_switched_on(machine: Machine, recipe: Recipe, vm: VMInfo | None) -> Result:
    """Make the machine ready, or boot it first if it never attested or never had an address."""
    status, is_adopted = machine.claim.status, machine.ref.adopted
    is_proved = status.attestation is not None or not needs_service(recipe.template)
    has_booted = status.network_info is not None and bool(status.network_info.ip_address)
    if not is_adopted and not (is_proved and has_booted):
        machine.ctx.status.set(task_ref=None)
        text = "the VM boots for the first time"
        set_condition(machine.ctx, READY, FALSE, Reason.BOOTING, text)
        machine.enter("Bootstrapping", Step.AWAIT_BOOT)
        return SOON
    if vm is None:
        return machine.proceed(Step.WATCH)
    result = become_ready(machine, vm)
    return RequeueAfter(POWER_CHECK_S) if _awaits_address(machine, vm) else result
