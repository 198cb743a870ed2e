"""What goes wrong on the way ends in the reason that names it, and leaves nothing behind."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.integration.operators.experiments.world import (
    SETTINGS,
    World,
    experiment,
    hub,
    running,
    target,
)

from quarterdeck.apis.experiments.v1alpha1 import Component, Experiment
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.conditions import find
from quarterdeck.operators.experiments.drivers.targets import KubeconfigTargets
from quarterdeck.operators.experiments.foreign import ArgoWorkflow, GKECluster
from quarterdeck.operators.experiments.ports import TargetRefused, TargetUnreachable


async def failed(world: World, name: str, **options: Any) -> Experiment:
    """Wait until an experiment has failed and is cleaned up."""
    done = await world.cleaned(name, **options)
    assert done.status.phase == "Failed", done.status
    ready = find(done.status.conditions, "Ready")
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", done.status.reason)
    assert done.status.completed_at
    assert await world.leftovers() == []
    return done


@pytest.mark.parametrize(
    ("fault", "reason", "words", "timeout"),
    [
        ("never", "ClusterTimeout", "clusters were not ready within 1s", "1s"),
        ("error", "ClusterProvisionFailed", "quota", "10m"),
        ("unavailable", "ClusterProvisionFailed", "no nodes", "10m"),
        ("bad-kubeconfig", "ConnectionSecretInvalid", "not YAML", "10m"),
        ("expired", "ConnectionSecretInvalid", "refuses its kubeconfig", "10m"),
    ],
)
async def test_a_cluster_that_cannot_be_provided_fails_the_experiment(
    fault: str, reason: str, words: str, timeout: str
) -> None:
    async with running() as world:
        await world.template("smoke")
        await world.create(
            experiment(
                "bad",
                target("app", "gke"),
                annotations={"sim.illm.io/cluster-fail": fault},
                timeouts={"provisioning": timeout},
                retry={"provisioning": 1},
            )
        )
        done = await failed(world, "bad")
        assert done.status.reason == reason
        assert words in done.status.message
        assert reason in await world.events("bad")


async def test_refusals_of_a_new_cluster_are_counted_without_the_time_it_did_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A new API server does not answer at first, and then refuses until its rules are there."""
    answers = [*[TargetUnreachable("starting")] * 6, *[TargetRefused("not yet")] * 2]
    probe = KubeconfigTargets.probe

    async def answer(self: KubeconfigTargets, text: bytes) -> str:
        if answers:
            raise answers.pop(0)
        return await probe(self, text)

    monkeypatch.setattr(KubeconfigTargets, "probe", answer)
    async with running() as world:
        await world.template("smoke")
        await world.create(experiment("slow", target("app", "gke")))
        done = await world.cleaned("slow")
        assert (done.status.phase, answers) == ("Complete", []), done.status


class LaterClock(SystemClock):
    """The machine's clock, an hour ahead."""

    def now(self) -> datetime:
        return super().now() + timedelta(hours=1)


@pytest.mark.parametrize(
    ("fault", "words", "reason"),
    [
        pytest.param(
            {"sim.illm.io/cluster-fail": "no-secret"},
            "waiting for the kubeconfig",
            "ClusterTimeout",
            id="cluster without a kubeconfig",
        ),
        pytest.param(
            {"sim.illm.io/app-application-fail": "degraded"},
            "Degraded",
            "AppDegraded",
            id="degraded application",
        ),
    ],
)
async def test_the_end_of_a_time_limit_names_what_was_waited_for(
    fault: dict[str, str], words: str, reason: str
) -> None:
    """The limits are over for a second operator only, so the first one can be slow."""
    async with hub() as world, world.simulators():
        await world.template("smoke")
        await world.component("web")
        limits = {"provisioning": "10m", "applications": "10m"}
        given = experiment("late", target("app", "gke", "web"), annotations=fault, timeouts=limits)
        async with world.operator():
            await world.create(given)
            await world.until("late", lambda each: words in _get_target_message(each))
        async with world.operator(clock=LaterClock()):
            done = await failed(world, "late")
            assert done.status.reason == reason
            assert words in done.status.message


