"""What claims, Applications and Workflows say, and what follows from it."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from tests.unit.operators.experiments.samples import experiment

from quarterdeck.meta.identity import Key
from quarterdeck.operators.experiments import workflows
from quarterdeck.operators.experiments.clusters import build_adapters
from quarterdeck.operators.experiments.clusters.adapter import join_endpoint
from quarterdeck.operators.experiments.conditions import Reason
from quarterdeck.operators.experiments.foreign import (
    ArgoApplication,
    ArgoWorkflow,
    CapiCluster,
    CapiVCluster,
    GKECluster,
)
from quarterdeck.operators.experiments.health import Assessment, State, assess_application, combine
from quarterdeck.operators.experiments.settings import Settings

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
LONG_AGO, JUST_NOW = "2026-01-01T11:00:00Z", "2026-01-01T11:59:50Z"
CAPI = Settings(talos_mode="capi", vcluster_mode="capi")


def claim(*conditions: tuple[str, str, str], **members: Any) -> GKECluster:
    status = {
        "conditions": [
            {"type": t, "status": s, "reason": r, "lastTransitionTime": LONG_AGO}
            for t, s, r in conditions
        ],
        "endpoint": "34.1.2.3",
    }
    document = {"metadata": {"name": "x", "namespace": "experiments"}, "status": status, **members}
    return msgspec.convert(document, GKECluster)


def test_a_claim_is_ready_when_it_says_so() -> None:
    gke = build_adapters(Settings())["gke"]
    found = gke.observe(
        claim(("Ready", "True", "Available"), spec={"resourceRef": {"name": "x-abcde"}})
    )
    assert found.is_ready
    assert found.endpoint == "34.1.2.3"
    assert found.connection_secret == Key("crossplane-system", "x-abcde-cluster-conn")
    assert found.trouble is None


@pytest.mark.parametrize(
    ("conditions", "is_trouble"),
    [
        ([("Ready", "False", "Creating"), ("Synced", "True", "ReconcileSuccess")], False),
        ([("Ready", "False", "Waiting")], False),
        ([], False),
        ([("Synced", "False", "ReconcileError")], True),
        ([("Ready", "False", "Unavailable")], True),
        ([("Synced", "False", "ReconcilePaused")], False),
    ],
)
def test_trouble_of_a_claim_is_read_from_its_conditions(
    conditions: list[tuple[str, str, str]], is_trouble: bool
) -> None:
    found = build_adapters(Settings())["gke"].observe(claim(*conditions))
    assert not found.is_ready
    assert (found.trouble is not None) is is_trouble


def test_cluster_api_needs_phase_control_plane_and_endpoint() -> None:
    talos = build_adapters(CAPI)["talos"]

    def observe(status: dict[str, Any], **spec: Any) -> Any:
        document = {"metadata": {"name": "x", "namespace": "n"}, "spec": spec, "status": status}
        return talos.observe(msgspec.convert(document, CapiCluster))

    endpoint = {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}}
    ready = observe({"phase": "Provisioned", "controlPlaneReady": True}, **endpoint)
    assert (ready.is_ready, ready.endpoint) == (True, "10.0.0.1:6443")
    assert ready.connection_secret == Key("n", "x-kubeconfig")
    assert not observe({"phase": "Provisioned", "controlPlaneReady": True}).is_ready
    assert not observe({"phase": "Provisioning"}, **endpoint).is_ready
    failed = observe({"phase": "Failed", "failureReason": "NoQuota", "failureMessage": "full"})
    assert failed.trouble.message == "NoQuota: full"


def test_a_virtual_cluster_of_cluster_api_is_ready_by_its_flag() -> None:
    document = {
        "metadata": {"name": "x", "namespace": "n"},
        "spec": {"controlPlaneEndpoint": {"host": "x.n.svc", "port": 443}},
        "status": {"ready": True, "phase": "Deployed"},
    }
    found = build_adapters(CAPI)["vcluster"].observe(msgspec.convert(document, CapiVCluster))
    assert (found.is_ready, found.endpoint) == (True, "x.n.svc")


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        ("a", 443, "a"),
        ("a", 0, "a"),
        ("a", 6443, "a:6443"),
        ("::1", 6443, "[::1]:6443"),
        ("", 1, ""),
    ],
)
def test_endpoints_are_joined(host: str, port: int, expected: str) -> None:
    assert join_endpoint(host, port) == expected


def application(health: str, sync: str, *, since: str = LONG_AGO, **status: Any) -> ArgoApplication:
    document = {
        "metadata": {"name": "a"},
        "status": {
            "health": {"status": health, "lastTransitionTime": since},
            "sync": {"status": sync},
            **status,
        },
    }
    return msgspec.convert(document, ArgoApplication)


def error(type_: str, since: str = LONG_AGO) -> dict[str, Any]:
    return {"conditions": [{"type": type_, "message": "m", "lastTransitionTime": since}]}


@pytest.mark.parametrize(
    ("app", "readiness", "state", "reason"),
    [
        (None, "Strict", State.WAITING, Reason.DEPLOYING),
        (application("Healthy", "Synced"), "Strict", State.READY, Reason.DEPLOYING),
        (application("Healthy", "OutOfSync"), "Strict", State.WAITING, Reason.DEPLOYING),
        (application("Progressing", "Synced"), "Strict", State.WAITING, Reason.DEPLOYING),
        (application("Degraded", "Synced"), "Strict", State.WAITING, Reason.APP_DEGRADED),
        (application("Suspended", "Synced"), "Strict", State.WAITING, Reason.DEPLOYING),
        (application("Suspended", "Synced"), "Relaxed", State.READY, Reason.DEPLOYING),
        (application("Progressing", "OutOfSync"), "Relaxed", State.READY, Reason.DEPLOYING),
        (application("Missing", "OutOfSync"), "Relaxed", State.WAITING, Reason.DEPLOYING),
        (application("", ""), "Relaxed", State.WAITING, Reason.DEPLOYING),
        (
            application("Healthy", "Unknown", **error("ComparisonError")),
            "Relaxed",
            State.FAILED,
            Reason.APP_COMPARISON_ERROR,
        ),
        (
            application("Healthy", "Synced", **error("ComparisonError", JUST_NOW)),
            "Strict",
            State.WAITING,
            Reason.APP_COMPARISON_ERROR,
        ),
        (
            application("Healthy", "Synced", **error("RepeatedResourceWarning")),
            "Strict",
            State.READY,
            Reason.DEPLOYING,
        ),
        (
            application(
                "Missing", "OutOfSync", operationState={"phase": "Failed", "finishedAt": LONG_AGO}
            ),
            "Strict",
            State.FAILED,
            Reason.APP_SYNC_FAILED,
        ),
    ],
)
def test_applications_are_judged(
    app: ArgoApplication | None, readiness: str, state: State, reason: Reason
) -> None:
    target = experiment(
        "e", {"name": "t", "cluster": {"type": "hub"}, "readiness": readiness}
    ).spec.targets[0]
    found = assess_application(app, target, now=NOW, grace_s=60)
    assert (found.state, found.reason) == (state, reason)


def test_an_error_within_its_grace_is_looked_at_again() -> None:
    target = experiment().spec.targets[0]
    app = application("Healthy", "Unknown", **error("ComparisonError", JUST_NOW))
    assert assess_application(app, target, now=NOW, grace_s=60).again_s == pytest.approx(50)


def test_health_may_have_to_last() -> None:
    target = experiment(
        "e", {"name": "t", "cluster": {"type": "hub"}, "minHealthySeconds": 30}
    ).spec.targets[0]
    young = assess_application(
        application("Healthy", "Synced", since=JUST_NOW), target, now=NOW, grace_s=60
    )
    assert young.state is State.WAITING
    assert young.again_s == pytest.approx(20)
    old = assess_application(application("Healthy", "Synced"), target, now=NOW, grace_s=60)
    assert old.state is State.READY


def test_the_worst_verdict_wins() -> None:
    waiting = Assessment(State.WAITING, "w", again_s=5.0)
    failed = Assessment(State.FAILED, "f", Reason.APP_SYNC_FAILED)
    ready = Assessment(State.READY)
    assert combine([ready, ready]).state is State.READY
    assert combine([]).state is State.READY
    assert combine([ready, waiting]) == Assessment(State.WAITING, "w", Reason.DEPLOYING, 5.0)
    assert combine([waiting, failed, ready]).reason is Reason.APP_SYNC_FAILED


@pytest.mark.parametrize(
    ("phase", "is_over"),
    [("Succeeded", True), ("Failed", True), ("Error", True), ("Running", False), ("", False)],
)
def test_phases_of_finished_workflows_are_recognized(phase: str, is_over: bool) -> None:
    assert workflows.is_terminal(phase) is is_over


def test_outputs_and_failed_steps_are_kept() -> None:
    document = {
        "metadata": {"name": "w"},
        "status": {
            "phase": "Failed",
            "startedAt": "2026-01-01T11:00:00Z",
            "finishedAt": None,
            "message": "step failed",
            "outputs": {"parameters": [{"name": "p99", "value": "0.4"}, {"name": "n", "value": 3}]},
            "nodes": {
                "a": {"id": "a", "displayName": "load", "phase": "Failed", "message": "boom"},
                "b": {"id": "b", "displayName": "wait", "type": "Suspend", "phase": "Running"},
            },
        },
    }
    workflow = msgspec.convert(document, ArgoWorkflow)
    found = workflows.build_status(workflow, None)
    assert (found.phase, found.finished_at, found.outputs) == (
        "Failed",
        "",
        {"p99": "0.4", "n": "3"},
    )
    assert [node.display_name for node in found.failed_nodes] == ["load"]
    patch = workflows.build_resume_patch(workflow, now="t")
    assert patch["status"]["nodes"] == {
        "b": {"phase": "Succeeded", "finishedAt": "t", "message": "resumed"}
    }
