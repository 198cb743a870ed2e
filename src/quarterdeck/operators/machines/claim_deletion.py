"""The deletion of a MachineClaim: drain, stop, destroy, verify. The VM is removed before the claim.

A VM that is not ours stays. A VM that is gone counts as removed. A failure keeps the finalizer;
the annotation `hyperfleet.io/force-delete` deletes the claim without its VM.
"""

from typing import NoReturn

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.names import FORCE_DELETE, PRE_DRAIN_PREFIX, PREFIX
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.claim import Shared
from quarterdeck.operators.machines.claim_attestation import omit_service_fields
from quarterdeck.operators.machines.conditions import DRAINED, READY, VM_CLEANED_UP, Reason
from quarterdeck.operators.machines.errors import Code, HypervisorError
from quarterdeck.operators.machines.jobs import find_job
from quarterdeck.operators.machines.machine import PowerAction, TaskRef, VMInfo
from quarterdeck.operators.machines.machine_context import Machine, is_running
from quarterdeck.operators.machines.plan.claim import (
    CLEANUP_BACKOFF_S,
    DeleteAction,
    Step,
    Verdict,
    assess_vm,
    compute_backoff_s,
    compute_left_s,
    find_entry_time,
    plan_deletion,
    plan_drain,
)
from quarterdeck.operators.machines.references import parse_key
from quarterdeck.operators.machines.report import report_condition, set_condition
from quarterdeck.operators.machines.sizes import parse_seconds
from quarterdeck.runtime import Context, Waiting

KILL_JOB = f"{PREFIX}/kill-job"
"""Annotation that a pool sets on a runner whose job took too long."""
GRACE_S = 60.0
"""How long a guest may take to shut down."""
_SOON_S = 0.001
_LOCK_S = 2.0
_CHECK_INTERVAL_S = 30.0


