"""The status of a Deployment: replica counts and conditions."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quarterdeck.server.lifecycle.engine.objects import (
    format_moment,
    get_condition,
    get_name,
    get_spec,
    get_status,
    parse_time,
)
from quarterdeck.server.lifecycle.workloads.replica_sets import get_replicas
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent

AVAILABLE = "NewReplicaSetAvailable"
CREATED = "NewReplicaSetCreated"
FOUND = "FoundNewReplicaSet"
UPDATED = "ReplicaSetUpdated"
EXCEEDED = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"
RESUMED = "DeploymentResumed"
_NO_DEADLINE = 2**31 - 1


class Observed(NamedTuple):
    """The replica sets of a deployment, from which its status is computed."""

    sets: Sequence[Object]
    new: Object | None
    created: Object | None
    """The replica set that the same plan creates, if any."""
    unavailable: int


def get_old_labels(event: StoreEvent) -> Mapping[str, str] | None:
    """Return the labels of the object before a write; None if it did not exist."""
    return None if event.before is None else get_object_meta(event.before).labels


def compute(deployment: Object, observed: Observed, now: datetime) -> Object:
    """Compute the status of a deployment."""
    new = _build_replica_counts(deployment, observed)
    conditions = list(get_status(deployment).get("conditions") or ())
    conditions = _set_condition(
        conditions, _build_available_condition(deployment, new, observed.unavailable), now
    )
    conditions = _update_progress(deployment, observed, new, conditions, now)
    conditions = _update_failure(observed, conditions, now)
    new["conditions"] = conditions
    if (collisions := get_status(deployment).get("collisionCount")) is not None:
        new["collisionCount"] = collisions
    return new


def is_complete(deployment: Object, numbers: Object) -> bool:
    """Whether the rollout is complete: all replicas are updated and available."""
    replicas = get_replicas(deployment)
    return (
        (numbers.get("updatedReplicas") or 0) == replicas
        and (numbers.get("replicas") or 0) == replicas
        and (numbers.get("availableReplicas") or 0) == replicas
        and (numbers.get("observedGeneration") or 0) >= _get_generation(deployment)
    )


def is_reported_complete(numbers: Object) -> bool:
    """Whether the condition Progressing has the reason of a completed rollout."""
    found = get_condition(numbers.get("conditions"), "Progressing")
    return found is not None and found.get("reason") == AVAILABLE


def compute_time_left(deployment: Object, numbers: Object, now: datetime) -> float | None:
    """Compute how long the rollout may still take without progress; None without a deadline."""
    found = get_condition(numbers.get("conditions"), "Progressing")
    seconds = _get_deadline(deployment)
    if found is None or seconds is None or get_spec(deployment).get("paused"):
        return None
    if found.get("reason") in (AVAILABLE, EXCEEDED, PAUSED) or is_complete(deployment, numbers):
        return None
    last = parse_time(found.get("lastUpdateTime"))
    if last is None:
        return None
    return max(0.0, (last + timedelta(seconds=seconds) - now).total_seconds()) + 1.0


def _get_generation(deployment: Object) -> int:
    return int(deployment["metadata"].get("generation") or 0)


def _get_deadline(deployment: Object) -> int | None:
    seconds = get_spec(deployment).get("progressDeadlineSeconds")
    return None if seconds is None or seconds >= _NO_DEADLINE else int(seconds)


def _build_replica_counts(deployment: Object, observed: Observed) -> Object:
    sets = observed.sets
    new = get_status(observed.new) if observed.new is not None else {}
    total = sum(get_replicas(each) for each in sets)
    if observed.created is not None:
        total += get_replicas(observed.created)
    available = _sum(sets, "availableReplicas")
    numbers = {
        "observedGeneration": _get_generation(deployment),
        "replicas": _sum(sets, "replicas"),
        "updatedReplicas": new.get("replicas") or 0,
        "readyReplicas": _sum(sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, total - available),
    }
    return {member: number for member, number in numbers.items() if number}


def _sum(sets: Sequence[Object], member: str) -> int:
    return sum(get_status(each).get(member) or 0 for each in sets)


# conditions --------------------------------------------------------------------------------------


def _build_condition(kind: str, state: str, reason: str, message: str) -> Object:
    return {"type": kind, "status": state, "reason": reason, "message": message}


def _set_condition(
    conditions: list[Object], new: Object, now: datetime, *, touch: bool = False
) -> list[Object]:
    """Set a condition; if status and reason are the same it is kept, unless `touch` is set."""
    old = get_condition(conditions, new["type"])
    if (
        old is not None
        and not touch
        and (old.get("status"), old.get("reason")) == (new["status"], new["reason"])
    ):
        return conditions
    moment = format_moment(now)
    since = moment
    if old is not None and old.get("status") == new["status"]:
        since = old.get("lastTransitionTime") or moment
    fresh = {
        "type": new["type"],
        "status": new["status"],
        "lastUpdateTime": moment,
        "lastTransitionTime": since,
        "reason": new["reason"],
        "message": new["message"],
    }
    return [*(each for each in conditions if each.get("type") != new["type"]), fresh]


def _build_available_condition(deployment: Object, numbers: Object, unavailable: int) -> Object:
    floor = get_replicas(deployment) - unavailable
    if (numbers.get("availableReplicas") or 0) >= floor:
        text = "Deployment has minimum availability."
        return _build_condition("Available", "True", "MinimumReplicasAvailable", text)
    text = "Deployment does not have minimum availability."
    return _build_condition("Available", "False", "MinimumReplicasUnavailable", text)


def _update_progress(
    deployment: Object, observed: Observed, new: Object, conditions: list[Object], now: datetime
) -> list[Object]:
    if _get_deadline(deployment) is None:
        return [each for each in conditions if each.get("type") != "Progressing"]
    present = get_condition(conditions, "Progressing")
    reason = None if present is None else present.get("reason")
    if get_spec(deployment).get("paused"):
        if reason in (EXCEEDED, PAUSED):
            return conditions
        return _set_condition(
            conditions, _build_unknown_condition(PAUSED, "Deployment is paused"), now
        )
    if reason == PAUSED:
        return _set_condition(
            conditions, _build_unknown_condition(RESUMED, "Deployment is resumed"), now
        )
    if observed.created is not None:
        text = f'Created new replica set "{get_name(observed.created)}"'
        return _set_condition(
            conditions, _build_condition("Progressing", "True", CREATED, text), now
        )
    if present is None and observed.new is not None:
        text = f'Found new replica set "{get_name(observed.new)}"'
        conditions = _set_condition(
            conditions, _build_condition("Progressing", "True", FOUND, text), now
        )
        reason = FOUND
    is_done = new.get("replicas", 0) == new.get("updatedReplicas", 0) and reason == AVAILABLE
    if is_done:
        return conditions
    return _advance_progress(deployment, observed, new, conditions, now)


def _advance_progress(
    deployment: Object, observed: Observed, new: Object, conditions: list[Object], now: datetime
) -> list[Object]:
    who = f'Deployment "{get_name(deployment)}"'
    if observed.new is not None:
        who = f'ReplicaSet "{get_name(observed.new)}"'
    if is_complete(deployment, new):
        text = f"{who} has successfully progressed."
        return _set_condition(
            conditions, _build_condition("Progressing", "True", AVAILABLE, text), now
        )
    if _has_progressed(get_status(deployment), new):
        text = f"{who} is progressing."
        touched = _build_condition("Progressing", "True", UPDATED, text)
        return _set_condition(conditions, touched, now, touch=True)
    if _is_overdue(deployment, conditions, now):
        text = f"{who} has timed out progressing."
        return _set_condition(
            conditions, _build_condition("Progressing", "False", EXCEEDED, text), now
        )
    return conditions


def _build_unknown_condition(reason: str, message: str) -> Object:
    return _build_condition("Progressing", "Unknown", reason, message)


def _has_progressed(old: Object, new: Object) -> bool:
    def grown(member: str) -> bool:
        return (new.get(member) or 0) > (old.get(member) or 0)

    def others(numbers: Object) -> int:
        return int((numbers.get("replicas") or 0) - (numbers.get("updatedReplicas") or 0))

    return (
        grown("updatedReplicas")
        or others(new) < others(old)
        or grown("readyReplicas")
        or grown("availableReplicas")
    )


def _is_overdue(deployment: Object, conditions: list[Object], now: datetime) -> bool:
    found, seconds = get_condition(conditions, "Progressing"), _get_deadline(deployment)
    if found is None or seconds is None or found.get("reason") == AVAILABLE:
        return False
    if found.get("reason") == EXCEEDED:
        return True
    last = parse_time(found.get("lastUpdateTime"))
    return last is not None and last + timedelta(seconds=seconds) < now


def _update_failure(observed: Observed, conditions: list[Object], now: datetime) -> list[Object]:
    """Copy the condition of a replica set that cannot create pods to its deployment."""
    for each in observed.sets:
        found = get_condition(get_status(each).get("conditions"), "ReplicaFailure")
        if found is not None:
            text = found.get("message") or ""
            reason = found.get("reason") or ""
            new = _build_condition("ReplicaFailure", found.get("status") or "True", reason, text)
            return _set_condition(conditions, new, now)
    return [each for each in conditions if each.get("type") != "ReplicaFailure"]
