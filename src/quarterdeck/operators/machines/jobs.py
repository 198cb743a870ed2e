"""Finds the job of a runner, in the report of its agent or in the record of its pool."""

from typing import Any

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.jobs import build_record_name, find_busy_runners, read_jobs
from quarterdeck.operators.machines.machinespec import build_runner_name
from quarterdeck.operators.machines.plan.claim import is_busy
from quarterdeck.operators.machines.records import ConfigRecord
from quarterdeck.runtime import Context

_ENDED = ("JobCompleted", "Failed")
"""The phases that an agent reports when its runner, which runs one job only, has ended; Failed also
if the runner was never started."""


async def find_job(claim: MachineClaim, ctx: Context[Any]) -> str:
    """The id of the job that a claim's machine works on; empty if none.

    If the last report of the agent is the end of its runner, no job runs, whatever was reported
    before or is recorded for the pool: the delivery of its end may be lost, and is not repeated.
    """
    if claim.status.bootstrap_info.partition(": ")[0] in _ENDED:
        return ""
    if is_busy(claim, ctx.now()):
        assert claim.status.job is not None  # `is_busy` checked it
        return claim.status.job.id or build_runner_name(claim)
    pool = claim.spec.runner_pool_ref
    if pool is None:
        return ""
    record = await ctx.find(ConfigRecord, build_record_name(pool.name), claim.metadata.namespace)
    if record is None:
        return ""
    job = find_busy_runners(read_jobs(record.data), ctx.now()).get(build_runner_name(claim))
    return job.id if job is not None else ""
