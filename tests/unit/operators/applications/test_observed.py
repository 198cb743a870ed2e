"""What an Application's status says of what was observed."""

from typing import Any

import msgspec
import pytest

from quarterdeck.apis.applications.v1 import Application, ApplicationSpec, ApplicationStatus
from quarterdeck.apis.apps import Deployment
from quarterdeck.apis.batch import Job
from quarterdeck.apis.core.pods import Pod
from quarterdeck.meta.objects import ObjectMeta, decode
from quarterdeck.operators.applications.conditions import Reason
from quarterdeck.operators.applications.observed import (
    assess_deployment,
    assess_job,
    find_pod_problem,
)

_TEMPLATE: dict[str, Any] = {"metadata": {}, "spec": {"containers": []}}


def application(replicas: int = 3, phase: str | None = None, **spec: Any) -> Application:
    status = {"phase": phase} if phase else {}
    return Application(
        metadata=ObjectMeta(name="web", namespace="shop"),
        spec=msgspec.convert({"replicas": replicas, "image": "nginx", **spec}, ApplicationSpec),
        status=msgspec.convert(status, ApplicationStatus),
    )


def deployment(*, seen: int = 1, **status: Any) -> Deployment:
    document = {
        "metadata": {"name": "web", "generation": 1},
        "spec": {"selector": {}, "template": _TEMPLATE},
        "status": {"observedGeneration": seen, **status},
    }
    return decode(Deployment, msgspec.json.encode(document))


def job(**status: Any) -> Job:
    document = {"metadata": {"name": "web"}, "spec": {"template": _TEMPLATE}, "status": status}
    return decode(Job, msgspec.json.encode(document))


def pod(name: str = "web-1", **status: Any) -> Pod:
    document = {"metadata": {"name": name}, "status": status}
    return decode(Pod, msgspec.json.encode(document))


def waiting(reason: str, message: str = "", **more: Any) -> Pod:
    state = {"waiting": {"reason": reason, "message": message}}
    return pod(
        containerStatuses=[{"name": "application", "image": "nginx", "state": state, **more}]
    )


ALL = {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3}


def test_all_replicas_ready_is_running() -> None:
    assessment = assess_deployment(application(), deployment(**ALL), [])
    assert (assessment.phase, assessment.is_ready, assessment.is_progressing) == (
        "Running",
        True,
        False,
    )
    assert assessment.reason is Reason.RECONCILIATION_SUCCEEDED
    assert (assessment.replicas, assessment.ready) == (3, 3)


def test_zero_replicas_are_running_too() -> None:
    assessment = assess_deployment(application(0), deployment(), [])
    assert (assessment.phase, assessment.message) == ("Running", "scaled to zero")


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(None, id="no deployment yet"),
        pytest.param(deployment(seen=0, **ALL), id="an old status"),
        pytest.param(deployment(replicas=3, updatedReplicas=3, readyReplicas=1), id="starting"),
        pytest.param(deployment(replicas=4, updatedReplicas=3, readyReplicas=4), id="surplus"),
        pytest.param(deployment(replicas=3, updatedReplicas=1, readyReplicas=3), id="outdated"),
    ],
)
def test_anything_less_is_pending_and_progressing(found: Deployment | None) -> None:
    assessment = assess_deployment(application(), found, [])
    assert (assessment.phase, assessment.is_ready, assessment.is_progressing) == (
        "Pending",
        False,
        True,
    )
    assert assessment.reason in (Reason.REPLICAS_NOT_READY, Reason.UPDATING)


def test_an_update_of_what_ran_before_keeps_running() -> None:
    rolling = deployment(replicas=4, updatedReplicas=1, readyReplicas=3)
    assessment = assess_deployment(application(phase="Running"), rolling, [])
    assert (assessment.phase, assessment.is_ready) == ("Running", False)
    stopped = deployment(replicas=0, updatedReplicas=0, readyReplicas=0)
    assert assess_deployment(application(phase="Running"), stopped, []).phase == "Pending"


