"""The Job controller: runs pods until enough of them succeeded."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from quarterdeck.kit import duration
from quarterdeck.kit.backoff import compute_doubled
from quarterdeck.kit.digits import parse_digits
from quarterdeck.server.lifecycle.engine.actions import Action, Record, Requeue
from quarterdeck.server.lifecycle.engine.controller import find_controller_keys
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    delete,
    format_moment,
    get_annotations,
    get_condition,
    get_name,
    get_spec,
    get_status,
    is_deleting,
    is_true,
    parse_time,
    update,
    with_condition,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.pods import (
    BURST,
    PODS,
    build_pod,
    claim,
    create_pod,
    delete_pod,
    is_active,
    is_ready,
    parse_selector,
)
from quarterdeck.server.registry.name_generator import generate_name
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

JOBS = "jobs.batch"
INDEX = "batch.kubernetes.io/job-completion-index"
_COMPONENT = "job-controller"
_FIRST_BACKOFF_S = 10.0
_LAST_BACKOFF_S = 600.0


class Jobs:
    """Creates the pods of jobs and counts successes and failures."""

    name = _COMPONENT
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({JOBS, PODS})
    initial: Sequence[StoreKey] = ()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find the job itself, or that of a pod."""
        if event.key.resource == JOBS:
            yield event.key
        else:
            yield from find_controller_keys(event, index, kind="Job", resource=JOBS)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Plan the next step of one job."""
        job = view.get(key)
        selector = None if job is None else parse_selector(job)
        if job is None or selector is None or is_deleting(job):
            return ()
        if is_over(job):
            return list(_delete_after_ttl(job, view.now))
        pods, actions = claim(view, job, PODS, selector)
        return actions or list(_Sync(view, job, pods).plan())


def is_over(job: Object) -> bool:
    """Whether a job has succeeded or failed for good."""
    conditions = get_status(job).get("conditions")
    return is_true(conditions, "Complete") or is_true(conditions, "Failed")


def _delete_after_ttl(job: Object, now: datetime) -> Iterator[Action]:
    """Delete a finished job after its TTL, if it has one."""
    seconds = get_spec(job).get("ttlSecondsAfterFinished")
    if seconds is None:
        return
    conditions = get_status(job).get("conditions")
    found = get_condition(conditions, "Complete") or get_condition(conditions, "Failed") or {}
    ended = parse_time(found.get("lastTransitionTime")) or now
    left = seconds - (now - ended).total_seconds()
    yield Requeue(left) if left > 0 else delete(JOBS, job)


class _Sync:
    """The plan of one unfinished job."""

    def __init__(self, view: View, job: Object, pods: list[Object]) -> None:
        self.view = view
        self.job = job
        self.now = format_moment(view.now)
        self.active = [pod for pod in pods if is_active(pod)]
        self.failures = [pod for pod in pods if get_status(pod).get("phase") == "Failed"]
        good = [pod for pod in pods if get_status(pod).get("phase") == "Succeeded"]
        self.is_indexed = get_spec(job).get("completionMode") == "Indexed"
        self.done = self._find_done_indexes(good) if self.is_indexed else []
        # pods that were deleted stay counted
        self.succeeded = max(
            sum(map(len, self.done)) if self.is_indexed else len(good),
            get_status(job).get("succeeded") or 0,
        )
        self.failed = max(len(self.failures), get_status(job).get("failed") or 0)
        self.ending = [pod for pod in pods if is_deleting(pod)]

    def plan(self) -> Iterator[Action]:
        if get_spec(self.job).get("suspend"):
            yield from self._suspend_job()
            return
        if (end := self._find_completion()) is not None:
            yield from self._finish(*end)
            return
        actions = list(self._adjust_pods())
        yield from actions
        if not any(isinstance(each, Record) for each in actions):
            yield from self._update_status(self._build_resumed_conditions())
        yield from self._plan_deadline()

    # verdicts ------------------------------------------------------------------------------------

    def _find_completion(self) -> tuple[str, str, str] | None:
        """Find why the job is over: type of the condition, reason and message."""
        restarts = sum(
            each.get("restartCount") or 0
            for pod in self.active
            for each in get_status(pod).get("containerStatuses") or ()
        )
        limit = get_spec(self.job).get("backoffLimit")
        if self.failed + restarts > (6 if limit is None else limit):
            text = "Job has reached the specified backoff limit"
            return ("Failed", "BackoffLimitExceeded", text)
        left = self._compute_time_left()
        if left is not None and left <= 0:
            text = "Job was active longer than specified deadline"
            return ("Failed", "DeadlineExceeded", text)
        completions = get_spec(self.job).get("completions")
        if completions is None:
            is_done = self.succeeded > 0 and not self.active
        else:
            is_done = self.succeeded >= completions
        if is_done:
            text = "Reached expected number of succeeded pods"
            return ("Complete", "CompletionsReached", text)
        return None

    def _compute_time_left(self) -> float | None:
        limit = get_spec(self.job).get("activeDeadlineSeconds")
        begun = parse_time(get_status(self.job).get("startTime"))
        if limit is None or begun is None:
            return None
        return (begun + duration.from_seconds(limit) - self.view.now).total_seconds()

    def _plan_deadline(self) -> Iterator[Action]:
        if (left := self._compute_time_left()) is not None:
            yield Requeue(max(left, 0.0))

    def _finish(self, kind: str, reason: str, message: str) -> Iterator[Action]:
        for pod in self.active:
            yield from delete_pod(self.job, pod, _COMPONENT)
        early = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
        conditions = get_status(self.job).get("conditions")
        for each in (early, kind):
            conditions = with_condition(conditions, self._build_condition(each, reason, message))
        new = self._build_status(conditions or [])
        new.pop("active", None)
        new.pop("ready", None)
        if kind == "Complete":
            new["completionTime"] = self.now
        yield update(JOBS, self.job, "status", status=new | {"ready": 0})
        is_failure = kind == "Failed"
        yield Record(
            about=self.job,
            reason=reason if is_failure else "Completed",
            message=message if is_failure else "Job completed",
            component=_COMPONENT,
            is_warning=is_failure,
        )

    # pods ----------------------------------------------------------------------------------------

    def _adjust_pods(self) -> Iterator[Action]:
        parallelism = get_spec(self.job).get("parallelism")
        wanted = 1 if parallelism is None else int(parallelism)
        completions = get_spec(self.job).get("completions")
        if completions is not None:
            wanted = min(wanted, completions - self.succeeded)
        elif self.succeeded:
            wanted = min(wanted, len(self.active))
        surplus = len(self.active) - wanted
        for pod in self.active[:surplus] if surplus > 0 else ():
            yield from delete_pod(self.job, pod, _COMPONENT)
        if surplus >= 0:
            return
        if (pause := self._compute_backoff()) > 0:
            yield Requeue(pause)
            return
        for index in self._find_free_indexes(min(-surplus, BURST)):
            yield from create_pod(self.job, self._build_pod(index), _COMPONENT)

    def _compute_backoff(self) -> float:
        """Compute how long to wait after the last failure; longer after each."""
        ends = [end for pod in self.failures if (end := _end_of(pod)) is not None]
        if not ends:
            return 0.0
        seconds = compute_doubled(_FIRST_BACKOFF_S, len(ends) - 1, _LAST_BACKOFF_S)
        return (max(ends) + timedelta(seconds=seconds) - self.view.now).total_seconds()

    def _find_free_indexes(self, number: int) -> Iterator[int | None]:
        if not self.is_indexed:
            yield from [None] * number
            return
        taken = {_get_index(pod) for pod in self.active}
        free = (index for index in self._list_unfinished_indexes() if index not in taken)
        yield from itertools.islice(free, number)

    def _list_unfinished_indexes(self) -> Iterator[int]:
        start = 0
        for each in self.done:
            yield from range(start, each.start)
            start = each.stop
        yield from range(start, self._count_indexes())

    def _find_done_indexes(self, good: list[Object]) -> list[range]:
        """Find the indexes that succeeded, also those whose pods were deleted since."""
        count = self._count_indexes()
        found = [range(index, index + 1) for pod in good if (index := _get_index(pod)) is not None]
        found += _parse_ranges(get_status(self.job).get("completedIndexes") or "")
        return _merge(range(each.start, min(each.stop, count)) for each in found)

    def _count_indexes(self) -> int:
        return int(get_spec(self.job).get("completions") or 0)

    def _build_pod(self, index: int | None) -> Object:
        template = get_spec(self.job).get("template") or {}
        prefix = f"{get_name(self.job)}-" if index is None else f"{get_name(self.job)}-{index}-"
        pod_name = generate_name(prefix, self.view.random)
        pod = build_pod(self.job, template, pod_name, generateName=prefix)
        if index is not None:
            for member in ("annotations", "labels"):
                pod["metadata"][member] = {
                    **(pod["metadata"].get(member) or {}),
                    INDEX: str(index),
                }
            pod["spec"] = {**pod["spec"], "hostname": f"{get_name(self.job)}-{index}"}
        return pod

    # status --------------------------------------------------------------------------------------

    def _suspend_job(self) -> Iterator[Action]:
        for pod in self.active:
            yield from delete_pod(self.job, pod, _COMPONENT)
        present = get_status(self.job).get("conditions")
        if is_true(present, "Suspended"):
            return
        text = "Job suspended"
        conditions = with_condition(
            present, self._build_condition("Suspended", "JobSuspended", text)
        )
        self.active = []
        new = self._build_status(conditions)
        new.pop("startTime", None)
        yield update(JOBS, self.job, "status", status=new)
        yield Record(about=self.job, reason="Suspended", message=text, component=_COMPONENT)

    def _build_resumed_conditions(self) -> list[Object]:
        conditions = get_status(self.job).get("conditions") or []
        if not is_true(conditions, "Suspended"):
            return conditions
        again = self._build_condition("Suspended", "JobResumed", "Job resumed", state="False")
        return with_condition(conditions, again)

    def _update_status(self, conditions: list[Object]) -> Iterator[Action]:
        new = self._build_status(conditions)
        if new != get_status(self.job):
            yield update(JOBS, self.job, "status", status=new)

    def _build_status(self, conditions: list[Object]) -> Object:
        new: Object = {
            "active": len(self.active),
            "succeeded": self.succeeded,
            "failed": self.failed,
        }
        new = {member: number for member, number in new.items() if number}
        new["ready"] = sum(map(is_ready, self.active))
        new["terminating"] = len(self.ending)
        new["startTime"] = get_status(self.job).get("startTime") or self.now
        new["uncountedTerminatedPods"] = {}
        if self.is_indexed and self.done:
            new["completedIndexes"] = _format_ranges(self.done)
        if conditions:
            new["conditions"] = conditions
        return new

    def _build_condition(
        self, kind: str, reason: str, message: str, *, state: str = "True"
    ) -> Object:
        return {
            "type": kind,
            "status": state,
            "lastProbeTime": self.now,
            "lastTransitionTime": self.now,
            "reason": reason,
            "message": message,
        }


def _end_of(pod: Object) -> datetime | None:
    ends = [
        ((each.get("state") or {}).get("terminated") or {}).get("finishedAt")
        for each in get_status(pod).get("containerStatuses") or ()
    ]
    found = [time for each in ends if (time := parse_time(each)) is not None]
    return max(found) if found else None


def _get_index(pod: Object) -> int | None:
    """Return the completion index of a pod; None if its annotation is absent or invalid."""
    return parse_digits(get_annotations(pod).get(INDEX))


def _parse_ranges(text: str) -> Iterator[range]:
    """Parse what `_format_ranges` has written; anything else is left out."""
    for part in text.split(","):
        low, dash, high = part.partition("-")
        first, last = parse_digits(low), parse_digits(high if dash else low)
        if first is not None and last is not None:
            yield range(first, last + 1)


def _merge(ranges: Iterable[range]) -> list[range]:
    """Sort ranges, and join those that overlap or follow each other."""
    merged: list[range] = []
    for each in sorted(filter(None, ranges), key=lambda each: each.start):
        if merged and each.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, max(merged[-1].stop, each.stop))
        else:
            merged.append(each)
    return merged


def _format_ranges(ranges: Iterable[range]) -> str:
    """Format indexes as Kubernetes lists them: `0-2,5`."""
    return ",".join(
        str(each.start) if len(each) == 1 else f"{each.start}-{each.stop - 1}" for each in ranges
    )
