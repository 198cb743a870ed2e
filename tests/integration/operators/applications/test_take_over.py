"""Applications of the original controller: taken over with status and finalizer, and given back."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import originals
from tests.integration.operators.applications.test_application import is_running, until

from quarterdeck.apis.applications.v1 import FINALIZER, GROUP, Application
from quarterdeck.apis.apps import Deployment
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.client.client import Client
from quarterdeck.meta.conditions import find
from quarterdeck.operators import applications
from quarterdeck.runtime import Manager
from quarterdeck.server.options import ServerOptions

WEB: dict[str, Any] = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "Application",
    "metadata": {
        "name": "web",
        "namespace": "default",
        "labels": {"app.kubernetes.io/managed-by": "elide-operator"},
        "annotations": {"elide.dev/webhook-mutated": "true"},
        "finalizers": [FINALIZER],
    },
    "spec": {"replicas": 2, "image": "nginx:1.27", "strategy": "RollingUpdate"},
    "status": {
        "observedGeneration": 1,
        "replicas": 2,
        "readyReplicas": 2,
        "phase": "Running",
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded"},
            {"type": "DatabaseReady", "status": "True", "reason": "ConnectionEstablished"},
        ],
    },
}


@contextlib.asynccontextmanager
async def left_behind() -> AsyncIterator[tuple[Client, dict[str, Any]]]:
    """What the original leaves when it is switched off; then our definition comes."""
    async with Cluster(options=ServerOptions(simulate_workloads=True)) as cluster:
        await originals.put_definitions(cluster.client, GROUP)
        before = await originals.leave_object(cluster.client, WEB)
        await definitions.install(cluster.client.raw, [Application])
        yield cluster.client, before


@contextlib.asynccontextmanager
async def operator(client: Client) -> AsyncIterator[None]:
    manager = Manager(client)
    applications.register(manager)
    async with manager.running():
        yield


async def take_over(client: Client) -> Application:
    """Wait until our operator has made the application real."""
    found = await until(
        client, "web", lambda each: each.status.ready_replicas == 2, kind=Deployment
    )
    assert isinstance(found, Deployment)
    app: Application = await until(
        client, "web", lambda each: is_running(each) and bool(each.status.label_selector)
    )
    return app


async def test_an_application_is_taken_over_and_not_made_again() -> None:
    async with left_behind() as (client, before), operator(client):
        app = await take_over(client)
        assert app.metadata.uid == before["metadata"]["uid"]
        assert app.metadata.generation == before["metadata"]["generation"]
        assert app.metadata.finalizers == (FINALIZER,)
        assert app.metadata.labels == WEB["metadata"]["labels"]
        assert app.metadata.annotations == WEB["metadata"]["annotations"]
        condition = find(app.status.conditions, "DatabaseReady")
        assert condition is not None and condition.status == "True"  # of whoever set it


async def test_the_original_can_have_it_back() -> None:
    async with left_behind() as (client, before):
        async with operator(client):
            await take_over(client)
        await originals.put_definitions(client, GROUP)
        found = await originals.write_unchanged(client, WEB)
        assert found["metadata"]["uid"] == before["metadata"]["uid"]
        assert found["metadata"]["finalizers"] == [FINALIZER]
        assert found["spec"] == before["spec"]
        status = found["status"]
        assert (status["phase"], status["readyReplicas"]) == ("Running", 2)
        assert {each["type"] for each in status["conditions"]} >= {"Ready", "DatabaseReady"}
