"""The CronJob controller: creates a job at each time of the schedule."""

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from quarterdeck.kit import duration
from quarterdeck.server.lifecycle.engine.actions import Action, Create, Record, Requeue
from quarterdeck.server.lifecycle.engine.controller import find_controller_keys
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    build_owner_reference,
    delete,
    format_moment,
    get_annotations,
    get_condition,
    get_creation_time,
    get_name,
    get_namespace,
    get_spec,
    get_status,
    get_uid,
    is_controlled_by,
    is_deleting,
    is_true,
    parse_time,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.cron_schedule import ScheduleError, parse_schedule
from quarterdeck.server.lifecycle.workloads.jobs import JOBS, is_over
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

CRON_JOBS = "cronjobs.batch"
_COMPONENT = "cronjob-controller"
_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_TOO_MANY = 100
"""After this many missed times the search skips to the last hour."""


class CronJobs:
    """Creates jobs when they are due, and deletes old ones."""

    name = _COMPONENT
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({CRON_JOBS, JOBS})
    initial: Sequence[StoreKey] = ()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find the cron job itself, or that of a job."""
        if event.key.resource == CRON_JOBS:
            yield event.key
        else:
            yield from find_controller_keys(event, index, kind="CronJob", resource=CRON_JOBS)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Create a due job, delete old ones, and requeue for the next time."""
        cron = view.get(key)
        if cron is None or is_deleting(cron):
            return ()
        jobs = [job for job in view.list_owned(get_uid(cron), JOBS) if is_controlled_by(job, cron)]
        return list(_Sync(view, cron, jobs).plan())


