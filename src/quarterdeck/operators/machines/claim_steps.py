"""The steps that make a machine, up to the start of its VM; each is safe to repeat."""

from typing import Any, NamedTuple

from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit import duration
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.allocations import Allocations
from quarterdeck.operators.machines.claim_booting import become_ready
from quarterdeck.operators.machines.claim_failures import Failed, Retry
from quarterdeck.operators.machines.cloudinit import InvalidCloudInit, build_seed, needs_seed
from quarterdeck.operators.machines.conditions import (
    POWERED_ON,
    PROVISIONING,
    READY,
    VM_CREATED,
    Reason,
)
from quarterdeck.operators.machines.errors import (
    Code,
    ConfigurationError,
    HypervisorError,
    PermanentError,
)
from quarterdeck.operators.machines.invitation import (
    Inviter,
    ServiceMissing,
    build_document,
    needs_token,
)
from quarterdeck.operators.machines.machine import Owner, PowerAction, TaskRef
from quarterdeck.operators.machines.machine_context import (
    SOON,
    Machine,
    format_cause,
    is_failed,
    is_running,
)
from quarterdeck.operators.machines.machinespec import build_vm_spec
from quarterdeck.operators.machines.plan.claim import (
    Step,
    Verdict,
    assess_vm,
)
from quarterdeck.operators.machines.report import report_condition, set_condition
from quarterdeck.operators.machines.template import get_template_version, is_linked, read_template
from quarterdeck.runtime import RequeueAfter, Result, Waiting

_LOCK_S = 1.0
_SERVICE_S = 5.0
_TOKEN_S = 3600.0


class Recipe(NamedTuple):
    """The inputs of the steps besides the claim."""

    template: HypervisorMachineTemplate
    cluster: HypervisorCluster
    allocations: Allocations
    inviter: Inviter | None = None


async def clone(machine: Machine, recipe: Recipe) -> RequeueAfter:
    """Clone the template, or find the clone that an earlier attempt has made."""
    if machine.claim.status.task_ref is not None:
        return await _await_clone(machine, recipe)
    ref, template = machine.ref, recipe.template
    info = machine.connection.get_cached_template(get_template_version(template))
    if info is None:
        info = await read_template(machine.connection, template)
        machine.connection.cache_template(get_template_version(template), info)
    spec = build_vm_spec(machine.claim, template, recipe.cluster)
    found, owner = info, machine.untagged_owner._replace(inherited_tags=info.tags)
    try:
        task = await machine.call(
            "clone_vm",
            lambda each: each.clone_vm(
                found,
                spec,
                vmid=ref.vm_id,
                node=ref.node,
                linked=is_linked(template),
                owner=owner,
            ),
            node=ref.node,
        )
    except PermanentError as error:
        if error.code is not Code.ALREADY_EXISTS:
            raise
        return await _check_taken_id(machine, recipe)
    return machine.track(task) if task is not None else _finish_clone(machine, recipe)


async def _await_clone(machine: Machine, recipe: Recipe) -> RequeueAfter:
    info = await machine.poll()
    if is_running(info):
        return RequeueAfter(machine.poll_again_s())
    if info is None:
        machine.ctx.status.set(task_ref=None)
        return await _find_earlier_clone(machine, recipe)
    if is_failed(info):
        machine.proceed(Step.DISCARD)
        raise Retry(Reason.CLONE_FAILED, f"cloning failed: {info.message}")
    return _finish_clone(machine, recipe)


async def _check_taken_id(machine: Machine, recipe: Recipe) -> RequeueAfter:
    """Continue with the VM that has the id if it is ours, else choose another id."""
    try:
        return await _find_earlier_clone(machine, recipe)
    except ConfigurationError as error:
        if error.code is not Code.FORBIDDEN:
            raise
        return release_id(machine, recipe.allocations)  # we may read what we have made


async def _find_earlier_clone(machine: Machine, recipe: Recipe) -> RequeueAfter:
    """Continue with the clone of an earlier attempt, if the VM with the id is ours.

    Called when the id is taken, or when the hypervisor has forgotten the task.
    """
    vm = await machine.find_vm()
    match assess_vm(vm, machine.untagged_owner):
        case Verdict.MISSING:
            return machine.proceed(Step.CLONE)
        case Verdict.LOCKED | Verdict.UNKNOWN:
            return RequeueAfter(_LOCK_S)
        case Verdict.FOREIGN:
            return release_id(machine, recipe.allocations)
        case _:
            return _finish_clone(machine, recipe)


