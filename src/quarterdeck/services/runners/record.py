"""Jobs of a pool in its ConfigMap, written under a resource version: no delivery is lost."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.apis.hypervisor.jobs import (
    POLLING_PROBLEM,
    Job,
    build_record_labels,
    build_record_name,
    is_lapsed,
)
from quarterdeck.apis.hypervisor.pool import RunnerPool
from quarterdeck.client.client import Client
from quarterdeck.kit import json, rfc3339
from quarterdeck.meta.objects import build_owner_reference
from quarterdeck.wire.status import AlreadyExists, Conflict, NotFound

KEEP_S = 3600.0
"""How long the record of an ended job is kept, because older events may arrive later."""
MOST_JOBS = 2000
"""Most jobs in the record of a pool; beyond that the oldest queued ones are dropped."""
_TRIES = 10
_RANKS = {"queued": 0, "in_progress": 1, "completed": 2}


def plan_change(data: Mapping[str, str], job: Job, now: datetime) -> dict[str, str | None]:
    """Compute the changes of a record for a job's new state, which never goes back. Pure."""
    changes: dict[str, str | None] = {}
    key = _build_key(job.id)
    known = _read(data.get(key, ""))
    if known is None or _RANKS[job.status] > _RANKS[known.status]:
        runner = job.runner or (known.runner if known is not None else "")
        changes[key] = msgspec.json.encode(msgspec.structs.replace(job, runner=runner)).decode()
    horizon = rfc3339.format_time(now - timedelta(seconds=KEEP_S))
    for other, text in data.items():
        entry = _read(text)
        is_old = entry is not None and entry.status == "completed" and entry.since < horizon
        if entry is None or is_old or is_lapsed(entry, now):
            changes.setdefault(other, None)
    return changes | _drop_excess(data, changes)


def _drop_excess(
    data: Mapping[str, str], changes: Mapping[str, str | None]
) -> dict[str, str | None]:
    left = {key for key in data if changes.get(key, "") is not None} | set(changes)
    excess = len(left) - MOST_JOBS
    if excess <= 0:
        return {}
    waiting = [
        (job.since, key)
        for key in left
        if key in data
        and key not in changes
        and (job := _read(data[key])) is not None
        and job.status == "queued"
    ]
    return {key: None for _, key in sorted(waiting)[:excess]}


async def write_job(client: Client, pool: RunnerPool, job: Job, now: datetime) -> bool:
    """Record the state of a job; False if it was recorded already.

    Raises:
        Conflict: if other writes changed the record at every attempt.
    """
    records = client.resource(ConfigMap.KIND.gvr)
    name, namespace = build_record_name(pool.metadata.name), pool.metadata.namespace
    for _ in range(_TRIES):
        record = await _get_or_create(client, pool)
        changes = plan_change(record.data, job, now)
        if not changes:
            return False
        patch: dict[str, Any] = {
            "metadata": {"resourceVersion": record.metadata.resource_version},
            "data": changes,
        }
        try:
            await records.patch(name, patch, namespace=namespace)
        except Conflict:
            continue
        return _build_key(job.id) in changes
    raise Conflict(f"ConfigMap {namespace}/{name} was changed at every attempt")


async def has_job(client: Client, pool: RunnerPool, job: str) -> bool:
    """Whether a pool has recorded the job of that id."""
    name, namespace = build_record_name(pool.metadata.name), pool.metadata.namespace
    try:
        return _build_key(job) in (await client.get(ConfigMap, name, namespace)).data
    except NotFound:
        return False


async def write_poll_result(client: Client, pool: RunnerPool, problem: str) -> None:
    """Record why the CI system could not be asked for jobs; an empty text if it could."""
    record = await _get_or_create(client, pool)
    if record.metadata.annotations.get(POLLING_PROBLEM) == problem:
        return
    patch = {"metadata": {"annotations": {POLLING_PROBLEM: problem}}}
    records = client.resource(ConfigMap.KIND.gvr)
    await records.patch(record.metadata.name, patch, namespace=record.metadata.namespace)


async def _get_or_create(client: Client, pool: RunnerPool) -> ConfigMap:
    name, namespace = build_record_name(pool.metadata.name), pool.metadata.namespace
    try:
        return await client.get(ConfigMap, name, namespace)
    except NotFound:
        try:
            await client.resource(ConfigMap.KIND.gvr).create(_build_empty_record(pool))
        except AlreadyExists:
            pass  # another delivery was faster
        return await client.get(ConfigMap, name, namespace)


def _build_empty_record(pool: RunnerPool) -> dict[str, Any]:
    reference = msgspec.to_builtins(build_owner_reference(pool))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": build_record_name(pool.metadata.name),
            "namespace": pool.metadata.namespace,
            "labels": build_record_labels(pool.metadata.name),
            "ownerReferences": [reference],
        },
        "data": {},
    }


def _build_key(job: str) -> str:
    return f"job-{job}"


def _read(text: str) -> Job | None:
    try:
        return msgspec.json.decode(text, type=Job) if text else None
    except json.UNREADABLE:
        return None