class _Sync:
    """The plan of one cron job."""

    def __init__(self, view: View, cron: Object, jobs: list[Object]) -> None:
        self.view = view
        self.cron = cron
        self.jobs = jobs
        self.active = [job for job in jobs if not is_over(job) and not is_deleting(job)]

    def plan(self) -> Iterator[Action]:
        yield from self._delete_old_jobs()
        due, following = self._find_times()
        if due is None and following is None:
            yield self._build_schedule_warning()
        started: list[Object] = []
        last = get_status(self.cron).get("lastScheduleTime")
        if due is not None and not get_spec(self.cron).get("suspend") and not self._is_late(due):
            actions, job = self._start(due)
            yield from actions
            if job is not None:
                last = format_moment(due)
                started.append(job)
        if not started:
            yield from self._update_status(last)
        if following is not None and not get_spec(self.cron).get("suspend"):
            yield Requeue(max(0.0, (following - self.view.now).total_seconds()) + 0.01)

    def _find_times(self) -> tuple[datetime | None, datetime | None]:
        """Find the last missed time, for which a job is due, and the next time."""
        try:
            schedule = parse_schedule(get_spec(self.cron).get("schedule") or "")
        except ScheduleError:
            return None, None
        zone, now = get_spec(self.cron).get("timeZone"), self.view.now
        begun = (
            parse_time(get_status(self.cron).get("lastScheduleTime"))
            or get_creation_time(self.cron)
            or now
        )
        begun = max([begun, *self._list_served_times()])
        limit = get_spec(self.cron).get("startingDeadlineSeconds")
        if limit is not None:
            begun = max(begun, now - duration.from_seconds(limit))
        due, found = None, 0
        following = schedule.find_next(begun, zone)
        while following is not None and following <= now:
            due, found = following, found + 1
            if found == _TOO_MANY:
                following = schedule.find_next(max(following, now - timedelta(hours=1)), zone)
            else:
                following = schedule.find_next(following, zone)
        return due, following

    def _list_served_times(self) -> Iterator[datetime]:
        """List the times of the existing jobs: they were served, even if the status lacks them.

        Users may write anything into the annotation.
        """
        for job in self.jobs:
            with contextlib.suppress(ValueError):
                served = parse_time(get_annotations(job).get(_SCHEDULED))
                if served is not None and served <= self.view.now:
                    yield served

    def _build_schedule_warning(self) -> Record:
        """Build the warning for a schedule without any time, such as the 31st of February."""
        schedule = get_spec(self.cron).get("schedule") or ""
        problem = "time difference between two schedules is less than 1 second"
        return Record(
            about=self.cron,
            reason="InvalidSchedule",
            message=f"invalid schedule: {schedule} : {problem}",
            component=_COMPONENT,
            is_warning=True,
        )

    def _is_late(self, due: datetime) -> bool:
        limit = get_spec(self.cron).get("startingDeadlineSeconds")
        return limit is not None and due + duration.from_seconds(limit) < self.view.now

    def _start(self, due: datetime) -> tuple[list[Action], Object | None]:
        policy = get_spec(self.cron).get("concurrencyPolicy") or "Allow"
        actions: list[Action] = []
        if self.active and policy == "Forbid":
            text = (
                "Not starting job because prior execution is running and concurrency policy is"
                " Forbid"
            )
            return [self._build_event("JobAlreadyActive", text)], None
        if self.active and policy == "Replace":
            for job in self.active:
                actions.append(delete(JOBS, job))
                actions.append(
                    self._build_event("SuccessfulDelete", f"Deleted job {get_name(job)}")
                )
        job = self._build_job(due)
        actions.append(Create(JOBS, job))
        actions.append(self._build_event("SuccessfulCreate", f"Created job {get_name(job)}"))
        return actions, job

    def _build_job(self, due: datetime) -> Object:
        template = get_spec(self.cron).get("jobTemplate") or {}
        given = template.get("metadata") or {}
        return {
            "kind": "Job",
            "apiVersion": "batch/v1",
            "metadata": {
                "name": f"{get_name(self.cron)}-{int(due.timestamp()) // 60}",
                "namespace": get_namespace(self.cron),
                "labels": dict(given.get("labels") or {}),
                "annotations": {**(given.get("annotations") or {}), _SCHEDULED: format_moment(due)},
                "ownerReferences": [build_owner_reference(self.cron)],
            },
            "spec": template.get("spec") or {},
        }

    def _delete_old_jobs(self) -> Iterator[Action]:
        """Delete the oldest finished jobs that exceed the history limits."""
        for kind, member in (
            ("Complete", "successfulJobsHistoryLimit"),
            ("Failed", "failedJobsHistoryLimit"),
        ):
            limit = get_spec(self.cron).get(member)
            if limit is None:
                continue
            over = [
                job
                for job in self.jobs
                if is_true(get_status(job).get("conditions"), kind) and not is_deleting(job)
            ]
            over.sort(key=lambda job: get_status(job).get("startTime") or "")
            for job in over[: max(0, len(over) - limit)]:
                yield delete(JOBS, job)
                yield self._build_event("SuccessfulDelete", f"Deleted job {get_name(job)}")

    def _update_status(self, last: str | None) -> Iterator[Action]:
        served = [format_moment(each) for each in self._list_served_times()]
        last = max([*served, *([last] if last else [])], default=None)
        new: Object = {}
        if self.active:
            new["active"] = [_build_reference(job) for job in self.active]
        if last:
            new["lastScheduleTime"] = last
        if (success := self._find_last_success()) is not None:
            new["lastSuccessfulTime"] = success
        if new != get_status(self.cron):
            yield update(CRON_JOBS, self.cron, "status", status=new)
        known = {each.get("uid") for each in get_status(self.cron).get("active") or ()}
        for job in self.jobs:
            if get_uid(job) in known and is_over(job):
                how = (
                    "Complete"
                    if is_true(get_status(job).get("conditions"), "Complete")
                    else "Failed"
                )
                text = f"Saw completed job: {get_name(job)}, condition: {how}"
                yield self._build_event("SawCompletedJob", text)

    def _find_last_success(self) -> str | None:
        times = [
            found.get("lastTransitionTime")
            for job in self.jobs
            if (found := get_condition(get_status(job).get("conditions"), "Complete")) is not None
        ]
        present = get_status(self.cron).get("lastSuccessfulTime")
        return max([each for each in (*times, present) if each], default=None)

    def _build_event(self, reason: str, message: str) -> Record:
        return Record(about=self.cron, reason=reason, message=message, component=_COMPONENT)


def _build_reference(job: Object) -> Object:
    return {
        "kind": "Job",
        "namespace": get_namespace(job),
        "name": get_name(job),
        "uid": get_uid(job),
        "apiVersion": "batch/v1",
    }
