"""Scheduled work: a Report runs a Job at its interval; missed times are not made up."""

import asyncio
from datetime import datetime, timedelta
from typing import Annotated

from quarterdeck.apis.batch import Job, JobSpec
from quarterdeck.apis.core import Container, PodSpec, PodTemplateSpec
from quarterdeck.kit import rfc3339
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.markers import Schema, Time
from quarterdeck.meta.objects import Object, ObjectMeta, Struct
from quarterdeck.runtime import Context, Controller, RequeueAfter, Result, run_operator


class ReportSpec(Struct, frozen=True, kw_only=True):
    every_minutes: Annotated[int, Schema(minimum=1)] = 60
    keep: Annotated[int, Schema(minimum=0)] = 3


class ReportStatus(Struct, frozen=True, kw_only=True):
    last_time: Time = ""
    next_time: Time = ""
    observed_generation: int = 0
    conditions: Conditions = ()


class Report(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Report", plural="reports")
    spec: ReportSpec = ReportSpec()
    status: ReportStatus = ReportStatus()


def latest_time(created: datetime, every: timedelta, now: datetime) -> datetime:
    """The last time that is due: times count from the creation, so restarts do not move them."""
    return created + every * ((now - created) // every)


async def reconcile(report: Report, ctx: Context[Report]) -> Result:
    every = timedelta(minutes=report.spec.every_minutes)
    created = rfc3339.parse(report.metadata.creation_timestamp or "")
    now = ctx.now()
    due = latest_time(created, every, now)
    if report.status.last_time != rfc3339.format_time(due):
        # the name carries the time: after a crash the same Job is applied, not a second one
        await ctx.apply(build_job(report, due))
    await remove_old(report, ctx)
    ctx.status.set(last_time=rfc3339.format_time(due), next_time=rfc3339.format_time(due + every))
    return RequeueAfter((due + every - now).total_seconds())


async def remove_old(report: Report, ctx: Context[Report]) -> None:
    """Keep the newest Jobs; names sort by time."""
    jobs = sorted(await ctx.list_owned(Job), key=lambda job: job.metadata.name)
    for job in jobs[: max(0, len(jobs) - report.spec.keep)]:
        await ctx.api.delete(job, propagation="Background")


def build_job(report: Report, due: datetime) -> Job:
    container = Container(name="report", image="busybox", command=("date",))
    pod = PodSpec(containers=(container,), restart_policy="Never")
    name = f"{report.metadata.name}-{due:%Y%m%d%H%M%S}"
    return Job(metadata=ObjectMeta(name=name), spec=JobSpec(template=PodTemplateSpec(spec=pod)))


controller = Controller(reconcile=reconcile, for_=Report, owns=[Job])

if __name__ == "__main__":
    asyncio.run(run_operator("reports", controller))
