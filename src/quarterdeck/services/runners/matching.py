"""Decides which pools serve a job. Pure."""

from quarterdeck.apis.hypervisor.jobs import RUNNER_LABELS
from quarterdeck.apis.hypervisor.pool import RunnerPool
from quarterdeck.apis.hypervisor.workload import GithubWorkload
from quarterdeck.services.runners.events import JobEvent


def can_serve(pool: RunnerPool, event: JobEvent) -> bool:
    """Whether runners of a pool can take a job: by its labels, and its repository."""
    workload = pool.spec.workload
    if workload.type != "github-actions" or pool.is_deleting:
        return False
    github = workload.config.github if workload.config is not None else None
    if github is not None and not _is_from_workload(github, event):
        return False
    return event.labels <= get_job_labels(pool)


def _is_from_workload(github: GithubWorkload, event: JobEvent) -> bool:
    """Whether a job comes from the repository or organization of a workload."""
    if github.repository:
        name = github.repository
        if "/" not in name and github.organization:
            name = f"{github.organization}/{name}"
        return name.lower() == event.repository.lower()
    return not github.organization or github.organization.lower() == event.organization.lower()


def get_job_labels(pool: RunnerPool) -> frozenset[str]:
    """Return the labels of jobs that a pool takes."""
    webhook, config = pool.spec.webhook, pool.spec.workload.config
    if webhook is not None and webhook.labels_match:
        return frozenset(label.lower() for label in (*webhook.labels_match, *RUNNER_LABELS))
    own = config.github.labels if config is not None and config.github is not None else ()
    return frozenset(label.lower() for label in (*RUNNER_LABELS, *own))
