"""Whole runs: from a manifest to Complete, and nothing left behind."""

from pathlib import Path

import pytest
from tests.integration.operators.experiments.world import experiment, running, target

from quarterdeck.apis.experiments.v1alpha1 import FINALIZER
from quarterdeck.kit import yaml

SAMPLE = Path(__file__).parents[4] / "config/samples/experiments_v1alpha1_experiment.yaml"


async def test_an_experiment_on_the_hub_completes() -> None:
    async with running() as world:
        await world.template("smoke", outputs='{"p99": "0.4"}')
        await world.component("web")
        await world.create(experiment("hello", target("app", "hub", "web")))
        done = await world.cleaned("hello")
        assert done.status.phase == "Complete"
        workflow = done.status.workflow_status
        assert workflow is not None
        assert (workflow.name, workflow.phase) == ("hello-validation", "Succeeded")
        assert workflow.outputs == {"p99": "0.4"}
        assert done.status.targets[0].components == ("Deployment/web", "Service/web")
        assert await world.leftovers() == []


async def test_clusters_are_provided_registered_and_deleted() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.component("k6")
        await world.create(
            experiment(
                "gw",
                target("app", "gke", "web"),
                target("load", "hub", "k6", depends=["app"]),
            )
        )
        done = await world.cleaned("gw")
        assert done.status.phase == "Complete", done.status
        app = done.status.targets[0]
        assert app.cluster_name == "gw-app"
        assert app.endpoint.startswith("127.0.0.1:")
        await world.until("gw", lambda each: FINALIZER not in each.metadata.finalizers)
        assert await world.leftovers() == []
        await world.delete("gw")


@pytest.mark.parametrize("type_", ["talos", "vcluster"])
async def test_every_provider_completes_an_experiment(type_: str) -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.create(experiment("other", target("app", type_, "web")))
        done = await world.cleaned("other")
        assert done.status.phase == "Complete", done.status
        assert await world.leftovers() == []


async def test_the_sample_of_the_existing_project_completes() -> None:
    document = yaml.load(SAMPLE.read_text())
    async with running() as world:
        await world.template("gateway-validation")
        for name in ("envoy-gateway", "nginx-ingress", "demo-services"):
            await world.component(name)
        await world.component("k6-http-loadgen", "workflow")
        await world.create(document)
        done = await world.cleaned("gateway-tutorial")
        assert done.status.phase == "Complete", done.status
        assert done.status.targets[0].deployed_layers == ("infra", "obs", "workload")
        assert await world.leftovers() == []
