"""Defects of the project this operator replaces, each as a test, and permissions."""

import pytest
from tests.integration.operators.experiments.world import (
    NAMESPACES,
    SETTINGS,
    World,
    experiment,
    hub,
    running,
    target,
)

from quarterdeck.apis.experiments.v1alpha1 import KINDS, Component
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.cluster_factory import EmbeddedClusters
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.conditions import find
from quarterdeck.operators import experiments
from quarterdeck.operators.experiments.foreign import FOREIGN, ArgoApplication, ArgoWorkflow
from quarterdeck.runtime import WatchSettings
from quarterdeck.runtime.controller.rbac import UsageRecorder, build_rules, find_uncovered
from quarterdeck.server.options import ServerOptions
from quarterdeck.testing import ServerFaults, eventually, server_faults
from quarterdeck.wire.status import Invalid

OBSERVED = {"observability": {"enabled": True, "transport": "tailscale"}}
QUICK = WatchSettings(
    backoff_initial_s=0.02, backoff_cap_s=0.2, short_stream_s=0.0, absent_cap_s=0.2
)


async def test_a_dependent_waits_for_the_workload_and_not_only_for_the_agents() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.component("k6")
        await world.create(
            experiment(
                "order",
                target("app", "gke", "web", **OBSERVED),
                target("load", "hub", "k6", depends=["app"]),
                annotations={"sim.illm.io/app-application-fail": "flap"},
            )
        )
        found = await world.until(
            "order",
            lambda each: each.status.targets[1:] != () and each.status.targets[1].apps_created,
        )
        app = found.status.targets[0]
        assert (app.apps_ready, app.deployed_layers) == (True, ("infra", "obs", "workload"))
        await world.cleaned("order")


async def test_a_target_without_components_satisfies_its_dependents() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.create(
            experiment("empty", target("app", "gke"), target("b", "hub", "web", depends=["app"]))
        )
        assert (await world.cleaned("empty")).status.phase == "Complete"


async def test_workloads_on_the_hub_do_not_survive() -> None:
    from quarterdeck.apis.apps import Deployment

    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.create(experiment("hubby", target("app", "hub", "web")))
        await world.cleaned("hubby")
        assert await world.client.list(Deployment) == []


async def test_a_workflow_is_kept_until_everything_else_is_gone() -> None:
    async with running() as world:
        await world.template("smoke")
        stuck = {"sim.illm.io/cluster-fail": "hang-delete"}
        await world.create(experiment("keep", target("app", "gke"), annotations=stuck))
        await world.until(
            "keep",
            lambda each: (
                (found := find(each.status.conditions, "ResourcesCleaned")) is not None
                and "GKECluster" in found.message
            ),
        )
        kept = await world.client.get(ArgoWorkflow, "keep-validation", "argo-workflows")
        assert kept.status.phase == "Succeeded"
        assert await world.client.list(ArgoApplication) == []


async def test_components_count_their_sources_and_say_what_is_wrong() -> None:
    async with running() as world:
        await world.component("good")
        source = {"repoURL": "https://x.example.com"}
        await world.component("bad", sources=[source, {**source, "path": "${", "helm": {}}])

        async def judged() -> bool:
            found = [await world.client.get(Component, name) for name in ("good", "bad")]
            conditions = [find(each.status.conditions, "Valid") for each in found]
            return [each is not None and each.status for each in conditions] == ["True", "False"]

        await eventually(judged)
        bad = await world.client.get(Component, "bad")
        assert bad.status.sources == 2
        valid = find(bad.status.conditions, "Valid")
        assert valid is not None
        assert "spec.sources[0]: Required value" in valid.message
        assert "not closed" in valid.message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"components": [{"app": "a", "config": "b"}]}, "exactly one of app, workflow and config"),
        ({"components": [{}]}, "exactly one of app, workflow and config"),
        ({"cluster": {"type": "hub", "nodeCount": 1}}, "nodeCount is not allowed"),
        ({"cluster": {"type": "hub", "zone": "z"}}, "only allowed for type gke"),
        ({"cluster": {"type": "existing"}}, "kubeconfigSecretRef must be set"),
        ({"cluster": {"type": "aks"}}, "Unsupported value"),
        ({"depends": ["app"]}, "depends must name other targets"),
        ({"depends": ["other"]}, "depends must name other targets"),
        ({"name": "x" * 21}, "Too long"),
        ({"name": "Upper"}, "should match"),
        (
            {"observability": {"enabled": True, "transport": "direct", "tenant": "a b"}},
            "should match",
        ),
    ],
)
async def test_the_schema_refuses_what_it_can_see(change: dict[str, object], words: str) -> None:
    async with hub() as world:
        wrong = {**target("app", "hub"), **change}
        document = {"apiVersion": "experiments.illm.io/v1alpha1", "kind": "Experiment"}
        with pytest.raises(Invalid, match=words):
            await world.apply({**document, **experiment("x", wrong)})


async def test_permissions_cover_what_the_operator_does() -> None:
    async with hub() as world, world.simulators():
        await world.template("smoke")
        await world.component("web")
        recorder = UsageRecorder()
        async with Client(ClusterConfig(server=world.client.config.server)) as client:
            client.raw.observe(recorder)
            async with world.operator(client=client):
                await world.create(
                    experiment(
                        "rights",
                        target("app", "gke", "web", **OBSERVED),
                        postRun={"image": "example.com/x:1"},
                        tutorial={
                            "exposeKubeconfig": True,
                            "services": [
                                {"name": "w", "target": "app", "service": "web", "namespace": "n"}
                            ],
                        },
                        ttlSecondsAfterFinished=1,
                    )
                )
                await world.gone("rights")
        assert find_uncovered(recorder.uses, build_rules(experiments.declare_controllers())) == []


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_storms_of_errors_only_delay(seed: int) -> None:
    """429, 500, conflicts, lost answers and cut watches, until the storm is over."""
    faults = ServerFaults(server_faults.chaos(seed, 0.15), agent="victim")
    async with (
        Cluster(options=ServerOptions(simulate_workloads=True), faults=faults) as cluster,
        EmbeddedClusters(clock=SystemClock()) as clusters,
    ):
        await definitions.install(cluster.client.raw, [*KINDS, *FOREIGN])
        world = World(cluster.client, clusters, SETTINGS)
        await world.apply(
            *(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                for name in NAMESPACES
            )
        )
        await world.template("smoke")
        await world.component("web")
        config = ClusterConfig(server=cluster.url, user_agent="victim", timeout_s=2.0)
        async with (
            world.simulators(),
            Client(config) as client,
            world.operator(client=client, watch=QUICK, events="off"),
        ):
            for name in ("one", "two", "three"):
                await world.create(experiment(name, target("app", "gke", "web")))
            for name in ("one", "two", "three"):
                done = await world.cleaned(name)
                assert done.status.phase == "Complete", done.status
            assert await world.leftovers() == []
