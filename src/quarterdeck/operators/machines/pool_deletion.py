"""The deletion of a RunnerPool: its runners are deleted first, and busy ones finish their job.

The pool stays until then, because deliveries are verified with its secret, and so does the record
of its jobs, which tells busy runners: the garbage collector would delete it at once.
"""

from collections.abc import Mapping, Sequence

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.jobs import Job, build_record_name, find_busy_runners, read_jobs
from quarterdeck.apis.hypervisor.names import POOL_FINALIZER
from quarterdeck.apis.hypervisor.pool import PoolLifecycle, RunnerPool
from quarterdeck.meta.conditions import FALSE
from quarterdeck.meta.objects import with_metadata
from quarterdeck.operators.machines.claim_deletion import KILL_JOB
from quarterdeck.operators.machines.conditions import READY, Reason
from quarterdeck.operators.machines.machinespec import build_runner_name
from quarterdeck.operators.machines.records import ConfigRecord
from quarterdeck.operators.machines.report import set_condition
from quarterdeck.operators.machines.sizes import compute_seconds_since, parse_seconds
from quarterdeck.runtime import Context, Waiting

_ORPHAN = "orphan"
"""Finalizer of Kubernetes: the garbage collector releases the runners, which are to stay."""
_CHECK_S = 30.0


async def delete_runners(pool: RunnerPool, ctx: Context[RunnerPool]) -> None:
    """Delete the runners of a pool; the step of its finalizer.

    Raises:
        Waiting: while there are any.
    """
    if _ORPHAN in pool.metadata.finalizers:
        raise Waiting(Reason.DRAINING, "the runners are being released", after_s=_CHECK_S)
    record = await ctx.find(ConfigRecord, build_record_name(pool.metadata.name))
    busy = find_busy_runners(read_jobs(record.data if record is not None else {}), ctx.now())
    claims = await ctx.list_owned(MachineClaim)
    await kill_overdue_jobs(pool, claims, busy, ctx)
    for claim in claims:
        if not claim.is_deleting:
            await ctx.delete(claim, propagation="Background")
    if claims:
        text = f"the pool is deleted; {len(claims)} of its runners are left"
        set_condition(ctx, READY, FALSE, Reason.DRAINING, text)
        raise Waiting(Reason.DRAINING, text, after_s=_CHECK_S)
    if record is not None and POOL_FINALIZER in record.metadata.finalizers:
        left = tuple(each for each in record.metadata.finalizers if each != POOL_FINALIZER)
        await ctx.update(with_metadata(record, finalizers=left))


async def protect_record(record: ConfigRecord | None, ctx: Context[RunnerPool]) -> None:
    """Add a finalizer to the record of a pool, which `delete_runners` removes."""
    if record is None or record.is_deleting or POOL_FINALIZER in record.metadata.finalizers:
        return
    finalizers = (*record.metadata.finalizers, POOL_FINALIZER)
    await ctx.update(with_metadata(record, finalizers=finalizers))


async def kill_overdue_jobs(
    pool: RunnerPool,
    claims: Sequence[MachineClaim],
    busy: Mapping[str, Job],
    ctx: Context[RunnerPool],
) -> float | None:
    """Allow the removal of runners whose job takes longer than `spec.lifecycle.jobTimeout`.

    Returns the seconds until the next job takes longer; None if there is none.
    """
    limit_s = parse_seconds((pool.spec.lifecycle or PoolLifecycle()).job_timeout)
    left: list[float] = []
    for claim in claims:
        job, annotations = busy.get(build_runner_name(claim)), claim.metadata.annotations
        if job is None or limit_s <= 0 or KILL_JOB in annotations:
            continue
        took_s = compute_seconds_since(job.since, ctx.now()) or 0.0
        if took_s < limit_s:
            left.append(limit_s - took_s)
        else:
            await ctx.update(with_metadata(claim, annotations={**annotations, KILL_JOB: "true"}))
            text = f"removed runner {claim.metadata.name}: JobTimeout"
            ctx.event(Reason.JOB_TIMEOUT, text, warning=True)
    return min(left, default=None)
