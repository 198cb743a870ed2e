"""Experiments that the original operator began: taken over with their clusters, and given back."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import originals
import pytest
from tests.integration.operators.experiments.world import World, experiment, hub, target

from quarterdeck.apis.core.config import Secret
from quarterdeck.apis.experiments.v1alpha1 import FINALIZER, GROUP, KINDS, Experiment
from quarterdeck.app import definitions
from quarterdeck.meta.identity import GVK
from quarterdeck.operators.experiments import argocd, kubeconfig
from quarterdeck.operators.experiments.foreign import ArgoApplication, ArgoWorkflow, GKECluster
from quarterdeck.operators.experiments.kubeconfig import Connection
from quarterdeck.wire.query import ListOptions

MANAGED = {"app.kubernetes.io/managed-by": "experiment-operator"}
OF_CLUSTER = {"experiments.illm.io/cluster": "gw-app"}
OF_EXPERIMENT = {**MANAGED, "experiments.illm.io/experiment": "gw"}
MADE = (
    (GKECluster, "gw-app", "experiments"),
    (Secret, "cluster-gw-app", "argocd"),
    (ArgoApplication, "gw-app", "argocd"),
    (ArgoWorkflow, "gw-validation", "argo-workflows"),
)
"""Everything that the original makes for the experiment of these tests."""


def manifest(namespace: str = "experiments") -> dict[str, Any]:
    document = experiment(
        "gw",
        target("app", "gke", "web"),
        namespace=namespace,
        workflow={"template": "smoke", "completion": {"mode": "manual"}},
    )
    document["metadata"]["finalizers"] = [FINALIZER]
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Experiment", **document}


def status_of(phase: str, **members: Any) -> dict[str, Any]:
    """The status as the original writes it."""
    app = {"name": "app", "phase": "Ready", "clusterName": "gw-app", "appsCreated": True}
    return {
        "phase": phase,
        "targets": [{**app, "machineType": "e2-medium", "nodeCount": 1}],
        "workflowStatus": {"name": "gw-validation", "phase": "Running"},
        **members,
    }


async def create(world: World, kind: Any, name: str, namespace: str, **more: Any) -> None:
    labels = more.pop("labels")
    await world.client.resource(kind.KIND.gvr).create(
        {
            "apiVersion": kind.KIND.api_version,
            "kind": kind.KIND.kind,
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            **more,
        }
    )


async def provide_cluster(world: World) -> Connection:
    """The claim as the original makes it; returns how the cluster is reached once it is there."""
    await create(
        world,
        GKECluster,
        "gw-app",
        "experiments",
        labels={**MANAGED, **OF_CLUSTER},
        spec={"zone": "us-central1-a", "nodeCount": 1, "machineType": "e2-medium"},
    )
    options = ListOptions(watch=True, field_selector="metadata.name=gw-app")
    async with world.client.watch(GKECluster, "experiments", options) as events:
        async for event in events:
            conditions = {each.type: each.status for each in event.object.status.conditions}
            if conditions.get("Ready") == "True":
                [secret] = await world.client.list(Secret, "crossplane-system")
                return kubeconfig.parse(kubeconfig.read_secret(secret.data))
    raise AssertionError("the claim never became ready")


async def make_as_original(world: World) -> None:
    """Everything that the original makes until the workflow runs."""
    connection = await provide_cluster(world)
    server = connection.server
    owner = msgspec.convert(manifest(), Experiment)
    await create(
        world,
        Secret,
        "cluster-gw-app",
        "argocd",
        labels={"argocd.argoproj.io/secret-type": "cluster", **OF_CLUSTER},
        stringData=argocd.build_cluster_secret(
            owner, "app", "gw-app", connection, namespace="argocd"
        )["stringData"],
    )
    await create(
        world,
        ArgoApplication,
        "gw-app",
        "argocd",
        labels={**OF_EXPERIMENT, "experiments.illm.io/target": "app"},
        spec={
            "project": "default",
            "destination": {"server": server, "namespace": "gw"},
            "sources": [{"repoURL": "https://charts.example.com", "chart": "web"}],
        },
    )
    await create(
        world,
        ArgoWorkflow,
        "gw-validation",
        "argo-workflows",
        labels=OF_EXPERIMENT,
        spec={"workflowTemplateRef": {"name": "smoke"}},
    )


@contextlib.asynccontextmanager
async def left_behind(status: dict[str, Any]) -> AsyncIterator[World]:
    """A hub where the original ran an experiment and was switched off; ours comes."""
    async with hub() as world:
        await originals.put_definitions(world.client, GROUP)
        async with world.simulators():
            await world.template("smoke", suspend=True)
            await world.component("web")
            await originals.leave_object(world.client, {**manifest(), "status": status})
            await make_as_original(world)
            await definitions.install(world.client.raw, KINDS)
            yield world


async def uids(world: World) -> dict[str, str]:
    found = {}
    for kind, name, namespace in (*MADE, (Experiment, "gw", "experiments")):
        found[kind.KIND.kind] = (await world.client.get(kind, name, namespace)).metadata.uid
    return found


@pytest.mark.parametrize("phase", ["Provisioning", "Ready", "Running"])
async def test_a_begun_experiment_goes_on_with_what_it_has(phase: str) -> None:
    async with left_behind(status_of(phase)) as world:
        before = await uids(world)
        async with world.operator():
            await world.until(
                "gw", lambda each: each.status.phase == "Running" and each.status.target_count == 1
            )
            assert await uids(world) == before
            assert len(world.clusters.names) == 1
            made = {"ClusterCreated", "ApplicationCreated", "WorkflowSubmitted"}
            assert not made & set(await world.events("gw"))
            assert len(await world.client.list(ArgoApplication, "argocd")) == 1
            await world.client.resource(Experiment.KIND.gvr).patch(
                "gw",
                {"metadata": {"annotations": {"experiments.illm.io/resume": "true"}}},
                namespace="experiments",
            )
            done = await world.cleaned("gw")
            assert done.status.phase == "Complete", done.status
            assert await world.leftovers() == []


async def test_a_finished_experiment_keeps_its_results() -> None:
    status = status_of("Complete", resourcesCleaned=True, resultsURL="s3://results/gw")
    async with left_behind(status) as world, world.operator():
        found = await world.until("gw", lambda each: each.status.target_count == 1)
        assert found.status.results_url == "s3://results/gw"
        assert found.status.phase == "Complete"


async def test_deleting_it_deletes_what_the_original_made() -> None:
    async with left_behind(status_of("Running")) as world:
        await world.client.delete(Experiment, "gw", "experiments")
        async with world.operator():
            await world.gone("gw")
            assert await world.leftovers() == []
        assert await world.client.list(Secret, "argocd") == []


async def test_an_experiment_of_another_namespace_is_left_alone() -> None:
    async with hub() as world, world.simulators():
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}}
        await world.apply(document)
        await originals.leave_object(
            world.client, {**manifest("lab"), "status": status_of("Running")}
        )
        await provide_cluster(world)
        async with world.operator():
            found = await world.until(
                "gw", lambda each: each.status.reason == "NotTakenOver", namespace="lab"
            )
            assert "let that operator finish or delete it" in found.status.message
            assert found.status.phase == "Running"
            assert len(world.clusters.names) == 1


async def test_the_original_can_have_it_back() -> None:
    async with left_behind(status_of("Running")) as world:
        before = await uids(world)
        async with world.operator():
            await world.until(
                "gw", lambda each: each.status.phase == "Running" and each.status.target_count == 1
            )
        await originals.put_definitions(world.client, GROUP)
        found = await originals.write_unchanged(world.client, manifest())
        assert await uids(world) == before
        assert found["metadata"]["finalizers"] == [FINALIZER]
        status = found["status"]
        assert (status["phase"], status["workflowStatus"]["name"]) == ("Running", "gw-validation")
        [app] = status["targets"]
        assert (app["phase"], app["clusterName"], app["appsCreated"]) == ("Ready", "gw-app", True)
        for kind, name, namespace in MADE:  # the original finds its objects by their names
            resource, _ = await world.client.discover_resource(
                GVK.of(kind.KIND.api_version, kind.KIND.kind)
            )
            labels = (await resource.get(name, namespace))["metadata"]["labels"]
            wanted = OF_CLUSTER if kind in (GKECluster, Secret) else OF_EXPERIMENT
            assert labels.items() >= wanted.items()