def _get_target_message(found: Experiment) -> str:
    return found.status.targets[0].message if found.status.targets else ""


async def test_a_cluster_that_failed_is_replaced() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.create(
            experiment(
                "again",
                target("app", "gke"),
                annotations={"sim.illm.io/cluster-fail": "error-once"},
            )
        )
        done = await world.cleaned("again")
        assert done.status.phase == "Complete", done.status
        assert done.status.targets[0].cluster_name == "again-app-r1"
        assert await world.leftovers() == []


@pytest.mark.parametrize(
    ("fault", "reason", "timeout"),
    [
        ("comparison-error", "AppComparisonError", "10m"),
        ("sync-failed", "AppSyncFailed", "10m"),
        ("missing", "AppsTimeout", "1s"),
    ],
)
async def test_an_application_that_never_becomes_ready_fails_the_experiment(
    fault: str, reason: str, timeout: str
) -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.create(
            experiment(
                "bad",
                target("app", "hub", "web"),
                target("load", "hub", "web", depends=["app"]),
                annotations={"sim.illm.io/app-application-fail": fault},
                timeouts={"applications": timeout},
            )
        )
        done = await failed(world, "bad")
        assert done.status.reason == reason
        assert not done.status.targets[1].apps_created


async def test_an_application_that_was_degraded_for_a_while_is_waited_for() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        flap = {"sim.illm.io/application-fail": "flap"}
        await world.create(experiment("flap", target("app", "hub", "web"), annotations=flap))
        assert (await world.cleaned("flap")).status.phase == "Complete"


@pytest.mark.parametrize(
    ("fault", "reason", "timeouts"),
    [
        ("fail", "WorkflowFailed", {}),
        ("error", "WorkflowError", {}),
        ("never", "WorkflowNotPickedUp", {"pickup": "1s"}),
        ("hang", "WorkflowFailed", {"workflow": "1s"}),
    ],
)
async def test_a_workflow_that_does_not_succeed_fails_the_experiment(
    fault: str, reason: str, timeouts: dict[str, str]
) -> None:
    async with running() as world:
        await world.template("smoke")
        await world.create(
            experiment("bad", annotations={"sim.illm.io/workflow-fail": fault}, timeouts=timeouts)
        )
        assert (await failed(world, "bad")).status.reason == reason


async def test_a_workflow_deleted_by_hand_is_lost() -> None:
    async with running() as world:
        await world.template("smoke")
        hang = {"sim.illm.io/workflow-fail": "hang"}
        await world.create(experiment("lost", annotations=hang))
        await world.until(
            "lost",
            lambda each: (
                each.status.workflow_status is not None
                and each.status.workflow_status.phase == "Running"
            ),
        )
        await world.client.delete(ArgoWorkflow, "lost-validation", "argo-workflows")
        assert (await failed(world, "lost")).status.reason == "WorkflowLost"


async def test_a_cluster_deleted_by_hand_is_lost() -> None:
    async with running() as world:
        await world.template("smoke")
        hang = {"sim.illm.io/workflow-fail": "hang"}
        await world.create(experiment("half", target("app", "gke"), annotations=hang))
        await world.phase("half", "Running")
        await world.client.delete(GKECluster, "half-app", "experiments")
        assert (await failed(world, "half")).status.reason == "ClusterLost"


async def test_a_missing_template_is_waited_for_and_then_an_error() -> None:
    async with running() as world:
        await world.create(experiment("none"))
        assert (await failed(world, "none")).status.reason == "WorkflowTemplateNotFound"


async def test_a_missing_template_may_be_replaced_by_an_empty_workflow() -> None:
    async with running() as world:
        workflow = {
            "template": "none",
            "completion": {"mode": "workflow"},
            "onMissingTemplate": "Inline",
        }
        await world.create(experiment("inline", workflow=workflow))
        assert (await world.cleaned("inline")).status.phase == "Complete"


