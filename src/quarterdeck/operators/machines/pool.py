"""The reconciler of RunnerPool: as many runners as there is work for, and a few idle ones."""

import random
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from quarterdeck.apis.hypervisor.claim import MachineClaim, MachineClaimSpec
from quarterdeck.apis.hypervisor.jobs import (
    LONGEST_S,
    POLLING_PROBLEM,
    Job,
    build_record_name,
    find_busy_runners,
    is_lapsed,
    read_jobs,
)
from quarterdeck.apis.hypervisor.names import CLAIM_FINALIZER, POOL_LABEL, PRESERVE, TEMPLATE_LABEL
from quarterdeck.apis.hypervisor.pool import PoolJob, PoolLifecycle, RunnerPool
from quarterdeck.apis.hypervisor.references import ObjectReference
from quarterdeck.kit import rfc3339
from quarterdeck.meta.conditions import FALSE, TRUE, Condition
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import ObjectMeta, with_metadata
from quarterdeck.operators.machines.claim_deletion import KILL_JOB
from quarterdeck.operators.machines.claim_metadata import check_labels, generate_name
from quarterdeck.operators.machines.conditions import POLLING, READY, SCALING, Reason
from quarterdeck.operators.machines.features import Features
from quarterdeck.operators.machines.held_machines import find_held
from quarterdeck.operators.machines.machinespec import build_runner_name
from quarterdeck.operators.machines.metrics import MachineMetrics
from quarterdeck.operators.machines.plan.pool import (
    Plan,
    PoolDemand,
    Removal,
    Runner,
    count_states,
    find_minimum,
    plan_pool,
)
from quarterdeck.operators.machines.pool_deletion import kill_overdue_jobs, protect_record
from quarterdeck.operators.machines.records import ConfigRecord, SecretHead
from quarterdeck.operators.machines.report import (
    report_condition,
    report_unsupported,
    set_condition,
)
from quarterdeck.operators.machines.sizes import compute_seconds_since, parse_seconds
from quarterdeck.operators.machines.support import find_unsupported_in_pool
from quarterdeck.runtime import Context, RequeueAfter

CORDON = "hyperfleet.io/cordon"
"""Annotation of a runner chosen for removal; it is removed if still idle at the next check."""
_EVENTS = {
    "LifetimeExceeded": Reason.LIFETIME_EXCEEDED,
    "JobTimeout": Reason.JOB_TIMEOUT,
    "Failed": Reason.REPAIRING,
}
_SOON_S = 0.05


