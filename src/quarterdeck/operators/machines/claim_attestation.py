"""The attestation of a machine: conditions derived from what the bootstrap service wrote.

The service writes `status.attestation` and `status.bootstrapInfo`, the operator the conditions.
"""

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.operators.machines.claim_booting import BOOT_POLL_S, await_boot
from quarterdeck.operators.machines.claim_failures import Failed
from quarterdeck.operators.machines.claim_steps import Recipe
from quarterdeck.operators.machines.conditions import (
    ATTESTATION_REFUSED,
    ATTESTED,
    BOOTSTRAPPED,
    JOINED,
    READY,
    Reason,
)
from quarterdeck.operators.machines.invitation import needs_token
from quarterdeck.operators.machines.machine_context import Machine
from quarterdeck.operators.machines.plan.claim import HEARTBEAT_CHECK_S
from quarterdeck.operators.machines.report import report_condition, set_condition
from quarterdeck.runtime import DONE, Context, RequeueAfter, Result

_JOINED = ("Ready", "Busy", "Idle", "JobCompleted")


def omit_service_fields(claim: MachineClaim, ctx: Context[MachineClaim]) -> None:
    """Leave the service's fields out of the status we apply: a stale copy would overwrite them."""
    status = claim.status
    theirs = (status.attestation, status.attestation_refusal, status.job)
    if any(theirs) or status.bootstrap_info or status.last_heartbeat:
        ctx.status.set(
            attestation=None,
            attestation_refusal=None,
            bootstrap_info="",
            job=None,
            last_heartbeat="",
        )


def report_refusal(claim: MachineClaim, ctx: Context[MachineClaim]) -> None:
    """Report a refused attestation; after a successful one it may mean a stolen token."""
    refusal, attestation = claim.status.attestation_refusal, claim.status.attestation
    if refusal is None:
        return
    text = f"{refusal.reason} at {refusal.time}: {refusal.message}"
    report_condition(ctx, ATTESTATION_REFUSED, TRUE, Reason.ATTESTATION_FAILED, text, warning=True)
    if attestation is None:
        set_condition(ctx, ATTESTED, FALSE, Reason.ATTESTATION_FAILED, text)


async def await_attestation(machine: Machine, recipe: Recipe) -> Result:
    """Wait for the attestation, then for the agent to report ready, then as `await_boot` does.

    Raises:
        Failed: if the agent reports a failure.
    """
    if recipe.inviter is None or recipe.template.spec.attestation is None:
        return _report_missing(machine)
    attestation, info = machine.claim.status.attestation, machine.claim.status.bootstrap_info
    phase, _, detail = info.partition(": ")
    if phase == "Failed":
        raise Failed(Reason.BOOTSTRAP_FAILED, f"the agent reports: {detail or 'no detail'}")
    if attestation is None:
        method = recipe.template.spec.attestation.method
        return _hold(machine, ATTESTED, *_explain_absence(machine, method))
    if _is_new(machine):
        await _remove_token(machine, recipe)
        text = f"by {attestation.method}, as {attestation.spiffe_id}"
        report_condition(machine.ctx, ATTESTED, TRUE, Reason.ATTESTED, text)
    if phase not in _JOINED:
        text = "the machine is attested; its agent has not reported ready yet"
        return _hold(machine, JOINED, Reason.AWAITING_AGENT, text)
    report_condition(machine.ctx, JOINED, TRUE, Reason.JOINED, f"the agent reports {phase}")
    result = await await_boot(machine, recipe.template)
    if machine.ctx.status.current.phase == "Ready":
        text = "attested, and the agent is ready"
        set_condition(machine.ctx, BOOTSTRAPPED, TRUE, Reason.MACHINE_READY, text)
        return RequeueAfter(HEARTBEAT_CHECK_S)
    return result


def _explain_absence(machine: Machine, method: str) -> tuple[Reason, str]:
    refusal = machine.claim.status.attestation_refusal
    if refusal is None:
        text = f"waiting for the machine to attest itself to the bootstrap service by {method}"
        return Reason.AWAITING_ATTESTATION, text
    text = f"the bootstrap service rejected the attestation: {refusal.reason}: {refusal.message}"
    return Reason.ATTESTATION_FAILED, text


def _is_new(machine: Machine) -> bool:
    before = machine.ctx.status.get_transition(ATTESTED)[0]
    return before is None or before.status != TRUE


async def _remove_token(machine: Machine, recipe: Recipe) -> None:
    """Detach and delete the seed with the join token: it is used, and nothing needs it any more."""
    attestation = recipe.template.spec.attestation
    if attestation is None or not needs_token(attestation.method):
        return
    ref, owner = machine.ref, machine.owner
    await machine.call(
        "detach_cloud_init",
        lambda each: each.detach_cloud_init(ref.vm_id, owner=owner),
        node=ref.node,
    )


def _hold(machine: Machine, condition: str, reason: Reason, text: str) -> RequeueAfter:
    set_condition(machine.ctx, condition, FALSE, reason, text)
    set_condition(machine.ctx, BOOTSTRAPPED, FALSE, reason, text)
    set_condition(machine.ctx, READY, FALSE, reason, text)
    return RequeueAfter(BOOT_POLL_S)


def _report_missing(machine: Machine) -> Result:
    text = (
        "the template requires the bootstrap service, which is not configured: start "
        "quarterdeck bootstrap"
    )
    reason = Reason.BOOTSTRAP_SERVICE_MISSING
    report_condition(machine.ctx, BOOTSTRAPPED, FALSE, reason, text, warning=True)
    set_condition(machine.ctx, READY, FALSE, reason, text)
    return DONE
