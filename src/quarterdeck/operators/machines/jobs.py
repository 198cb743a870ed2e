"""Jobs of a CI system: which wait, and which runner is busy. Kept in one ConfigMap per pool.

The service that hears of jobs writes them; pools and claims only read them, so that nobody's
status overwrites another's.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.operators.machines.records import JOBS, ConfigRecord

POOL_KEY = "hyperfleet.io/runner-pool"


class Job(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One job."""

    id: str
    status: Literal["queued", "in_progress", "completed"] = "queued"
    runner: str = ""
    since: str = ""
    labels: tuple[str, ...] = ()


class BadJob(NamedTuple):
    """An entry that cannot be read."""

    id: str
    problem: str


def name_of(pool: str) -> str:
    """The name of the ConfigMap of a pool."""
    return f"{pool}-jobs"


def read_jobs(record: ConfigRecord | None) -> list[Job]:
    """The jobs of a record, in the order of their ids; what cannot be read is left out."""
    if record is None or record.purpose != JOBS:
        return []
    found = []
    for key in sorted(record.data):
        try:
            found.append(msgspec.json.decode(record.data[key], type=Job))
        except msgspec.DecodeError:
            continue
    return found


def busy_runners(jobs: Iterable[Job]) -> dict[str, Job]:
    """The jobs that run, by the name of the runner."""
    return {job.runner: job for job in jobs if job.status == "in_progress" and job.runner}


async def find_job(
    list_: Callable[..., Awaitable[Sequence[Any]]],
    kind: type[ConfigRecord],
    claim: MachineClaim,
    runner: str,
) -> str:
    """The id of the job that a claim's machine works on; empty if none."""
    pool = claim.spec.runner_pool_ref
    if pool is None:
        return ""
    for record in await list_(kind, namespace=claim.metadata.namespace):
        if record.metadata.name == name_of(pool.name):
            job = busy_runners(read_jobs(record)).get(runner)
            return job.id if job is not None else ""
    return ""
