"""One machine during one reconcile: its claim, its hypervisor, and writes of its status."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from quarterdeck.apis.hypervisor.claim import (
    MachineClaim,
    Phase,
    PhaseTransition,
    TaskReference,
    VmReference,
)
from quarterdeck.kit import rfc3339
from quarterdeck.meta.objects import replace
from quarterdeck.operators.machines.connection import Connection
from quarterdeck.operators.machines.errors import Code, HypervisorError
from quarterdeck.operators.machines.machine import Owner, TaskInfo, TaskRef, TaskState, VMInfo
from quarterdeck.operators.machines.machinespec import build_owner
from quarterdeck.operators.machines.plan.claim import Step, compute_poll_s
from quarterdeck.operators.machines.ports import Hypervisor
from quarterdeck.operators.machines.sizes import compute_seconds_since
from quarterdeck.runtime import Context, RequeueAfter

R = TypeVar("R")
SOON = RequeueAfter(0.001)
"""Requeues for the next step at once, because our own status writes trigger no reconcile."""
_KEPT_TRANSITIONS = 16


class Machine:
    """A claim and its hypervisor; every call is counted in the claim's status."""

    def __init__(
        self,
        claim: MachineClaim,
        ctx: Context[MachineClaim],
        *,
        connection: Connection,
        operator_uid: str,
    ) -> None:
        self.claim = claim
        self.ctx = ctx
        self.connection = connection
        self.operator_uid = operator_uid

    @property
    def ref(self) -> VmReference:
        """Cluster, node and id of the VM; only use it once they have been chosen."""
        ref = self.claim.status.vm_ref
        assert ref is not None
        return ref

    @property
    def owner(self) -> Owner:
        """The owner that the VM must have."""
        return build_owner(self.claim, self.operator_uid)

    @property
    def untagged_owner(self) -> Owner:
        """The owner of a VM whose tags may not have been written yet."""
        return self.owner._replace(is_tagged=False)

    @property
    def age_s(self) -> float:
        """How long ago the claim was made."""
        return compute_seconds_since(self.claim.metadata.creation_timestamp, self.ctx.now()) or 0.0

    async def call(
        self, operation: str, work: Callable[[Hypervisor], Awaitable[R]], *, node: str = ""
    ) -> R:
        """Make one call to the hypervisor, and count it in the status."""
        self.ctx.status.set(calls=self.ctx.status.current.calls + 1)
        return await self.connection.call(operation, work, node=node)

    async def find_vm(self) -> VMInfo | None:
        """Read the VM; None if it does not exist."""
        vmid = self.ref.vm_id
        try:
            return await self.call("get_vm", lambda each: each.get_vm(vmid))
        except HypervisorError as error:
            if error.code is Code.NOT_FOUND:
                return None
            raise

    # --- status

    def enter(self, phase: Phase, step: Step | str = "") -> None:
        """Set phase and step; a change of phase resets the attempts."""
        status = self.ctx.status
        if status.current.phase != phase:
            moment = rfc3339.format_time(self.ctx.now())
            transitions = (
                *status.current.phase_transitions,
                PhaseTransition(phase=phase, time=moment),
            )
            status.set(
                phase=phase,
                attempts=0,
                retry_after="",
                phase_transitions=transitions[-_KEPT_TRANSITIONS:],
            )
            self.ctx.log.info("machine entered phase", phase=phase, step=str(step))
        status.set(step=str(step))

    def proceed(self, step: Step) -> RequeueAfter:
        """Set the next step, after the current one is done."""
        self.ctx.status.set(step=str(step), task_ref=None, retry_after="")
        return SOON

    def set_ref(self, **changes: object) -> None:
        """Change fields of the VM reference in the status."""
        ref = self.ctx.status.current.vm_ref
        self.ctx.status.set(vm_ref=msgspec.structs.replace(ref, **changes))
        self.claim = replace(self.claim, status=self.ctx.status.current)

    # --- tasks

    def track(self, task: TaskRef) -> RequeueAfter:
        """Record a task in the status, so that it is found again after a crash."""
        reference = TaskReference(
            id=task.id,
            node=task.node,
            operation=task.operation,
            started_at=rfc3339.format_time(self.ctx.now()),
        )
        self.ctx.status.set(task_ref=reference, retry_after="")
        return SOON

    async def poll(self) -> TaskInfo | None:
        """The state of the recorded task; None if the hypervisor has forgotten it."""
        reference = self.claim.status.task_ref
        assert reference is not None
        task = TaskRef(reference.id, reference.node, reference.operation)
        try:
            return await self.call("task_status", lambda each: each.task_status(task))
        except HypervisorError as error:
            if error.code is Code.TASK_UNKNOWN:
                return None
            raise

    def poll_again_s(self) -> float:
        """Seconds until the recorded task is polled again."""
        reference = self.claim.status.task_ref
        age_s = compute_seconds_since(reference.started_at, self.ctx.now()) if reference else None
        return compute_poll_s(age_s or 0.0)


def is_running(info: TaskInfo | None) -> bool:
    """Whether a task still runs."""
    return info is not None and info.state is TaskState.RUNNING


def format_cause(info: TaskInfo | None) -> str:
    """The message of a task as the end of an error text; empty if it has none."""
    return f": {info.message}" if info is not None and info.message else ""


def is_failed(info: TaskInfo | None) -> bool:
    """Whether a task is known to have failed; a forgotten one (None) is not."""
    return info is not None and info.state is TaskState.FAILED