class Pools:
    """Reconciles RunnerPools."""

    def __init__(self, *, features: Features, rng: random.Random, metrics: MachineMetrics) -> None:
        self._features = features
        self._random = rng
        self._metrics = metrics

    async def reconcile(self, pool: RunnerPool, ctx: Context[RunnerPool]) -> RequeueAfter | None:
        """Create and remove runners, and report how many there are."""
        unusable = await _find_unusable_secret(pool, ctx)
        report_unsupported(ctx, [*find_unsupported_in_pool(pool), *unusable])
        check_labels(_build_labels(pool))
        record = await ctx.find(ConfigRecord, build_record_name(pool.metadata.name))
        await protect_record(record, ctx)
        jobs = [
            job
            for job in read_jobs(record.data if record else {})
            if job.status != "completed" and not is_lapsed(job, ctx.now())
        ]
        claims = list(await ctx.list_owned(MachineClaim))
        busy = find_busy_runners(jobs, ctx.now())
        runners = [observe(claim, busy, ctx.now()) for claim in claims]
        self._note_activity(pool, jobs, ctx)
        desired, change_s = self._build_demand(pool, jobs, ctx)
        plan, overdue_s = plan_pool(runners, desired), None
        if pool.spec.paused or not self._features.flags.runner_scaling:
            plan = Plan(plan.desired)
        else:  # the plan removes runners; those that are being deleted wait for their job
            going = [claim for claim in claims if claim.is_deleting]
            overdue_s = await kill_overdue_jobs(pool, going, busy, ctx)
        is_cordoned = await self._carry_out(plan, pool, claims, ctx)
        self._report(pool, plan, runners, jobs, ctx)
        _report_polling(pool, record, ctx)
        if held := find_held(claims):
            _report_held(held[0], ctx)
        lapse_s = _compute_lapse_s(jobs, ctx.now())
        due = (plan.check_s, change_s, lapse_s, overdue_s)
        times = [each for each in due if each is not None]
        if is_cordoned:
            times.append(_SOON_S)
        return RequeueAfter(max(_SOON_S, min(times))) if times else None

    async def forget(self, key: Key) -> None:
        """Remove the metrics of a deleted pool."""
        self._metrics.forget_pool(key)

    def _build_demand(
        self, pool: RunnerPool, jobs: Sequence[Job], ctx: Context[RunnerPool]
    ) -> tuple[PoolDemand, float | None]:
        scaling, now = pool.spec.scaling, ctx.now()
        lifecycle = pool.spec.lifecycle or PoolLifecycle()
        minimum, change_s = find_minimum(scaling.scheduled_overrides, scaling.min_replicas, now)
        quiet_s = compute_seconds_since(ctx.status.current.last_activity_time, now)
        desired = PoolDemand(
            min_idle=minimum,
            max_runners=scaling.max_replicas,
            queued=sum(job.status == "queued" for job in jobs),
            warm=scaling.warm_replicas,
            surge=scaling.surge_on_demand,
            scale_down_delay_s=parse_seconds(scaling.scale_down_delay),
            quiet_s=quiet_s if quiet_s is not None else 1e9,
            max_lifetime_s=parse_seconds(lifecycle.max_lifetime),
            idle_timeout_s=parse_seconds(lifecycle.idle_timeout),
            job_timeout_s=parse_seconds(lifecycle.job_timeout),
            failures=pool.status.failures,
            last_failure_s=compute_seconds_since(pool.status.last_failure_time, now),
        )
        return desired, change_s

    def _note_activity(
        self, pool: RunnerPool, jobs: Sequence[Job], ctx: Context[RunnerPool]
    ) -> None:
        """Record the jobs, and when they last changed: idle runners are kept for a while after."""
        before = {(job.id, job.status) for job in pool.status.jobs}
        after = {(job.id, job.status) for job in jobs}
        if before != after:
            ctx.status.set(last_activity_time=rfc3339.format_time(ctx.now()))
        ctx.status.set(
            jobs=tuple(
                PoolJob(id=job.id, status=job.status, runner=job.runner, since=job.since)
                for job in jobs
                if job.status != "completed"
            )
        )

    async def _carry_out(
        self,
        plan: Plan,
        pool: RunnerPool,
        claims: Sequence[MachineClaim],
        ctx: Context[RunnerPool],
    ) -> bool:
        """Create and remove runners; True if some were only cordoned, to be removed later."""
        by_name = {claim.metadata.name: claim for claim in claims}
        is_cordoned = False
        for removal in plan.remove:
            is_cordoned |= await self._remove(removal, by_name[removal.name], ctx)
        going = {removal.name for removal in plan.remove}
        for claim in claims:
            if CORDON in claim.metadata.annotations and not claim.is_deleting:
                await self._uncordon(claim, going, ctx)
        now = rfc3339.format_time(ctx.now())
        for _ in range(plan.create):
            name = generate_name(pool.metadata.name, self._random)
            await ctx.apply(build_runner(pool, name))
        if plan.create:
            ctx.event(Reason.SCALED_UP, f"created {_count(plan.create)}")
            ctx.status.set(last_scale_up_time=now)
        failed = sum(each.reason == "Failed" for each in plan.remove)
        if failed:
            ctx.status.set(failures=pool.status.failures + 1, last_failure_time=now)
        return is_cordoned

    async def _remove(
        self, removal: Removal, claim: MachineClaim, ctx: Context[RunnerPool]
    ) -> bool:
        """Cordon an idle runner, and delete it at the next check if it is still idle.

        The annotation is written under the resource version that was read, so a claim that has
        changed since then raises a conflict and is checked again. Other runners are deleted at
        once. Returns whether the runner was only cordoned.
        """
        annotations = claim.metadata.annotations
        if removal.reason in ("ScaleDown", "IdleTimeout", "LifetimeExceeded"):
            if CORDON not in annotations:
                marked = {**annotations, CORDON: removal.reason}
                await ctx.update(with_metadata(claim, annotations=marked))
                return True
        elif removal.reason == "JobTimeout" and KILL_JOB not in annotations:
            marked = {**annotations, KILL_JOB: "true"}
            claim = await ctx.update(with_metadata(claim, annotations=marked))
        await ctx.delete(claim, propagation="Background")
        reason = _EVENTS.get(removal.reason, Reason.SCALED_DOWN)
        text = f"removed runner {removal.name}: {removal.reason}"
        ctx.event(reason, text, warning=removal.reason in ("JobTimeout", "Failed"))
        ctx.status.set(last_scale_down_time=rfc3339.format_time(ctx.now()))
        return False

    async def _uncordon(
        self, claim: MachineClaim, going: set[str], ctx: Context[RunnerPool]
    ) -> None:
        """Remove the cordon of a runner that is not to be removed any more."""
        if claim.metadata.name in going:
            return
        annotations = dict(claim.metadata.annotations)
        del annotations[CORDON]
        await ctx.update(with_metadata(claim, annotations=annotations))

    def _report(
        self,
        pool: RunnerPool,
        plan: Plan,
        runners: Sequence[Runner],
        jobs: Sequence[Job],
        ctx: Context[RunnerPool],
    ) -> None:
        counts = count_states(runners)
        self._metrics.set_runners(pool.key, counts)
        present = counts["pending"] + counts["idle"] + counts["busy"]
        ready = counts["idle"] + counts["busy"]
        if ready > pool.status.ready_replicas:
            ctx.status.set(failures=0)
        ctx.status.set(
            replicas=present,
            ready_replicas=ready,
            idle_replicas=counts["idle"],
            busy_replicas=counts["busy"],
            pending_replicas=counts["pending"],
            failed_replicas=counts["failed"],
            desired_replicas=plan.desired,
            queued_jobs=sum(job.status == "queued" for job in jobs),
            selector=f"{POOL_LABEL}={pool.metadata.name}",
        )
        text = f"{ready} of {plan.desired} runners are ready, {counts['busy']} are busy"
        is_ready = ready >= plan.desired
        reason = Reason.MINIMUM_AVAILABLE if is_ready else Reason.MINIMUM_UNAVAILABLE
        set_condition(ctx, READY, TRUE if is_ready else FALSE, reason, text)
        if plan.create:
            set_condition(ctx, SCALING, TRUE, Reason.DEMAND_INCREASED, text)
        elif plan.remove:
            set_condition(ctx, SCALING, TRUE, Reason.DEMAND_DECREASED, text)
        else:
            set_condition(ctx, SCALING, FALSE, Reason.STEADY, text)


