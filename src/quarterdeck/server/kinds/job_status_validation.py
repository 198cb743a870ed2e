"""Validation of the status of jobs.

A job finishes in steps: `SuccessCriteriaMet` or `FailureTarget` must be set before `Complete` or
`Failed`, and a finished job needs its times. As in Kubernetes, a rule is checked only if a member
that it reads changed, so that a status that is invalid already can still be written.
"""

from collections.abc import Iterator

from quarterdeck.kit import rfc3339
from quarterdeck.meta.field import OMITTED, Bare, FieldError, duplicate, invalid, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.job_indexes import InvalidIndexesError, count_indexes, find_overlap
from quarterdeck.server.registry.resource import Context, Object

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_FINISHED = frozenset({"Complete", "Failed"})
_CONDITIONS = "status.conditions"
_COMPLETION = "status.completionTime"
_FAILED_INDEXES = "status.failedIndexes"


def validate_job_status(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    """Check a changed status."""
    change = _Change(value, old)
    for member in _COUNTS:
        yield from validators.validate_non_negative(f"status.{member}", change.now.get(member))
    yield from _validate_uncounted(get_mapping(change.now, "uncountedTerminatedPods"))
    yield from _validate_ends(change)
    yield from _validate_times(change)
    yield from _validate_finished(change)
    yield from _validate_indexes(change)
    yield from _validate_decrease(change)


class _Change:
    """The old and the new status of a job."""

    def __init__(self, value: Object, old: Object) -> None:
        self.spec = get_mapping(value, "spec")
        self.now, self.before = get_mapping(value, "status"), get_mapping(old, "status")
        self.true, self.was_true = (_find_true(each) for each in (self.now, self.before))

    def touches(self, *names: str) -> bool:
        """Whether one of these members or conditions changed."""
        return any(
            (name in self.true) != (name in self.was_true)
            if name[0].isupper()
            else self.now.get(name) != self.before.get(name)
            for name in names
        )

    @property
    def is_finished(self) -> bool:
        """Whether the job is complete or failed in the new status."""
        return bool(self.true & _FINISHED)

    @property
    def finishes(self) -> bool:
        """Whether the job becomes finished, or is no longer finished."""
        return self.is_finished != bool(self.was_true & _FINISHED)


def _find_true(status: Object) -> frozenset[str]:
    return frozenset(
        each.get("type") or ""
        for each in get_items(status, "conditions")
        if each.get("status") == "True"
    )


def _validate_uncounted(pods: Object) -> Iterator[FieldError]:
    seen: set[str] = set()
    for member in ("succeeded", "failed"):
        for index, uid in enumerate(get_items(pods, member)):
            path = f"status.uncountedTerminatedPods.{member}[{index}]"
            if not uid:
                yield invalid(path, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(path, uid)
            seen.add(uid)


def _validate_ends(change: _Change) -> Iterator[FieldError]:
    """Check that the conditions about the end of a job are consistent."""
    for problem in (*_find_wrong_pairs(change), *_find_missing(change), *_find_reversals(change)):
        yield invalid(_CONDITIONS, OMITTED, problem)


def _find_wrong_pairs(change: _Change) -> Iterator[str]:
    for other in ("Failed", "FailureTarget"):
        if {"Complete", other} <= change.true and change.touches("Complete", other):
            yield f"cannot set Complete=True and {other}=true conditions"
        if {"SuccessCriteriaMet", other} <= change.true:
            yield f"cannot set SuccessCriteriaMet=True and {other}=true conditions"


def _find_missing(change: _Change) -> Iterator[str]:
    """Find terminal conditions without the condition that must precede them."""
    is_failed, is_complete = "Failed" in change.true, "Complete" in change.true
    announced = "FailureTarget" in change.true
    if is_failed and not announced and change.touches("Failed", "failedIndexes"):
        yield "cannot set Failed=True condition without the FailureTarget=true condition"
    if not is_complete or "SuccessCriteriaMet" in change.true:
        return
    if change.touches("Complete", "SuccessCriteriaMet"):
        yield "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
    if change.spec.get("successPolicy"):
        yield "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"


def _find_reversals(change: _Change) -> Iterator[str]:
    """Find terminal conditions that are removed."""
    gone = change.was_true - change.true
    for kind in ("Failed", "Complete", "FailureTarget"):
        if kind in gone:
            yield f"cannot disable the terminal {kind}=True condition"
    if "SuccessCriteriaMet" in gone:
        yield "cannot disable the SuccessCriteriaMet=True condition"
    if "SuccessCriteriaMet" in change.true - change.was_true and "Complete" in change.was_true:
        yield "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"


def _validate_times(change: _Change) -> Iterator[FieldError]:
    now, before, is_complete = change.now, change.before, "Complete" in change.true
    started, ended = now.get("startTime"), now.get("completionTime")
    if change.touches("Complete", "completionTime"):
        if ended and not is_complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            yield invalid(_COMPLETION, _format_go_time(ended), text)
        if not ended and is_complete:
            yield required(_COMPLETION, "completionTime is required for Complete jobs")
    if started and ended and change.touches("startTime", "completionTime"):
        is_early = rfc3339.parse(ended) < rfc3339.parse(started)
        if is_early:
            text = "completionTime cannot be set before startTime"
            yield invalid(_COMPLETION, _format_go_time(ended), text)
    if ended and before.get("completionTime") and change.touches("completionTime"):
        yield invalid(_COMPLETION, _format_go_time(ended), "completionTime cannot be mutated")
    resumes = "Suspended" in change.was_true - change.true
    may_change = resumes or change.spec.get("suspend") or not before.get("startTime")
    if not may_change and change.touches("startTime"):
        yield required("status.startTime", "startTime cannot be removed for unsuspended job")


def _format_go_time(text: str) -> Bare:
    """Format a time as Go prints one in an error."""
    return Bare(f"{rfc3339.parse(text):%Y-%m-%d %H:%M:%S} +0000 UTC")


def _validate_finished(change: _Change) -> Iterator[FieldError]:
    """Check that a finished job has a start time, and no active or uncounted pods."""
    now, finishes = change.now, change.finishes
    active, ready = now.get("active") or 0, now.get("ready")
    if ready is not None and ready > active and change.touches("ready", "active"):
        yield invalid("status.ready", ready, "cannot set more ready pods than active")
    if not change.is_finished:
        return
    for member in ("active", "terminating"):
        number = now.get(member) or 0
        if number > 0 and (finishes or change.touches(member)):
            yield invalid(f"status.{member}", number, f"{member}>0 is invalid for finished job")
    is_empty = bool(change.spec.get("suspend")) and change.spec.get("completions") == 0
    if not now.get("startTime") and not is_empty and (finishes or change.touches("startTime")):
        yield required("status.startTime", "startTime is required for finished job")
    member = "uncountedTerminatedPods"
    pods = get_mapping(now, member)
    if any(pods.values()) and (finishes or change.touches(member)):
        text = "uncountedTerminatedPods needs to be empty for finished job"
        yield invalid(f"status.{member}", _format_go_pods(pods), text)


def _format_go_pods(pods: Object) -> Bare:
    lists = (
        f"{go}:{_format_go_uids(get_items(pods, name))}"
        for go, name in (("Succeeded", "succeeded"), ("Failed", "failed"))
    )
    return Bare(f"batch.UncountedTerminatedPods{{{', '.join(lists)}}}")


def _format_go_uids(uids: list[str]) -> str:
    shown = validators.format_go_strings(uids).removeprefix("[]string")
    return f"[]types.UID{shown}" if uids else "[]types.UID(nil)"


def _validate_indexes(change: _Change) -> Iterator[FieldError]:
    spec, now = change.spec, change.now
    completions, failed = spec.get("completions"), now.get("failedIndexes")
    done, limit = now.get("completedIndexes") or "", spec.get("backoffLimitPerIndex")
    if change.touches("completedIndexes"):
        if completions is not None:
            yield from _validate_format("completedIndexes", done, completions)
        if done and spec.get("completionMode") != "Indexed":
            text = "cannot set non-empty completedIndexes when non-indexed completion mode"
            yield invalid("status.completedIndexes", done, text)
    if failed is None:
        return
    if change.touches("failedIndexes"):
        if completions is not None and limit is not None:
            yield from _validate_format("failedIndexes", failed, completions)
        if limit is None:
            text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            yield invalid(_FAILED_INDEXES, failed, text)
    if completions is not None and change.touches("failedIndexes", "completedIndexes"):
        shared = find_overlap(done, failed, completions)
        if shared is not None:
            text = f"failedIndexes and completedIndexes overlap at index: {shared}"
            yield invalid(_FAILED_INDEXES, failed, text)


def _validate_format(member: str, text: str, completions: int) -> Iterator[FieldError]:
    try:
        count_indexes(text, completions)
    except InvalidIndexesError as error:
        yield invalid(f"status.{member}", text, f"error parsing {member}: {error}")


def _validate_decrease(change: _Change) -> Iterator[FieldError]:
    spec, counters = change.spec, ["failed"]
    is_scalable = spec.get("completions") == spec.get("parallelism")
    if spec.get("completionMode") != "Indexed" or not is_scalable:
        counters.append("succeeded")
    for member in counters:
        number = change.now.get(member) or 0
        if number < (change.before.get(member) or 0):
            yield invalid(f"status.{member}", number, f"cannot decrease the {member} counter")
