"""Which pools a job concerns."""

from typing import Any

import msgspec
import pytest

from quarterdeck.apis.hypervisor.jobs import Job
from quarterdeck.apis.hypervisor.pool import RunnerPool
from quarterdeck.services.runners.events import JobEvent
from quarterdeck.services.runners.matching import can_serve, get_job_labels

_EVENT = JobEvent(Job(id="1"), frozenset({"self-hosted", "linux"}), "Acme/Web", "Acme")


def _pool(type_: str = "github-actions", **more: Any) -> RunnerPool:
    github = more.pop("github", {"labels": ["Linux"]})
    config = {"github": github} if github is not None else None
    document = {
        "metadata": {"name": "ci", "namespace": "default", **more.pop("metadata", {})},
        "spec": {
            "templateRef": {"name": "small"},
            "workload": {"type": type_, "config": config},
            **more,
        },
    }
    return msgspec.convert(document, RunnerPool)


@pytest.mark.parametrize(
    ("pool", "answer"),
    [
        pytest.param(_pool(), True, id="anywhere"),
        pytest.param(_pool("gitlab-ci"), False, id="another system"),
        pytest.param(
            _pool(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
            False,
            id="on its way out",
        ),
        pytest.param(
            _pool(github={"repository": "acme/web", "labels": ["linux"]}), True, id="place"
        ),
        pytest.param(
            _pool(github={"repository": "web", "organization": "acme", "labels": ["linux"]}),
            True,
            id="place in two parts",
        ),
        pytest.param(
            _pool(github={"repository": "web", "labels": ["linux"]}), False, id="no owner"
        ),
        pytest.param(
            _pool(github={"repository": "acme/api", "labels": ["linux"]}), False, id="repository"
        ),
        pytest.param(
            _pool(github={"organization": "ACME", "labels": ["linux"]}), True, id="organization"
        ),
        pytest.param(
            _pool(github={"organization": "other", "labels": ["linux"]}), False, id="another one"
        ),
        pytest.param(_pool(github={"labels": ["windows"]}), False, id="other labels"),
        pytest.param(_pool(github=None, webhook={"labelsMatch": ["LINUX"]}), True, id="matched"),
    ],
)
def test_a_pool_serves_jobs_of_its_place_and_labels(pool: RunnerPool, answer: bool) -> None:
    assert can_serve(pool, _EVENT) is answer


def test_labels_to_match_replace_those_of_the_runners() -> None:
    pool = _pool(webhook={"labelsMatch": ["GPU"]})
    assert "gpu" in get_job_labels(pool)
    assert "linux" not in get_job_labels(pool)
    assert "self-hosted" in get_job_labels(pool)