def release_id(machine: Machine, allocations: Allocations) -> RequeueAfter:
    """Give up the id, because a VM of another owner has it; a new one is chosen next."""
    text = f"VM {machine.ref.vm_id} belongs to another owner; another id is chosen"
    machine.ctx.event(Reason.ID_TAKEN, text, warning=True)
    allocations.drop(machine.claim.metadata.uid)
    machine.ctx.status.set(vm_ref=None, task_ref=None)
    machine.enter("Pending")
    return SOON


def _finish_clone(machine: Machine, recipe: Recipe) -> RequeueAfter:
    recipe.allocations.mark_seen(machine.claim.metadata.uid, machine.ctx.clock.monotonic())
    text = f"VM {machine.ref.vm_id} exists on node {machine.ref.node}"
    set_condition(machine.ctx, VM_CREATED, TRUE, Reason.PROVISIONED, text)
    return machine.proceed(Step.CONFIGURE)


async def discard(machine: Machine, recipe: Recipe) -> RequeueAfter:
    """Remove the remains of a failed clone; a VM of another owner stays."""
    if machine.claim.status.task_ref is not None:
        if is_running(await machine.poll()):
            return RequeueAfter(machine.poll_again_s())
        machine.ctx.status.set(task_ref=None)
    vm = await machine.find_vm()
    match assess_vm(vm, machine.untagged_owner):
        case Verdict.MISSING:
            return machine.proceed(Step.CLONE)
        case Verdict.FOREIGN:
            return release_id(machine, recipe.allocations)
        case Verdict.LOCKED | Verdict.UNKNOWN:
            return RequeueAfter(_LOCK_S)
        case Verdict.RUNNING:
            task = await _change_power(machine, PowerAction.OFF)
        case _:
            vmid, owner = machine.ref.vm_id, machine.untagged_owner
            task = await machine.call(
                "delete_vm",
                lambda each: each.delete_vm(vmid, owner=owner),
                node=machine.ref.node,
            )
    return machine.track(task) if task is not None else SOON


async def configure(machine: Machine, recipe: Recipe) -> RequeueAfter:
    """Set sizes and network, and write the tags that identify the owner of the VM."""
    if machine.claim.status.task_ref is not None:
        info = await machine.poll()
        if is_running(info):
            return RequeueAfter(machine.poll_again_s())
        machine.ctx.status.set(task_ref=None)
        if is_failed(info):
            raise Retry(Reason.CALL_FAILED, f"configuring failed{format_cause(info)}")
        if info is not None:
            return _finish_configuration(machine, recipe)
    ref, owner = machine.ref, machine.untagged_owner
    if ref.adopted:
        await _tag_adopted_vm(machine, owner)
        return _finish_configuration(machine, recipe)
    spec = build_vm_spec(machine.claim, recipe.template, recipe.cluster)
    try:
        task = await machine.call(
            "configure_vm",
            lambda each: each.configure_vm(ref.vm_id, spec, owner=owner),
            node=ref.node,
        )
    except HypervisorError as error:
        return _handle_lost_vm(machine, recipe, error)
    return machine.track(task) if task is not None else _finish_configuration(machine, recipe)


async def _tag_adopted_vm(machine: Machine, owner: Owner) -> None:
    """Add our tags and owner to an adopted VM; its own tags and description stay."""
    vm = await machine.find_vm()
    found = ownership.read_owner(vm) if vm is not None else None
    if vm is None or (found is not None and found.claim_uid != owner.claim_uid):
        whose = f"belongs to claim {found.claim}" if found is not None else "is gone"
        text = f"VM {machine.ref.vm_id} cannot be adopted: it {whose}"
        raise Failed(Reason.ADOPTION_REFUSED, text)
    tags = tuple(dict.fromkeys((*ownership.build_owner_tags(owner), *vm.tags)))
    text = ownership.add_owner(vm.description, owner)
    await machine.call(
        "tag_vm",
        lambda each: each.tag_vm(vm.id, tags=tags, description=text, owner=None),
        node=machine.ref.node,
    )


