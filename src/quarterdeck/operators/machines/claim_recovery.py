"""Handles failed steps of a machine: fail, wait, choose another node, or try again."""

import random
from datetime import datetime, timedelta

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.kit import rfc3339
from quarterdeck.meta.conditions import FALSE
from quarterdeck.operators.machines.claim_failures import Failed
from quarterdeck.operators.machines.claim_steps import Recipe
from quarterdeck.operators.machines.conditions import (
    HEALTHY,
    READY,
    Reason,
)
from quarterdeck.operators.machines.errors import (
    Code,
    ConfigurationError,
    HypervisorError,
    PermanentError,
    ResourceError,
)
from quarterdeck.operators.machines.machine_context import Machine
from quarterdeck.operators.machines.metrics import MachineMetrics
from quarterdeck.operators.machines.plan.claim import (
    MOST_ATTEMPTS,
    Step,
    compute_backoff_s,
)
from quarterdeck.operators.machines.report import (
    report_condition,
    set_condition,
    set_provisioning,
)
from quarterdeck.operators.machines.sizes import compute_seconds_since
from quarterdeck.runtime import DONE, Context, RequeueAfter, Result, Waiting

_NO_ROOM_S = 30.0
_CONFIGURATION_S = 300.0
_CREDENTIALS = (Code.UNAUTHORIZED, Code.FORBIDDEN)


class Recovery:
    """Decides what follows from a failure, and writes it into the claim's status."""

    def __init__(self, *, rng: random.Random, metrics: MachineMetrics) -> None:
        self._rng = rng
        self._metrics = metrics

    def handle(self, machine: Machine, recipe: Recipe, error: HypervisorError) -> Result:
        """Choose by the class of the error: wait, place again, await a user, or count a retry."""
        match error:
            case ResourceError() if machine.claim.status.phase in (None, "Pending"):
                raise Waiting(Reason.INSUFFICIENT_CAPACITY, str(error), after_s=_NO_ROOM_S)
            case ResourceError():
                return self._place_elsewhere(machine, recipe, error)
            case PermanentError():
                return self.retry(machine, Reason.CALL_FAILED, str(error))
            case ConfigurationError():
                return self._await_change(machine, error)
            case _:
                return self._postpone(machine, error)

    def _place_elsewhere(self, machine: Machine, recipe: Recipe, error: HypervisorError) -> Result:
        """Choose node and id again if nothing was cloned to the full node; else count a retry."""
        if machine.claim.status.step == Step.CLONE:
            recipe.allocations.drop(machine.claim.metadata.uid)
            machine.ctx.status.set(vm_ref=None, task_ref=None)
            machine.enter("Pending")
            set_provisioning(machine.ctx, FALSE, Reason.INSUFFICIENT_CAPACITY, str(error))
            return RequeueAfter(_NO_ROOM_S * self._rng.uniform(0.1, 1.0))
        return self.retry(machine, Reason.INSUFFICIENT_CAPACITY, str(error))

    def _await_change(self, machine: Machine, error: HypervisorError) -> Result:
        """Wait until a user changes something; a change of the cluster enqueues the claim at once.

        A ready machine stays ready: it runs even if the hypervisor refuses our calls.
        """
        text, cluster = str(error), machine.connection.cluster
        if error.code in _CREDENTIALS:
            text = f"{text}; check the credentials of HypervisorCluster {cluster}"
        machine.ctx.log.warning("hypervisor call failed", detail=text, retry_s=_CONFIGURATION_S)
        if machine.ctx.status.current.phase != "Ready":
            self._report_setback(machine, text)
            machine.ctx.event(Reason.CALL_FAILED, text, warning=True)
        return RequeueAfter(_CONFIGURATION_S)

    def _report_setback(self, machine: Machine, text: str) -> None:
        """Report in a condition why a machine that is being made makes no progress."""
        if machine.ctx.status.current.phase == "Bootstrapping":
            set_condition(machine.ctx, READY, FALSE, Reason.CALL_FAILED, text)
        else:
            set_provisioning(machine.ctx, FALSE, Reason.CALL_FAILED, text)

    def _postpone(self, machine: Machine, error: HypervisorError) -> Result:
        """Try again after a delay; a transient failure does not count as an attempt."""
        status = machine.ctx.status
        waits = min(30, int(machine.ctx.attempt) + _count_postponed(machine))
        delay = error.retry_after_s or compute_backoff_s(waits, self._rng, cap_s=60.0)
        later = rfc3339.format_micro(_add_seconds(machine.ctx, delay))
        status.set(retry_after=later)
        machine.ctx.log.warning("hypervisor call failed", detail=str(error), retry_s=delay)
        if status.current.phase != "Ready":
            self._report_setback(machine, str(error))
        return RequeueAfter(delay)

    def retry(self, machine: Machine, reason: Reason, message: str) -> Result:
        """Count a failed attempt; the claim fails after `MOST_ATTEMPTS`."""
        attempts = machine.ctx.status.current.attempts + 1
        if attempts >= MOST_ATTEMPTS:
            text = f"failed after {attempts} attempts: {message}"
            return self.fail(machine, Failed(Reason.PROVISION_FAILED, text))
        delay = compute_backoff_s(attempts, self._rng)
        machine.ctx.status.set(
            attempts=attempts,
            task_ref=None,
            retry_after=rfc3339.format_micro(_add_seconds(machine.ctx, delay)),
        )
        if machine.ctx.status.current.phase == "Provisioning":
            set_provisioning(machine.ctx, FALSE, reason, message)
        machine.ctx.event(reason, message, warning=True)
        return RequeueAfter(delay)

    def fail(self, machine: Machine, error: Failed) -> Result:
        """Set the phase Failed; the fleet, the pool or a user decides what follows."""
        ctx = machine.ctx
        machine.enter("Failed")
        ctx.status.set(failure_reason=str(error.reason), failure_message=error.message)
        set_condition(ctx, HEALTHY, FALSE, error.reason, error.message)
        report_condition(ctx, READY, FALSE, error.reason, error.message)
        self._metrics.record_provisioning(
            machine.claim,
            machine.connection.cluster,
            result=str(error.reason),
            took_s=machine.age_s,
        )
        return DONE


def _count_postponed(machine: Machine) -> int:
    """Estimate how often calls were postponed in a row, from the age of the phase."""
    since = machine.claim.status.phase_transitions
    age_s = compute_seconds_since(since[-1].time, machine.ctx.now()) if since else 0.0
    return max(0, int(age_s or 0.0).bit_length() - 1)


def _add_seconds(ctx: Context[MachineClaim], seconds: float) -> datetime:
    return ctx.now() + timedelta(seconds=seconds)
