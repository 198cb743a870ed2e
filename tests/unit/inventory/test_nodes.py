"""Nodes: readiness, roles, requests and shares."""

from typing import Any, TypeVar

import msgspec
import pytest

from quarterdeck.inventory.forms import Node, NodeUsage, Pod
from quarterdeck.inventory.nodes import (
    CORDONED,
    NOT_READY,
    READY,
    UNKNOWN,
    NodeFacts,
    PodTally,
    compute_requests,
    describe_status,
    read_node,
    summarize,
)

NOW = "2026-01-01T00:00:00Z"


Form = TypeVar("Form")


def _decode(document: dict[str, Any], form: type[Form]) -> Form:
    return msgspec.json.decode(msgspec.json.encode(document), type=form)


def node(name: str = "n1", *, ready: str | None = "True", **spec: Any) -> Node:
    conditions = [] if ready is None else [{"type": "Ready", "status": ready, "reason": "r"}]
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    return _decode(
        {
            "metadata": {
                "name": name,
                "labels": {"node-role.kubernetes.io/worker": "", "a": "b"},
            },
            "spec": spec,
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": conditions,
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kubeletVersion": "v1.32.4", "osImage": "Linux"},
                "images": [{}, {}],
            },
        },
        Node,
    )


def pod(phase: str = "Running", on: str = "n1", **spec: Any) -> Pod:
    return msgspec.convert(
        {"metadata": {"name": "p"}, "spec": {"nodeName": on, **spec}, "status": {"phase": phase}},
        Pod,
    )


def asking(cpu: str, memory: str = "0", **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu, "memory": memory}}, **more}


def tally(*pods: Pod) -> PodTally:
    counted = PodTally()
    for each in pods:
        counted.add(each)
    return counted


def facts(**changes: Any) -> NodeFacts:
    return msgspec.structs.replace(read_node(node(), PodTally(), now=NOW), **changes)


def test_requests_are_shares_of_what_is_allocatable() -> None:
    counted = tally(
        pod(containers=[asking("500m", "1Gi")]),
        pod("Pending", containers=[asking("1", "1Gi")]),
        pod("Succeeded", containers=[asking("2")]),
        pod("Failed"),
        pod(on=""),
    )
    found = read_node(node(), counted, now=NOW)
    assert (found.cpu_requested, found.cpu_usage_percent) == (1.5, 37.5)
    assert (found.memory_requested, found.memory_usage_percent) == (2 * 1024**3, 25.0)
    assert (found.pods_running, found.pods_pending) == (1, 1)
    assert (found.pods_succeeded, found.pods_failed, found.pods_total) == (1, 1, 4)
    assert (counted.total, counted.running) == (5, 2)


@pytest.mark.parametrize(
    ("spec", "cores"),
    [
        pytest.param({"containers": [asking("1"), asking("250m")]}, 1.25, id="containers add up"),
        pytest.param(
            {"containers": [asking("1")], "initContainers": [asking("3"), asking("2")]},
            3.0,
            id="the largest init container",
        ),
        pytest.param(
            {
                "containers": [asking("1")],
                "initContainers": [asking("500m", restartPolicy="Always"), asking("2")],
            },
            2.5,
            id="a sidecar runs beside later init containers",
        ),
        pytest.param(
            {"containers": [asking("1")], "overhead": {"cpu": "100m"}}, 1.1, id="overhead"
        ),
        pytest.param({"containers": [asking("nonsense")]}, 0.0, id="a cluster that lies"),
    ],
)
def test_a_pod_is_scheduled_by_its_effective_request(spec: dict[str, Any], cores: float) -> None:
    assert compute_requests(pod(**spec))[0] == pytest.approx(cores)


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (node(), READY),
        (node(ready="False"), NOT_READY),
        (node(ready="Unknown"), NOT_READY),
        (node(ready=None), UNKNOWN),
        (node(unschedulable=True), CORDONED),
        (node(ready="False", unschedulable=True), CORDONED),
    ],
)
def test_the_status_of_a_node_is_one_word(given: Node, status: str) -> None:
    assert describe_status(given) == status


def test_everything_known_of_a_node_is_in_the_shape_of_the_store() -> None:
    usage = NodeUsage(usage={"cpu": "250m", "memory": "1Gi"})
    found = msgspec.to_builtins(read_node(node(), PodTally(), now=NOW, usage=usage))
    assert tuple(found["roles"]) == ("worker",)
    assert found["internal_ip"] == "10.0.0.1"
    assert (found["pods_capacity"], found["images_count"]) == (110, 2)
    assert (found["cpu_used"], found["memory_used"]) == (0.25, 1024**3)
    assert "cpu_used" not in msgspec.to_builtins(read_node(node(), PodTally(), now=NOW))


def test_the_summary_counts_a_cordoned_node_apart() -> None:
    found = summarize(
        [
            read_node(node("a"), PodTally(), now=NOW),
            read_node(node("b", unschedulable=True), PodTally(), now=NOW),
            read_node(node("c", ready="False"), PodTally(), now=NOW),
        ],
        now=NOW,
    )
    assert (found.total, found.ready, found.not_ready, found.scheduling_disabled) == (3, 1, 1, 1)
    assert found.by_role == {"worker": 3}
    assert found.total_cpu_capacity == 12.0
    assert summarize([], now=NOW).avg_cpu_usage == 0.0