async def test_errors_of_the_spec_are_all_reported_and_end_it() -> None:
    async with running() as world:
        await world.component("web", parameters=[{"name": "n", "type": "int"}])
        one = target("a", "hub", depends=["b"])
        one["components"] = [{"app": "web", "params": {"n": "x"}}, {"app": "nowhere"}]
        await world.create(experiment("wrong", one, target("b", "hub", depends=["a"])))
        done = await failed(world, "wrong")
        assert done.status.reason == "DependencyCycle"
        valid = find(done.status.conditions, "SpecValid")
        assert valid is not None and valid.status == "False"
        for words in (
            "a -> b -> a",
            "must be an integer",
            "Component nowhere of type app not found",
        ):
            assert words in valid.message


async def test_a_component_may_come_a_moment_later() -> None:
    async with running(SETTINGS._replace(missing_grace_s=60.0)) as world:
        await world.template("smoke")
        await world.create(experiment("early", target("app", "hub", "web")))
        await world.until("early", lambda each: each.status.reason == "ComponentNotFound")
        await world.component("web")
        assert (await world.cleaned("early")).status.phase == "Complete"


async def test_a_component_that_never_comes_is_an_error() -> None:
    async with running() as world:
        await world.create(experiment("never", target("app", "hub", "web")))
        assert (await failed(world, "never")).status.reason == "ComponentNotFound"


async def test_a_name_that_belongs_to_somebody_else_is_not_taken_over() -> None:
    async with running() as world:
        await world.apply(
            {
                "apiVersion": "illm.io/v1alpha1",
                "kind": "GKECluster",
                "metadata": {"name": "mine-app", "namespace": "experiments"},
                "spec": {"zone": "z"},
            }
        )
        await world.create(experiment("mine", target("app", "gke")))
        done = await world.cleaned("mine")
        assert done.status.reason == "NameConflict"
        kept = await world.client.get(GKECluster, "mine-app", "experiments")
        assert not kept.is_deleting


async def test_two_experiments_of_one_name_share_nothing() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
        for namespace in ("experiments", "other"):
            await world.create(experiment("same", target("app", "gke", "web"), namespace=namespace))
        one = await world.cleaned("same")
        two = await world.cleaned("same", namespace="other")
        assert (one.status.phase, two.status.phase) == ("Complete", "Complete")
        assert one.status.targets[0].cluster_name != two.status.targets[0].cluster_name
        assert await world.leftovers() == []


async def test_a_component_changed_during_a_run_changes_nothing() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.component("db")
        await world.create(
            experiment(
                "fixed",
                target("a", "gke", "db"),
                target("b", "hub", "web", depends=["a"]),
                annotations={"sim.illm.io/cluster-delay": "500ms"},
            )
        )
        await world.phase("fixed", "Provisioning")
        found = await world.client.get(Component, "web")
        await world.client.patch(
            found,
            {
                "spec": {
                    "sources": [
                        {
                            "repoURL": "https://x.example.com",
                            "chart": "web",
                            "targetRevision": "9.9.9",
                        }
                    ]
                }
            },
        )
        done = await world.cleaned("fixed")
        recorded = done.status.targets[1].resolved_components[0]
        assert (recorded.generation, recorded.revision) == (1, "1.0.0")
        assert done.status.phase == "Complete"


async def test_a_missing_api_is_named_and_waited_for() -> None:
    async with running() as world:
        from quarterdeck.meta.identity import GVR

        crds = world.client.resource(GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions"))
        await crds.delete("gkeclusters.illm.io")
        await world.create(
            experiment("apis", target("app", "gke"), timeouts={"provisioning": "1s"})
        )
        await world.until("apis", lambda each: each.status.reason == "APIMissing")
        done = await world.phase("apis", "Failed")
        assert done.status.reason == "ClusterTimeout"
