"""Computes the status of an Application from the observed objects. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quarterdeck.apis.applications.v1 import Application, Phase
from quarterdeck.apis.apps import Deployment, DeploymentCondition
from quarterdeck.apis.batch import Job, JobCondition
from quarterdeck.apis.core.pods import ContainerStatus, Pod
from quarterdeck.operators.applications.conditions import Reason

_PULLING = frozenset(
    {"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ErrImageInspect"}
)
_STARTING = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError"}
)


class Problem(NamedTuple):
    """A problem that does not resolve by waiting."""

    reason: Reason
    message: str


class Assessment(NamedTuple):
    """The state of an application, as its status shows it."""

    replicas: int
    ready: int
    phase: Phase
    is_ready: bool
    reason: Reason
    message: str
    is_progressing: bool
    progress: str


def assess_deployment(
    app: Application, deployment: Deployment | None, pods: Sequence[Pod]
) -> Assessment:
    """The state of an application that runs continuously."""
    wanted = app.spec.replicas
    if deployment is None:
        counted = _describe_missing(wanted, replicas=0, ready=0, updated=0)
        return _build_waiting(
            app, 0, 0, counted=counted, progress="the Deployment does not exist yet"
        )
    status = deployment.status
    is_current = status.observed_generation >= deployment.metadata.generation
    replicas, ready = status.replicas, min(status.ready_replicas, status.replicas)
    updated = status.updated_replicas
    if is_current and replicas == updated == ready == wanted:
        return Assessment(
            replicas=replicas,
            ready=ready,
            phase="Running",
            is_ready=True,
            reason=Reason.RECONCILIATION_SUCCEEDED,
            message=_describe_all_ready(wanted),
            is_progressing=False,
            progress="all replicas run the current spec",
        )
    problem = _find_deployment_problem(deployment.status.conditions) or find_pod_problem(pods)
    progress = f"{updated} of {wanted} replicas updated, {ready} ready"
    counted = _describe_missing(wanted, replicas=replicas, ready=ready, updated=updated)
    if problem is not None:
        return Assessment(
            replicas=replicas,
            ready=ready,
            phase="Failed",
            is_ready=False,
            reason=problem.reason,
            message=f"{counted}: {problem.message}",
            is_progressing=problem.reason is not Reason.DEADLINE_EXCEEDED,
            progress=progress,
        )
    return _build_waiting(app, replicas, ready, counted=counted, progress=progress)


def _describe_missing(wanted: int, *, replicas: int, ready: int, updated: int) -> str:
    """What is missing: ready replicas, replicas of the current spec, or the end of old ones."""
    if ready < wanted:
        return f"{ready} of {wanted} replicas are ready"
    if updated < wanted:
        return f"{updated} of {wanted} replicas run the current spec, {ready} are ready"
    if replicas > wanted:
        old = replicas - wanted
        return f"waiting for {old} old replica{'s' if old > 1 else ''} to terminate"
    return "waiting for the Deployment to observe the current spec"


def _build_waiting(
    app: Application, replicas: int, ready: int, *, counted: str, progress: str
) -> Assessment:
    """Assess an application whose replicas are not ready and have no problem.

    One that was Running stays Running while it has a ready replica.
    """
    was_running = app.status.phase == "Running" and ready > 0
    return Assessment(
        replicas=replicas,
        ready=ready,
        phase="Running" if was_running else "Pending",
        is_ready=False,
        reason=Reason.REPLICAS_NOT_READY if ready < app.spec.replicas else Reason.UPDATING,
        message=counted,
        is_progressing=True,
        progress=progress,
    )


def _describe_all_ready(wanted: int) -> str:
    if wanted == 0:
        return "scaled to zero"
    return "the replica is ready" if wanted == 1 else f"all {wanted} replicas are ready"


def assess_job(app: Application, job: Job | None, pods: Sequence[Pod]) -> Assessment:
    """The state of an application that runs once."""
    status = job.status if job is not None else None
    done = status.succeeded if status is not None else 0
    active = status.active if status is not None else 0
    ready = (status.ready or 0) if status is not None else 0
    conditions = status.conditions if status is not None else ()
    counted = f"{done} of {app.spec.replicas} runs succeeded"
    if _find_job_condition(conditions, "Complete") is not None:
        return _build_job_assessment(active, ready, "Succeeded", Reason.JOB_SUCCEEDED, counted)
    if (failed := _find_job_condition(conditions, "Failed")) is not None:
        why = failed.message or failed.reason or "the Job failed"
        return _build_job_assessment(
            active, ready, "Failed", Reason.JOB_FAILED, f"{counted}: {why}"
        )
    if (problem := find_pod_problem(pods)) is not None:
        text = f"{counted}: {problem.message}"
        return _build_job_assessment(active, ready, "Failed", problem.reason, text)
    phase: Phase = "Running" if active else "Pending"
    return _build_job_assessment(active, ready, phase, Reason.JOB_RUNNING, counted)


def _build_job_assessment(
    active: int, ready: int, phase: Phase, reason: Reason, message: str
) -> Assessment:
    has_ended = reason in (Reason.JOB_SUCCEEDED, Reason.JOB_FAILED)
    return Assessment(
        replicas=active,
        ready=ready,
        phase=phase,
        is_ready=phase == "Succeeded",
        reason=reason,
        message=message,
        is_progressing=not has_ended,
        progress=message,
    )


def _find_job_condition(conditions: Iterable[JobCondition], type_: str) -> JobCondition | None:
    return next((c for c in conditions if c.type == type_ and c.status == "True"), None)


def _find_deployment_problem(conditions: Iterable[DeploymentCondition]) -> Problem | None:
    for condition in conditions:
        match (condition.type, condition.status):
            case ("ReplicaFailure", "True"):
                is_quota = "exceeded quota" in condition.message
                reason = Reason.QUOTA_EXCEEDED if is_quota else Reason.REPLICA_REFUSED
                return Problem(reason, condition.message or condition.reason)
            case ("Progressing", "False"):
                text = condition.message or "the update does not progress"
                return Problem(Reason.DEADLINE_EXCEEDED, text)
    return None


def find_pod_problem(pods: Iterable[Pod]) -> Problem | None:
    """The first problem that keeps a replica from running; pods are checked by name."""
    for pod in sorted(pods, key=lambda each: each.metadata.name):
        if pod.is_deleting:
            continue
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
            if (problem := _find_container_problem(status)) is not None:
                return problem
        if (problem := _find_scheduling_problem(pod)) is not None:
            return problem
    return None


def _find_container_problem(status: ContainerStatus) -> Problem | None:
    waiting = status.state.waiting
    if waiting is None:
        return None
    if waiting.reason in _PULLING:
        text = waiting.message or "the registry does not provide it"
        return Problem(
            Reason.IMAGE_CANNOT_BE_PULLED,
            f"image {status.image} cannot be pulled ({text}); check spec.image",
        )
    if waiting.reason == "CrashLoopBackOff":
        return Problem(Reason.CRASH_LOOP, _describe_crash(status))
    if waiting.reason in _STARTING:
        return Problem(Reason.CANNOT_START, waiting.message or waiting.reason)
    return None


def _describe_crash(status: ContainerStatus) -> str:
    ended = status.last_state.terminated
    times = f"the container ended {status.restart_count} times"
    if ended is None:
        return f"{times}; see its log"
    how = f"exit code {ended.exit_code}"
    if ended.reason and ended.reason != "Error":
        how = f"{ended.reason}, {how}"
    return f"{times}, last with {how}; see its log"


def _find_scheduling_problem(pod: Pod) -> Problem | None:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.reason == "Unschedulable":
            return Problem(
                Reason.UNSCHEDULABLE, condition.message or "no node has enough resources"
            )
    return None
