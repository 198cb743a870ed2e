"""The reconciler of MachineClaim: one step of a machine's life cycle per reconcile.

Every step ends with one write of the status, so that a crash at any point repeats one step.
What a step is about to do is in the status before it starts, written by the previous step.
"""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.names import PAUSED as PAUSED_ANNOTATION
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.meta.conditions import FALSE, TRUE, find
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import replace
from quarterdeck.operators.machines import claim_attestation, claim_steps, claim_watching
from quarterdeck.operators.machines.claim_attestation import omit_service_fields, report_refusal
from quarterdeck.operators.machines.claim_booting import await_boot, needs_service
from quarterdeck.operators.machines.claim_failures import Failed, Retry
from quarterdeck.operators.machines.claim_placing import place
from quarterdeck.operators.machines.claim_progress import report_step
from quarterdeck.operators.machines.claim_recovery import Recovery
from quarterdeck.operators.machines.claim_steps import Recipe
from quarterdeck.operators.machines.cluster import is_ready
from quarterdeck.operators.machines.conditions import (
    PAUSED,
    READY,
    TEMPLATE_RESOLVED,
    Reason,
)
from quarterdeck.operators.machines.connections import Connections
from quarterdeck.operators.machines.errors import (
    HypervisorError,
)
from quarterdeck.operators.machines.expected_machines import ExpectedMachines
from quarterdeck.operators.machines.invitation import Inviter
from quarterdeck.operators.machines.machine_context import Machine
from quarterdeck.operators.machines.machinespec import build_request
from quarterdeck.operators.machines.metrics import MachineMetrics
from quarterdeck.operators.machines.plan.claim import (
    Overdue,
    Step,
    find_overdue,
    next_step,
)
from quarterdeck.operators.machines.references import get_cluster_key, get_template_key, parse_key
from quarterdeck.operators.machines.report import (
    report_condition,
    report_unsupported,
    set_condition,
)
from quarterdeck.operators.machines.sizes import parse_time
from quarterdeck.operators.machines.support import find_unsupported_in_claim
from quarterdeck.runtime import Context, RequeueAfter, Result, Waiting

_WAIT_S = 30.0
_OPENING_S = 1.0


class Shared(NamedTuple):
    """The dependencies that the reconcile and the deletion of every claim share."""

    connections: Connections
    operator_uid: Callable[[], str]
    claims: Callable[[], Sequence[MachineClaim]]
    """Lists every claim in the cache."""
    metrics: MachineMetrics
    rng: random.Random
    expected_machines: ExpectedMachines
    inviter: Callable[[], Inviter | None] = lambda: None
    """Returns the client of the bootstrap service; None if there is no such service."""