def _finish_configuration(machine: Machine, recipe: Recipe) -> RequeueAfter:
    machine.set_ref(configured=True)
    has_seed = needs_seed(recipe.template, machine.claim) and not machine.ref.adopted
    return machine.proceed(Step.SEED if has_seed else Step.START)


def _handle_lost_vm(machine: Machine, recipe: Recipe, error: HypervisorError) -> RequeueAfter:
    """Clone again if the VM was deleted, choose another id if it has another owner, else raise."""
    if error.code is Code.NOT_FOUND:
        machine.ctx.status.set(task_ref=None, step=str(Step.CLONE))
        raise Retry(
            Reason.VM_MISSING, f"VM {machine.ref.vm_id} was deleted by someone else"
        ) from error
    if error.code is Code.OWNERSHIP_MISMATCH:
        return release_id(machine, recipe.allocations)
    raise error


async def seed(machine: Machine, recipe: Recipe) -> RequeueAfter:
    """Attach the cloud-init documents that the machine reads at its first start."""
    try:
        more = await _invite(machine, recipe)
        data = build_seed(machine.claim, recipe.template, recipe.cluster, more=more)
    except InvalidCloudInit as error:
        raise Failed(Reason.TEMPLATE_INVALID, str(error)) from error
    ref, owner = machine.ref, machine.owner
    try:
        await machine.call(
            "inject_cloud_init",
            lambda each: each.inject_cloud_init(ref.vm_id, data, owner=owner),
            node=ref.node,
        )
    except HypervisorError as error:
        return _handle_lost_vm(machine, recipe, error)
    return machine.proceed(Step.START)


async def _invite(machine: Machine, recipe: Recipe) -> dict[str, Any]:
    """Build the cloud-init part for the agent; empty without attestation or bootstrap service."""
    attestation = recipe.template.spec.attestation
    if attestation is None or recipe.inviter is None:
        return {}
    config = attestation.config
    lifetime_s = duration.parse_seconds(config.join_token_ttl) if config is not None else _TOKEN_S
    try:
        invitation = await recipe.inviter.invite(
            machine.claim, needs_token=needs_token(attestation.method), lifetime_s=lifetime_s
        )
    except ServiceMissing as error:
        text = str(error)
        raise Waiting(Reason.BOOTSTRAP_SERVICE_MISSING, text, after_s=_SERVICE_S) from error
    return build_document(machine.claim, recipe.template, invitation)


async def start(machine: Machine, recipe: Recipe) -> Result:
    """Start the VM; after a failed task its power state decides, because it may run anyway."""
    if machine.claim.spec.power_state == "Off":
        return become_ready(machine, None)
    if machine.claim.status.task_ref is not None:
        info = await machine.poll()
        if is_running(info):
            return RequeueAfter(machine.poll_again_s())
        machine.ctx.status.set(task_ref=None)
        if info is not None and not is_failed(info):
            return _finish_start(machine)
        verdict = assess_vm(await machine.find_vm(), machine.owner)
        if verdict is Verdict.RUNNING:
            return _finish_start(machine)
        raise Retry(Reason.STARTING, f"the VM is {verdict} after its start{format_cause(info)}")
    try:
        task = await _change_power(machine, PowerAction.ON)
    except HypervisorError as error:
        return _handle_lost_vm(machine, recipe, error)
    return machine.track(task) if task is not None else _finish_start(machine)


async def _change_power(machine: Machine, action: PowerAction) -> TaskRef | None:
    ref, owner = machine.ref, machine.owner
    return await machine.call(
        "power", lambda each: each.power(ref.vm_id, action, owner=owner), node=ref.node
    )


def _finish_start(machine: Machine) -> RequeueAfter:
    ref = machine.ref
    text = f"VM {ref.vm_id} runs on node {ref.node}"
    report_condition(machine.ctx, POWERED_ON, TRUE, Reason.STARTED, text)
    set_condition(machine.ctx, PROVISIONING, FALSE, Reason.PROVISIONED, text)
    set_condition(machine.ctx, READY, FALSE, Reason.BOOTING, "the VM boots")
    machine.ctx.status.set(task_ref=None)
    machine.enter("Bootstrapping", Step.AWAIT_BOOT)
    return SOON
