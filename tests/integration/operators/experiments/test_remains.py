"""What finished experiments leave: no finalizer, no namespace, nothing to wait for."""

import pytest
from tests.integration.operators.experiments.world import experiment, hub, running, target

from quarterdeck.apis.core.config import Namespace
from quarterdeck.apis.experiments.v1alpha1 import Component
from quarterdeck.kit import json
from quarterdeck.meta.objects import get_raw
from quarterdeck.operators.experiments.foreign import ArgoApplication, GKECluster
from quarterdeck.operators.experiments.simulators.clusters import build_kubeconfig
from quarterdeck.testing import eventually
from quarterdeck.testing.server_faults import ServerFaults, freeze_watch
from quarterdeck.wire.status import Invalid, NotFound

HANG = {"sim.illm.io/workflow-fail": "hang"}


async def test_a_finished_experiment_never_gets_its_finalizer_again() -> None:
    async with running() as world:
        await world.template("smoke")
        created = await world.create(experiment("done", target("app", "gke")))
        await world.cleaned("done")
        await world.until("done", lambda each: not each.metadata.finalizers)
        await world.client.patch(created, {"spec": {"ttlSecondsActive": 5000}})
        seen = await world.until("done", lambda each: each.status.observed_generation == 2)
        assert seen.metadata.finalizers == ()
        await world.delete("done")


async def test_deletion_finishes_though_its_cluster_is_gone_already() -> None:
    async with hub() as world, world.simulators():
        await world.template("smoke")
        async with world.operator():
            await world.create(experiment("late", target("app", "gke"), annotations=HANG))
            await world.phase("late", "Running")
        await world.client.delete(GKECluster, "late-app", "experiments")

        async def is_gone() -> bool:
            return await world.client.list(GKECluster, "experiments") == []

        await eventually(is_gone)
        async with world.operator():
            await world.delete("late")
        assert await world.leftovers() == []


async def test_the_namespace_of_an_experiment_on_the_hub_goes_with_it() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.create(experiment("roomy", target("app", "hub", "web"), annotations=HANG))
        running_one = await world.phase("roomy", "Running")
        namespace = await world.client.get(Namespace, "roomy")
        assert namespace.metadata.labels["pod-security.kubernetes.io/enforce"] == "privileged"
        await world.client.patch(running_one, {"spec": {"terminate": True}})
        await world.cleaned("roomy")
        with pytest.raises(NotFound):
            await world.client.get(Namespace, "roomy")


async def test_a_secret_that_no_watch_has_shown_yet_is_deleted_too() -> None:
    """Our own writes of Secrets are not in the cache, and their watch may lag behind."""
    only_first = freeze_watch(1, resource="secrets", times=None)  # the bookmark of an empty list
    async with hub(faults=ServerFaults(only_first)) as world, world.operator():
        await world.template("smoke")
        config = await world.clusters.create("mine")
        await world.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "mine", "namespace": "experiments"},
                "stringData": {"kubeconfig": build_kubeconfig(config)},
            }
        )
        cluster = {"kubeconfigSecretRef": {"name": "mine"}}
        await world.create(experiment("use", target("app", "existing", cluster=cluster)))
        await world.phase("use", "Running")
        assert "Secret argocd/cluster-use-app" in await world.leftovers()
        await world.delete("use")
        assert await world.leftovers() == ["cluster mine"]


async def test_namespaces_on_every_target_get_their_labels() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.create(
            experiment(
                "wide",
                target("app", "gke", "web"),
                target("load", "hub", "web"),
                annotations=HANG,
            )
        )
        await world.phase("wide", "Running")
        found = await world.client.list(ArgoApplication, "argocd")
        assert len(found) == 2
        for each in found:
            policy = json.decode(get_raw(each) or b"{}")["spec"]["syncPolicy"]
            assert "CreateNamespace=true" in policy["syncOptions"]
            labels = policy["managedNamespaceMetadata"]["labels"]
            assert labels["pod-security.kubernetes.io/enforce"] == "privileged"


async def test_a_component_of_an_unknown_type_is_refused_with_the_known_ones() -> None:
    async with hub() as world:
        with pytest.raises(Invalid, match=r'"testing".*supported values'):
            await world.apply(
                {
                    "apiVersion": "experiments.illm.io/v1alpha1",
                    "kind": "Component",
                    "metadata": {"name": "k6-gateway-loadtest"},
                    "spec": {"type": "testing", "sources": []},
                }
            )


def test_the_column_of_sources_is_a_number_of_the_status() -> None:
    columns = {each.name: each for each in Component.KIND.columns}
    assert (columns["Sources"].type, columns["Sources"].path) == ("integer", ".status.sources")
