"""Conditions of a claim while its machine is being made."""

from quarterdeck.meta.conditions import FALSE, TRUE, find
from quarterdeck.operators.machines.conditions import READY, Reason
from quarterdeck.operators.machines.machine_context import Machine
from quarterdeck.operators.machines.plan.claim import Step
from quarterdeck.operators.machines.report import set_condition, set_provisioning

_REASONS = {
    Step.CLONE: Reason.CLONING,
    Step.DISCARD: Reason.CLONING,
    Step.CONFIGURE: Reason.CONFIGURING,
    Step.SEED: Reason.SEEDING,
    Step.START: Reason.STARTING,
}
"""The reason in the condition Provisioning, by the step that is due."""
_SETBACKS = (Reason.CALL_FAILED, Reason.CLUSTER_NOT_READY, Reason.TEMPLATE_NOT_FOUND)
"""Reasons in the condition Ready that are over when a step succeeds."""


def report_step(machine: Machine) -> None:
    """Report the step that is due; clears the failure that an earlier attempt reported."""
    ctx, status = machine.ctx, machine.ctx.status.current
    if status.phase == "Provisioning" and status.step and status.vm_ref is not None:
        text = f"VM {status.vm_ref.vm_id} on node {status.vm_ref.node}"
        set_provisioning(ctx, TRUE, _REASONS[Step(status.step)], text)
    elif status.phase == "Bootstrapping":
        ready = find(status.conditions, READY)
        if ready is not None and ready.reason in _SETBACKS:
            set_condition(ctx, READY, FALSE, Reason.BOOTING, "the VM boots")