class Claims:
    """Reconciles MachineClaims that are not being deleted."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._recovery = Recovery(rng=shared.rng, metrics=shared.metrics)
        self._loaded: set[Key] = set()

    async def reconcile(self, claim: MachineClaim, ctx: Context[MachineClaim]) -> Result | None:
        """Do the step that is due, then record what the poll should expect of the VM."""
        for vmid in self._shared.expected_machines.take_copies(claim.metadata.uid):
            text = f"VM {vmid} was copied or restored from this machine; it is no longer managed"
            ctx.event(Reason.COPY_RELEASED, text, warning=True)
        try:
            return await self._reconcile(claim, ctx)
        finally:
            self._shared.expected_machines.put(replace(claim, status=ctx.status.current))

    async def _reconcile(self, claim: MachineClaim, ctx: Context[MachineClaim]) -> Result | None:
        omit_service_fields(claim, ctx)
        report_refusal(claim, ctx)
        report_unsupported(ctx, find_unsupported_in_claim(claim))
        if ctx.status.current.phase is None:
            ctx.status.set(phase="Pending")  # whatever it waits for, the column is not empty
        if _is_paused(claim, ctx):
            return None
        step = next_step(claim)
        if step is Step.REST:
            return None
        if (left := _wait_s(claim, ctx)) > 0:
            return RequeueAfter(left)
        machine, recipe = await self._resolve(claim, ctx, step)
        overdue = find_overdue(claim, ctx.now())
        if overdue is not None and not _waits_for_service(step, recipe):
            return self._recovery.fail(machine, _build_timeout(claim, overdue))
        try:
            result = await self._run(step, machine, recipe)
        except Failed as error:
            return self._recovery.fail(machine, error)
        except Retry as error:
            return self._recovery.retry(machine, error.reason, error.message)
        except HypervisorError as error:
            return self._recovery.handle(machine, recipe, error)
        report_step(machine)
        return result

    async def _run(self, step: Step, machine: Machine, recipe: Recipe) -> Result | None:
        if machine.claim.status.phase == "Ready":
            match step:
                case Step.START:
                    return await claim_watching.switch_on(machine, recipe)
                case Step.STOP:
                    return await claim_watching.switch_off(machine)
                case _:
                    return await claim_watching.watch(machine)
        match step:
            case Step.PLACE:
                return await place(machine, recipe.template, recipe.cluster, recipe.allocations)
            case Step.CLONE:
                return await claim_steps.clone(machine, recipe)
            case Step.DISCARD:
                return await claim_steps.discard(machine, recipe)
            case Step.CONFIGURE:
                return await claim_steps.configure(machine, recipe)
            case Step.SEED:
                return await claim_steps.seed(machine, recipe)
            case Step.START:
                return await claim_steps.start(machine, recipe)
            case _:
                result = await self._await_boot(machine, recipe)
                self._count_ready(machine)
                return result

    async def _await_boot(self, machine: Machine, recipe: Recipe) -> Result:
        if machine.ref.adopted or not needs_service(recipe.template):
            return await await_boot(machine, recipe.template)
        return await claim_attestation.await_attestation(machine, recipe)

    # --- what a claim needs

    async def _resolve(
        self, claim: MachineClaim, ctx: Context[MachineClaim], step: Step
    ) -> tuple[Machine, Recipe]:
        """Find the template, the cluster and the connection; raises `Waiting` if one is missing."""
        template = await self._get_template(claim, ctx, step)
        ref = claim.status.vm_ref
        key = parse_key(ref.hypervisor_cluster) if ref is not None else get_cluster_key(template)
        cluster = await ctx.find(HypervisorCluster, key.name, key.namespace)
        if cluster is None or (step is Step.PLACE and not is_ready(cluster)):
            raise _hold(ctx, Reason.CLUSTER_NOT_READY, f"HypervisorCluster {key} is not ready")
        connection = self._shared.connections.find(key)
        if connection is None:
            text = f"HypervisorCluster {key} is being connected"
            raise Waiting(Reason.CLUSTER_NOT_READY, text, after_s=_OPENING_S)
        allocations = self._shared.connections.allocations(key)
        if key not in self._loaded:
            self._loaded.add(key)
            allocations.load(self._shared.claims(), str(key), build_request(claim, template))
        machine = Machine(
            claim, ctx, connection=connection, operator_uid=self._shared.operator_uid()
        )
        return machine, Recipe(template, cluster, allocations, self._shared.inviter())

    async def _get_template(
        self, claim: MachineClaim, ctx: Context[MachineClaim], step: Step
    ) -> HypervisorMachineTemplate:
        key = get_template_key(claim)
        template = await ctx.find(HypervisorMachineTemplate, key.name, key.namespace)
        if template is None:
            text = f"HypervisorMachineTemplate {key} not found"
            report_condition(ctx, TEMPLATE_RESOLVED, FALSE, Reason.TEMPLATE_NOT_FOUND, text)
            raise _hold(ctx, Reason.TEMPLATE_NOT_FOUND, text)
        if step is Step.PLACE and not template.status.template_available:
            text = f"HypervisorMachineTemplate {key} is not available"
            set_condition(ctx, TEMPLATE_RESOLVED, FALSE, Reason.TEMPLATE_INVALID, text)
            raise _hold(ctx, Reason.TEMPLATE_INVALID, text)
        set_condition(ctx, TEMPLATE_RESOLVED, TRUE, Reason.RESOLVED, f"template {key}")
        return template

    def _count_ready(self, machine: Machine) -> None:
        before, after = machine.ctx.status.get_transition(READY)
        is_first = after is not None and after.status == TRUE
        if is_first and (before is None or before.status != TRUE):
            self._shared.metrics.record_provisioning(
                machine.claim, machine.connection.cluster, result="ready", took_s=machine.age_s
            )


def _is_paused(claim: MachineClaim, ctx: Context[MachineClaim]) -> bool:
    is_paused = claim.metadata.annotations.get(PAUSED_ANNOTATION) == "true"
    if is_paused:
        set_condition(ctx, PAUSED, TRUE, Reason.PAUSED, f"annotation {PAUSED_ANNOTATION} is set")
    elif ctx.status.get_transition(PAUSED)[0] is not None:
        ctx.status.remove_condition(PAUSED)
    return is_paused


def _wait_s(claim: MachineClaim, ctx: Context[MachineClaim]) -> float:
    due = parse_time(claim.status.retry_after)
    return (due - ctx.now()).total_seconds() if due is not None else 0.0


def _waits_for_service(step: Step, recipe: Recipe) -> bool:
    """Whether a booting machine waits for a report that no bootstrap service can make.

    Such a boot has no time limit.
    """
    is_served = recipe.inviter is not None and recipe.template.spec.attestation is not None
    return step is Step.AWAIT_BOOT and needs_service(recipe.template) and not is_served


def _build_timeout(claim: MachineClaim, overdue: Overdue) -> Failed:
    """Build the failure of a phase that took too long, with the last message of Ready."""
    is_boot = overdue.phase == "Bootstrapping"
    reason = Reason.BOOTSTRAP_TIMEOUT if is_boot else Reason.PROVISION_TIMEOUT
    text = f"{overdue.phase} took longer than {overdue.limit_s:.0f} s"
    last = find(claim.status.conditions, READY)
    if last is not None and last.message:
        text = f"{text}; last: {last.reason}: {last.message}"
    return Failed(reason, text)


def _hold(ctx: Context[MachineClaim], reason: Reason, message: str) -> Waiting:
    """Report what is missing, and build the `Waiting` to raise; its change enqueues the claim."""
    set_condition(ctx, READY, FALSE, reason, message)
    return Waiting(reason, message, after_s=_WAIT_S)
