"""Jobs of a CI system, as they are kept in one ConfigMap per pool.

The service that hears of jobs writes them; the operator only reads them.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from quarterdeck.apis.hypervisor.names import POOL_LABEL, PREFIX
from quarterdeck.kit import json, rfc3339

CONFIG_LABEL = f"{PREFIX}/config"
"""What a ConfigMap of ours is for: `features`, `simulator` or `jobs`."""
JOBS = "jobs"
POLLING_PROBLEM = f"{PREFIX}/polling-problem"
"""Annotation of the ConfigMap: why the CI system could not be asked for jobs the last time; empty
if it could, and absent if it was never asked."""
QUEUE_S = 25 * 3600.0
"""How long a job may be queued; GitHub ends it after 24 hours, but the delivery may be lost."""
RUN_S = 121 * 3600.0
"""How long a job may run; GitHub ends it after 5 days, but the delivery may be lost."""
RUNNER_LABELS = ("self-hosted", "hyperfleet", "ephemeral")
"""Labels that every runner has."""

JobState = Literal["queued", "in_progress", "completed"]


class Job(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One job."""

    id: str
    status: JobState = "queued"
    runner: str = ""
    """Name of the runner that works on it."""
    since: str = ""
    """When it got to its status."""


def build_record_name(pool: str) -> str:
    """Build the name of the ConfigMap of a pool."""
    return f"{pool}-jobs"


def build_record_labels(pool: str) -> dict[str, str]:
    """Build the labels of the ConfigMap of a pool."""
    return {CONFIG_LABEL: JOBS, POOL_LABEL: pool}


def read_jobs(data: Mapping[str, str]) -> list[Job]:
    """The jobs of a ConfigMap, in the order of their keys; what cannot be read is left out."""
    found = []
    for key in sorted(data):
        try:
            found.append(msgspec.json.decode(data[key], type=Job))
        except json.UNREADABLE:
            continue
    return found


LONGEST_S: Mapping[JobState, float] = {"queued": QUEUE_S, "in_progress": RUN_S}
"""How long a job may have a status; a job that has ended keeps it."""


def is_lapsed(job: Job, now: datetime) -> bool:
    """Whether a job has been queued or has run for so long that it must have ended."""
    longest_s = LONGEST_S.get(job.status)
    if longest_s is None:
        return False
    return "" < job.since < rfc3339.format_time(now - timedelta(seconds=longest_s))


def find_busy_runners(jobs: Iterable[Job], now: datetime) -> dict[str, Job]:
    """Find the jobs that run, by the name of the runner."""
    running = (job for job in jobs if job.status == "in_progress" and job.runner)
    return {job.runner: job for job in running if not is_lapsed(job, now)}