async def _find_unusable_secret(pool: RunnerPool, ctx: Context[RunnerPool]) -> list[str]:
    """Name `spec.webhook` if its Secret cannot be used, so that no delivery is accepted."""
    webhook, namespace = pool.spec.webhook, pool.metadata.namespace
    if webhook is None or not webhook.enabled:
        return []
    reference, refusal = webhook.secret_ref, "every delivery is rejected"
    if reference is None:
        return [f"spec.webhook (spec.webhook.secretRef is not set: {refusal})"]
    key = Key(reference.namespace or namespace, reference.name)
    if key.namespace != namespace:
        return [f"spec.webhook (Secret {key} is in another namespace: {refusal})"]
    if await ctx.find(SecretHead, key.name, namespace) is None:
        return [f"spec.webhook (Secret {key} not found: {refusal})"]
    return []


def _compute_lapse_s(jobs: Sequence[Job], now: datetime) -> float | None:
    """Seconds until the next job lapses; None if none is queued or runs."""
    left = [
        LONGEST_S[job.status] - age_s
        for job in jobs
        if job.status in LONGEST_S and (age_s := compute_seconds_since(job.since, now)) is not None
    ]
    return max(1.0, min(left) + 1.0) if left else None


def _report_polling(
    pool: RunnerPool, record: ConfigRecord | None, ctx: Context[RunnerPool]
) -> None:
    """Report whether the CI system could be asked for jobs, if it is to be asked."""
    polling = pool.spec.polling
    problem = record.metadata.annotations.get(POLLING_PROBLEM) if record is not None else None
    if polling is None or not polling.enabled:
        if ctx.status.get_transition(POLLING)[0] is not None:
            text = "spec.polling.enabled is not true"
            set_condition(ctx, POLLING, FALSE, Reason.POLLING_DISABLED, text)
    elif problem:
        report_condition(ctx, POLLING, FALSE, Reason.POLLING_FAILED, problem)
    elif problem is not None:
        set_condition(ctx, POLLING, TRUE, Reason.POLLED, "the CI system was asked for jobs")


def _report_held(held: tuple[str, Condition], ctx: Context[RunnerPool]) -> None:
    """Add to the condition Ready, if it is False, why a runner does not start."""
    (name, condition), ready = held, ctx.status.get_transition(READY)[1]
    if ready is not None and ready.status == FALSE:
        text = f"{ready.message}, {name}: {condition.message}"
        report_condition(ctx, READY, FALSE, Reason(condition.reason), text)


def observe(claim: MachineClaim, busy: Mapping[str, Job], now: datetime) -> Runner:
    """Describe a claim for the plan; whether it is busy is decided by the recorded jobs."""
    age_s = compute_seconds_since(claim.metadata.creation_timestamp, now) or 0.0
    name, status = claim.metadata.name, claim.status
    job = busy.get(build_runner_name(claim))
    if claim.is_deleting:
        return Runner(name, "deleting", age_s)
    if job is not None:
        return Runner(name, "busy", age_s, job_s=compute_seconds_since(job.since, now) or 0.0)
    if status.phase == "Failed":
        is_kept = claim.metadata.annotations.get(PRESERVE) == "true"
        return Runner(name, "failed", age_s, is_kept=is_kept)
    if status.phase == "Ready":
        return Runner(
            name, "idle", age_s, idle_s=compute_seconds_since(status.ready_since, now) or 0.0
        )
    return Runner(name, "pending", age_s)


def build_runner(pool: RunnerPool, name: str) -> MachineClaim:
    """Build the claim of a new runner."""
    return MachineClaim(
        metadata=ObjectMeta(
            name=name,
            namespace=pool.metadata.namespace,
            labels=_build_labels(pool),
            finalizers=(CLAIM_FINALIZER,),  # the claim would get it first of all
        ),
        spec=MachineClaimSpec(
            template_ref=msgspec.structs.replace(pool.spec.template_ref),
            runner_pool_ref=ObjectReference(name=pool.metadata.name),
            workload_config=pool.spec.workload,
        ),
    )


def _build_labels(pool: RunnerPool) -> dict[str, str]:
    return {POOL_LABEL: pool.metadata.name, TEMPLATE_LABEL: pool.spec.template_ref.name}


def _count(number: int) -> str:
    return "1 runner" if number == 1 else f"{number} runners"
