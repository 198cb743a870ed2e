"""What the operator reads of the collector on a managed cluster."""

from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client
from quarterdeck.meta.identity import GVR
from quarterdeck.operators.clusters.collector_objects import NAME, NAMESPACE
from quarterdeck.operators.clusters.drivers.collector import find_pod_problem

PODS = GVR("", "v1", "pods")
NAMESPACES = GVR("", "v1", "namespaces")


async def create_pod(client: Client, status: dict[str, Any]) -> None:
    """A pod of the collector with a status that a kubelet would write."""
    head = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await client.resource(NAMESPACES).create(head)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "c-1", "labels": {"app.kubernetes.io/name": NAME}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    made = await client.resource(PODS).create(pod, NAMESPACE)
    await client.resource(PODS).subresource("status").update({**made, "status": status})


def waiting(**state: str) -> dict[str, Any]:
    container = {
        "name": "c",
        "image": "i",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"waiting": state},
    }
    return {"phase": "Pending", "containerStatuses": [container]}


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        pytest.param(
            waiting(reason="ImagePullBackOff", message="no such image"),
            "pod c-1: ImagePullBackOff no such image",
            id="image",
        ),
        pytest.param(waiting(reason="ContainerCreating"), "", id="starting"),
        pytest.param(
            {
                "phase": "Pending",
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "message": "no node has room"}
                ],
            },
            "pod c-1 is not scheduled: no node has room",
            id="no room",
        ),
        pytest.param(
            {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}]},
            "",
            id="running",
        ),
    ],
)
async def test_problem_of_the_pod_is_named(status: dict[str, Any], problem: str) -> None:
    async with Cluster() as cluster:
        assert await find_pod_problem(cluster.client) == ""
        await create_pod(cluster.client, status)
        assert await find_pod_problem(cluster.client) == problem