@pytest.mark.parametrize(
    ("problem", "reason", "words"),
    [
        pytest.param(
            waiting("ErrImagePull", "not found"),
            Reason.IMAGE_CANNOT_BE_PULLED,
            ["nginx", "not found", "spec.image"],
            id="image",
        ),
        pytest.param(
            waiting(
                "CrashLoopBackOff",
                restartCount=4,
                lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
            ),
            Reason.CRASH_LOOP,
            ["4 times", "OOMKilled", "137"],
            id="crash loop",
        ),
        pytest.param(
            waiting("CreateContainerConfigError", 'configmap "x" not found'),
            Reason.CANNOT_START,
            ['configmap "x" not found'],
            id="config",
        ),
        pytest.param(
            pod(
                conditions=[
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/1 nodes are available: Insufficient cpu.",
                    }
                ]
            ),
            Reason.UNSCHEDULABLE,
            ["Insufficient cpu"],
            id="no room",
        ),
    ],
)
def test_a_pod_in_trouble_says_what_is_wrong(
    problem: Pod, reason: Reason, words: list[str]
) -> None:
    found = deployment(replicas=3, updatedReplicas=3, readyReplicas=2)
    assessment = assess_deployment(application(), found, [pod("a"), problem])
    assert (assessment.phase, assessment.reason, assessment.is_ready) == ("Failed", reason, False)
    assert assessment.message.startswith("2 of 3 replicas are ready: ")
    assert all(word in assessment.message for word in words)


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        pytest.param(
            {
                "type": "ReplicaFailure",
                "status": "True",
                "message": 'pods "web-1" is forbidden: exceeded quota: small',
            },
            Reason.QUOTA_EXCEEDED,
            id="quota",
        ),
        pytest.param(
            {"type": "ReplicaFailure", "status": "True", "message": "admission webhook denied"},
            Reason.REPLICA_REFUSED,
            id="refused",
        ),
        pytest.param(
            {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"},
            Reason.DEADLINE_EXCEEDED,
            id="deadline",
        ),
    ],
)
def test_a_deployment_in_trouble_says_what_is_wrong(
    condition: dict[str, str], reason: Reason
) -> None:
    found = deployment(replicas=1, updatedReplicas=1, readyReplicas=1, conditions=[condition])
    assessment = assess_deployment(application(), found, [])
    assert (assessment.phase, assessment.reason) == ("Failed", reason)
    assert condition.get("message", "") in assessment.message


def test_pods_that_go_or_do_well_are_no_trouble() -> None:
    going = decode(
        Pod,
        msgspec.json.encode(
            {
                "metadata": {"name": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"},
                "status": {
                    "containerStatuses": [
                        {"name": "a", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
                    ]
                },
            }
        ),
    )
    running = pod(containerStatuses=[{"name": "a", "state": {"running": {}}}])
    assert find_pod_problem([going, running, waiting("ContainerCreating")]) is None


@pytest.mark.parametrize(
    ("status", "phase", "reason", "progressing"),
    [
        pytest.param({}, "Pending", Reason.JOB_RUNNING, True, id="nothing yet"),
        pytest.param({"active": 1, "ready": 1}, "Running", Reason.JOB_RUNNING, True, id="active"),
        pytest.param(
            {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]},
            "Succeeded",
            Reason.JOB_SUCCEEDED,
            False,
            id="complete",
        ),
        pytest.param(
            {
                "failed": 7,
                "conditions": [
                    {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
                ],
            },
            "Failed",
            Reason.JOB_FAILED,
            False,
            id="given up",
        ),
    ],
)
def test_one_run_ends_in_succeeded_or_failed(
    status: dict[str, Any], phase: str, reason: Reason, progressing: bool
) -> None:
    assessment = assess_job(application(1, runPolicy="Once"), job(**status), [])
    assert (assessment.phase, assessment.reason) == (phase, reason)
    assert assessment.is_progressing is progressing
    assert assessment.is_ready is (phase == "Succeeded")


def test_a_run_whose_image_is_missing_says_so() -> None:
    assessment = assess_job(application(1), job(active=1), [waiting("ImagePullBackOff")])
    assert (assessment.phase, assessment.reason) == ("Failed", Reason.IMAGE_CANNOT_BE_PULLED)


def test_a_run_that_does_not_exist_yet_is_pending() -> None:
    assert assess_job(application(1), None, []).phase == "Pending"


@pytest.mark.parametrize(
    ("status", "reason", "message"),
    [
        pytest.param(
            {"replicas": 4, "updatedReplicas": 1, "readyReplicas": 3},
            Reason.UPDATING,
            "1 of 3 replicas run the current spec, 3 are ready",
            id="rolling",
        ),
        pytest.param(
            {"replicas": 4, "updatedReplicas": 3, "readyReplicas": 4},
            Reason.UPDATING,
            "waiting for 1 old replica to terminate",
            id="old ones end",
        ),
        pytest.param(
            {"observedGeneration": 0, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3},
            Reason.UPDATING,
            "waiting for the Deployment to observe the current spec",
            id="not observed",
        ),
        pytest.param(
            {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 1},
            Reason.REPLICAS_NOT_READY,
            "1 of 3 replicas are ready",
            id="starting",
        ),
    ],
)
def test_reason_and_message_name_what_is_missing(
    status: dict[str, int], reason: Reason, message: str
) -> None:
    assessment = assess_deployment(application(), deployment(**status), [])
    assert not assessment.is_ready
    assert (assessment.reason, assessment.message) == (reason, message)