class Deletion:
    """Runs as the finalizer of MachineClaims: removes the VM step by step."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    async def run(self, claim: MachineClaim, ctx: Context[MachineClaim]) -> None:
        """Return when the VM is gone or was never there; else raise `Waiting` after one step."""
        omit_service_fields(claim, ctx)
        ref = claim.status.vm_ref
        self._shared.expected_machines.put(claim)
        if ref is None:
            return
        if claim.metadata.annotations.get(FORCE_DELETE) == "true":
            text = f"VM {ref.vm_id} on {ref.hypervisor_cluster} was not checked"
            ctx.event(Reason.FORCE_DELETED, text, warning=True)
            self._forget(claim)
            return
        connection = self._shared.connections.find(parse_key(ref.hypervisor_cluster))
        if connection is None:
            text = (
                f"HypervisorCluster {ref.hypervisor_cluster} is not connected; "
                f"annotation {FORCE_DELETE} removes the claim without its VM"
            )
            set_condition(ctx, VM_CLEANED_UP, FALSE, Reason.CLUSTER_NOT_READY, text)
            raise Waiting(Reason.CLUSTER_NOT_READY, text, after_s=_LOCK_S)
        machine = Machine(
            claim, ctx, connection=connection, operator_uid=self._shared.operator_uid()
        )
        try:
            await self._step(machine)
        except HypervisorError as error:
            raise self._postpone(machine, error) from error
        self._forget(claim)

    def _forget(self, claim: MachineClaim) -> None:
        ref = claim.status.vm_ref
        if ref is not None:
            key = parse_key(ref.hypervisor_cluster)
            self._shared.connections.allocations(key).drop(claim.metadata.uid)

    async def _step(self, machine: Machine) -> None:
        claim = machine.claim
        if claim.status.phase not in ("Draining", "Terminating"):
            machine.enter("Draining", Step.DRAIN)
            report_condition(
                machine.ctx, DRAINED, FALSE, Reason.DRAINING, "no new work", warning=False
            )
            set_condition(machine.ctx, READY, FALSE, Reason.DRAINING, "the claim is deleted")
            raise Waiting(Reason.DRAINING, "draining", after_s=_SOON_S)
        if claim.status.phase == "Draining":
            await self._drain(machine)
        await self._terminate(machine)

    async def _drain(self, machine: Machine) -> None:
        claim, ctx = machine.claim, machine.ctx
        hooks = tuple(
            name for name in sorted(claim.metadata.annotations) if name.startswith(PRE_DRAIN_PREFIX)
        )
        job = await find_job(claim, ctx)
        may_kill = claim.metadata.annotations.get(KILL_JOB) == "true"
        drain = plan_drain(claim, ctx.now(), hooks=hooks, busy=job, may_kill=may_kill)
        if drain.reason:
            set_condition(ctx, DRAINED, FALSE, Reason.DRAINING, drain.reason)
            wait_s = compute_left_s(claim, claim.spec.timeouts.drain, ctx.now())
            after_s = min(_CHECK_INTERVAL_S, max(1.0, wait_s)) if wait_s > 0 else _CHECK_INTERVAL_S
            raise Waiting(Reason.DRAINING, drain.reason, after_s=after_s)
        reason = Reason.DRAIN_TIMEOUT if drain.is_forced else Reason.DRAINED
        message = "the drain timeout is over" if drain.is_forced else "no work is left"
        report_condition(ctx, DRAINED, TRUE, reason, message, warning=drain.is_forced)
        machine.enter("Terminating", Step.INSPECT)
        raise Waiting(Reason.TERMINATING, "terminating", after_s=_SOON_S)

    async def _terminate(self, machine: Machine) -> None:
        """Do one step of the removal; returns when the VM is gone or is to stay."""
        if machine.claim.status.task_ref is not None:
            await self._await_task(machine)
        step = machine.claim.status.step
        if step == Step.DESTROY:
            await self._destroy(machine)
        if step == Step.POWER_DOWN:
            await self._power_down(machine)
        vm = await machine.find_vm()
        verdict = assess_vm(vm, machine.owner)
        was_asked = step in (Step.SHUTDOWN, Step.STOP)
        if machine.claim.spec.deletion_policy == "Retain" and vm is not None:
            if verdict not in (Verdict.MISSING, Verdict.FOREIGN):
                await self._release(machine, vm)
            return
        if verdict in (Verdict.RUNNING, Verdict.STOPPED) and not was_asked:
            await self._await_job(machine)
        action = plan_deletion(verdict, was_asked=was_asked)
        match action:
            case DeleteAction.DONE:
                self._finish(machine)
            case DeleteAction.LEAVE:
                self._leave(machine, vm)
            case DeleteAction.WAIT:
                raise self._hold(machine, _explain_wait(machine, vm))
            case DeleteAction.POWER_DOWN:
                machine.ctx.status.set(step=str(Step.POWER_DOWN))
                raise Waiting(Reason.TERMINATING, str(Step.POWER_DOWN), after_s=_SOON_S)
            case DeleteAction.STOP:
                await self._change_power(machine, PowerAction.OFF, Step.STOP)
            case DeleteAction.DESTROY:
                await self._destroy(machine)

    async def _await_job(self, machine: Machine) -> None:
        """Wait for a job that the runner was given after it was drained. Raises `Waiting`."""
        claim, ctx = machine.claim, machine.ctx
        job = await find_job(claim, ctx)
        if job and claim.metadata.annotations.get(KILL_JOB) != "true":
            text = f"job {job} is running"
            set_condition(ctx, DRAINED, FALSE, Reason.DRAINING, text)
            raise Waiting(Reason.DRAINING, text, after_s=_CHECK_INTERVAL_S)

    async def _power_down(self, machine: Machine) -> NoReturn:
        """Ask the guest of a machine that was ready to shut down; switch other VMs off at once."""
        may_ask = machine.claim.status.ready_since != "" and not self._is_late(machine)
        action = PowerAction.SHUTDOWN if may_ask else PowerAction.OFF
        try:
            await self._change_power(machine, action, Step.SHUTDOWN if may_ask else Step.STOP)
        except HypervisorError as error:
            if error.code not in (Code.NOT_FOUND, Code.OWNERSHIP_MISMATCH):
                raise
            machine.ctx.status.set(step=str(Step.INSPECT))
            raise Waiting(Reason.TERMINATING, str(error), after_s=_SOON_S) from error

    async def _await_task(self, machine: Machine) -> NoReturn:
        """Wait for the task in the status; a shutdown that takes too long becomes a stop."""
        info = await machine.poll()
        step = machine.claim.status.step
        if is_running(info):
            if step == Step.SHUTDOWN and self._is_late(machine):
                await self._change_power(machine, PowerAction.OFF, Step.STOP)
            raise Waiting(Reason.TERMINATING, "a task is running", after_s=machine.poll_again_s())
        machine.ctx.status.set(task_ref=None)
        is_ok = info is not None and info.state == "ok"
        if is_ok and step in (Step.SHUTDOWN, Step.STOP):
            machine.ctx.status.set(step=str(Step.DESTROY))
        else:
            machine.ctx.status.set(step=str(Step.INSPECT))
        if step == Step.DESTROY and not is_ok:
            text = info.message if info is not None else "the hypervisor no longer knows the task"
            text = f"removing VM {machine.ref.vm_id} failed: {text}"
            raise self._report_failure(machine, text, after_s=self._count_attempt(machine))
        raise Waiting(Reason.TERMINATING, "the task has ended", after_s=_SOON_S)

    def _is_late(self, machine: Machine) -> bool:
        since = find_entry_time(machine.claim)
        return since is not None and (machine.ctx.now() - since).total_seconds() > GRACE_S

    async def _change_power(self, machine: Machine, action: PowerAction, step: Step) -> NoReturn:
        ref, owner = machine.ref, machine.owner
        task = await machine.call(
            "power", lambda each: each.power(ref.vm_id, action, owner=owner), node=ref.node
        )
        self._wait_for_task(machine, task, step)

    async def _destroy(self, machine: Machine) -> NoReturn:
        ref, owner = machine.ref, machine.owner
        try:
            task = await machine.call(
                "delete_vm", lambda each: each.delete_vm(ref.vm_id, owner=owner), node=ref.node
            )
        except HypervisorError as error:
            if error.code not in (Code.RUNNING, Code.OWNERSHIP_MISMATCH, Code.LOCKED):
                raise
            machine.ctx.status.set(step=str(Step.INSPECT))
            raise self._hold(machine, str(error)) from error
        if task is None:
            machine.ctx.status.set(step=str(Step.VERIFY))
            raise Waiting(Reason.TERMINATING, "the VM is gone", after_s=_SOON_S)
        self._wait_for_task(machine, task, Step.DESTROY)

    def _wait_for_task(self, machine: Machine, task: TaskRef | None, step: Step) -> NoReturn:
        """Record a step and its task, and end the reconcile. Raises `Waiting`."""
        machine.ctx.status.set(step=str(step))
        if task is not None:
            machine.track(task)
        raise Waiting(Reason.TERMINATING, str(step), after_s=_SOON_S)

    async def _release(self, machine: Machine, vm: VMInfo) -> None:
        """Remove our tags and owner from a retained VM, so that it does not count as an orphan."""
        ref, owner = machine.ref, machine.owner
        tags, text = ownership.build_released(vm, owner)
        await machine.call(
            "tag_vm",
            lambda each: each.tag_vm(ref.vm_id, tags=tags, description=text, owner=owner),
            node=ref.node,
        )
        machine.ctx.event(
            Reason.RELEASED, f"VM {ref.vm_id} is kept because spec.deletionPolicy is Retain"
        )

    def _finish(self, machine: Machine) -> None:
        text = f"VM {machine.ref.vm_id} is gone"
        machine.ctx.event(Reason.CLEANED_UP, text)
        self._shared.metrics.record_deletion(machine.connection.cluster, "claim")

    def _leave(self, machine: Machine, vm: VMInfo | None) -> None:
        name = vm.name if vm is not None else ""
        text = f"VM {machine.ref.vm_id} ({name}) no longer belongs to this claim; it is not deleted"
        machine.ctx.event(Reason.VM_NOT_OWNED, text, warning=True)

    def _postpone(self, machine: Machine, error: HypervisorError) -> Waiting:
        delay = error.retry_after_s or self._count_attempt(machine)
        return self._report_failure(machine, str(error), after_s=delay)

    def _report_failure(self, machine: Machine, message: str, *, after_s: float) -> Waiting:
        text = _add_force_delete_hint(machine, message)
        report_condition(machine.ctx, VM_CLEANED_UP, FALSE, Reason.CLEANUP_FAILED, text)
        return Waiting(Reason.CLEANUP_FAILED, text, after_s=after_s)

    def _hold(self, machine: Machine, message: str) -> Waiting:
        """Report a wait that ends by itself, such as for a backup; returns the error to raise."""
        text = _add_force_delete_hint(machine, message)
        set_condition(machine.ctx, VM_CLEANED_UP, FALSE, Reason.TERMINATING, text)
        return Waiting(Reason.TERMINATING, text, after_s=_LOCK_S)

    def _count_attempt(self, machine: Machine) -> float:
        """Count a failed attempt; returns the seconds until the next one."""
        attempts = machine.ctx.status.current.attempts + 1
        machine.ctx.status.set(attempts=attempts)
        return compute_backoff_s(attempts, self._shared.rng, cap_s=CLEANUP_BACKOFF_S)


def _explain_wait(machine: Machine, vm: VMInfo | None) -> str:
    """Why a VM cannot be removed yet."""
    vmid, node = machine.ref.vm_id, machine.ref.node
    if vm is not None and vm.lock:
        return f"VM {vmid} on node {node} is locked ({vm.lock}); it is removed when it is unlocked"
    return f"node {node} does not answer; VM {vmid} is removed when it does"


def _add_force_delete_hint(machine: Machine, text: str) -> str:
    """After `spec.timeouts.delete`, add to a message how to delete the claim without its VM."""
    since = find_entry_time(machine.claim)
    late_s = (machine.ctx.now() - since).total_seconds() if since is not None else 0.0
    if late_s <= parse_seconds(machine.claim.spec.timeouts.delete):
        return text
    return f"{text}; annotation {FORCE_DELETE} removes the claim without its VM"
