"""What people and limits do to an experiment: manual mode, stop, TTL, budget, repeats, deletion."""

import base64
from typing import Any

import pytest
from tests.integration.operators.experiments.world import (
    World,
    experiment,
    hub,
    running,
    target,
)

from quarterdeck.apis.core.config import Secret
from quarterdeck.apis.experiments.v1alpha1 import RESUME, Experiment
from quarterdeck.app import definitions
from quarterdeck.client import Client
from quarterdeck.kit import yaml
from quarterdeck.meta.conditions import find
from quarterdeck.operators.experiments import finishing, kubeconfig
from quarterdeck.operators.experiments.drivers.targets import to_config
from quarterdeck.operators.experiments.foreign import ArgoApplication, GKECluster
from quarterdeck.operators.experiments.simulators.clusters import build_kubeconfig
from quarterdeck.testing import eventually, server_faults
from quarterdeck.testing.server_faults import ServerFaults
from quarterdeck.wire.status import Invalid

MANUAL = {"template": "smoke", "completion": {"mode": "manual"}}
HANG = {"sim.illm.io/workflow-fail": "hang"}


async def resume(world: World, name: str) -> None:
    found = await world.client.get(Experiment, name, "experiments")
    await world.client.patch(found, {"metadata": {"annotations": {RESUME: "true"}}})


@pytest.mark.parametrize("suspend", [False, True])
async def test_manual_mode_waits_for_a_person(suspend: bool) -> None:
    async with running() as world:
        await world.template("smoke", suspend=suspend)
        await world.create(experiment("lesson", workflow=MANUAL))
        await world.until("lesson", lambda each: each.status.reason == "AwaitingResume")
        await resume(world, "lesson")
        done = await world.cleaned("lesson")
        assert done.status.phase == "Complete"


async def test_the_end_of_time_ends_a_lesson_well() -> None:
    async with running() as world:
        await world.template("smoke")
        found = await world.create(experiment("lesson", workflow=MANUAL))
        await world.until("lesson", lambda each: each.status.reason == "AwaitingResume")
        await world.client.patch(found, {"spec": {"ttlSecondsActive": 1}})
        done = await world.cleaned("lesson")
        assert done.status.phase == "Complete"


async def test_the_end_of_time_fails_a_run() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.create(experiment("slow", annotations=HANG, ttlSecondsActive=1))
        done = await world.cleaned("slow")
        assert (done.status.phase, done.status.reason) == ("Failed", "DeadlineExceeded")
        assert await world.leftovers() == []


async def test_terminate_stops_everything() -> None:
    async with running() as world:
        await world.template("smoke")
        found = await world.create(experiment("stop", target("app", "gke"), annotations=HANG))
        await world.phase("stop", "Running")
        await world.client.patch(found, {"spec": {"terminate": True}})
        done = await world.cleaned("stop")
        assert (done.status.phase, done.status.reason) == ("Failed", "Terminated")
        assert done.status.workflow_status is not None
        assert done.status.workflow_status.phase == "Stopped"
        assert await world.leftovers() == []


async def test_a_spent_budget_stops_everything() -> None:
    async with running() as world:
        await world.template("smoke")
        spec: dict[str, Any] = {"budget": {"maxUSD": "0.00001"}}
        await world.create(experiment("dear", target("app", "gke"), annotations=HANG, **spec))
        done = await world.cleaned("dear")
        assert (done.status.phase, done.status.reason) == ("Failed", "BudgetExceeded")


async def test_a_suspended_experiment_does_not_start() -> None:
    async with running() as world:
        await world.template("smoke")
        found = await world.create(experiment("later", suspend=True))
        await world.until("later", lambda each: each.status.reason == "Suspended")
        await world.client.patch(found, {"spec": {"suspend": False}})
        assert (await world.cleaned("later")).status.phase == "Complete"


async def test_repeats_run_one_after_the_other() -> None:
    async with running() as world:
        await world.template("smoke", outputs='{"p99": "1"}')
        await world.create(experiment("many", repeats=3))
        done = await world.cleaned("many")
        assert [each.name for each in done.status.runs] == [
            "many-validation",
            "many-validation-2",
            "many-validation-3",
        ]
        assert all(each.outputs == {"p99": "1"} for each in done.status.runs)
        assert await world.leftovers() == []


async def test_a_failed_workflow_is_tried_again_as_often_as_allowed() -> None:
    async with running() as world:
        await world.template("smoke")
        fail = {"sim.illm.io/workflow-fail": "fail"}
        await world.create(experiment("again", annotations=fail, retry={"workflow": 1}))
        done = await world.cleaned("again")
        workflow = done.status.workflow_status
        assert done.status.reason == "WorkflowFailed"
        assert workflow is not None and workflow.name == "again-validation-r1"
        assert [node.display_name for node in workflow.failed_nodes] == ["main"]


@pytest.mark.parametrize(
    ("policy", "fault", "keeps"),
    [
        ("Always", "fail", False),
        ("OnSuccess", "fail", True),
        ("OnSuccess", "", False),
        ("Never", "", True),
    ],
)
async def test_the_policy_decides_about_clean_up(policy: str, fault: str, keeps: bool) -> None:
    async with running() as world:
        await world.template("smoke")
        annotations = {"sim.illm.io/workflow-fail": fault} if fault else {}
        await world.create(
            experiment("kept", target("app", "gke"), annotations=annotations, cleanupPolicy=policy)
        )
        done = await world.until(
            "kept",
            lambda each: (
                (found := find(each.status.conditions, "ResourcesCleaned")) is not None
                and found.reason in ("Cleaned", "Retained")
            ),
        )
        assert done.status.resources_cleaned is not keeps
        assert (await world.leftovers() != []) is keeps
        await world.delete("kept")
        assert await world.leftovers() == []


async def test_a_finished_experiment_is_deleted_after_its_time() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.create(experiment("brief", ttlSecondsAfterFinished=0))
        await world.gone("brief")


async def test_the_job_after_the_run_never_changes_the_outcome() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.create(experiment("post", postRun={"image": "example.com/report:1"}))
        done = await world.cleaned("post")
        assert done.status.phase == "Complete"
        assert done.status.analysis_job_name == "post-post-run"
        assert done.status.analysis_phase == "Succeeded"


async def test_a_job_that_is_refused_does_not_keep_the_clusters() -> None:
    async with running() as world:
        await world.template("smoke")
        job = {"image": "example.com/report:1", "serviceAccountName": "not a name"}
        await world.create(experiment("post", postRun=job))
        done = await world.cleaned("post")
        assert (done.status.phase, done.status.analysis_phase) == ("Complete", "Failed")
        found = find(done.status.conditions, "AnalysisComplete")
        assert found is not None and "cannot create Job post-post-run: " in found.message
        assert "serviceAccountName" in found.message


async def test_a_job_that_cannot_be_created_keeps_the_clusters_for_ten_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse = server_faults.fail("patch", 403, resource="jobs", times=None)
    async with (
        hub(faults=ServerFaults(refuse)) as world,
        world.simulators(),
        world.operator(),
    ):
        await world.template("smoke")
        await world.create(experiment("post", postRun={"image": "example.com/report:1"}))
        waiting = await world.until(
            "post", lambda each: find(each.status.conditions, "AnalysisComplete") is not None
        )
        assert (waiting.status.analysis_phase, waiting.status.resources_cleaned) == ("", False)
        monkeypatch.setattr(finishing, "_JOB_CREATION_S", 0.0)
        done = await world.cleaned("post")
        assert (done.status.phase, done.status.analysis_phase) == ("Complete", "Failed")
        found = find(done.status.conditions, "AnalysisComplete")
        assert found is not None
        assert found.message.startswith("cannot create Job post-post-run: ")


async def test_what_runs_cannot_be_changed() -> None:
    async with running() as world:
        await world.template("smoke")
        found = await world.create(experiment("fixed", annotations=HANG))
        await world.phase("fixed", "Running")
        with pytest.raises(Invalid, match="once the experiment has started"):
            await world.client.patch(found, {"spec": {"workflow": {"template": "other"}}})
        await world.client.patch(found, {"spec": {"ttlSecondsActive": 5000}})
        await world.until("fixed", lambda each: each.status.observed_generation == 2)


@pytest.mark.parametrize(
    "phase", ["Pending", "Provisioning", "Ready", "Running", "Complete", "Failed"]
)
async def test_deletion_finishes_in_every_phase(phase: str) -> None:
    faults = {
        "Provisioning": {"sim.illm.io/cluster-fail": "never"},
        "Ready": {"sim.illm.io/application-fail": "degraded"},
        "Running": HANG,
        "Failed": {"sim.illm.io/workflow-fail": "fail"},
    }
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.create(
            experiment(
                "gone",
                target("app", "gke", "web"),
                target("hub", "hub", "web"),
                annotations=faults.get(phase, {}),
                suspend=phase == "Pending",
            )
        )
        await world.phase("gone", phase)
        await world.delete("gone")
        assert await world.leftovers() == []


async def test_an_application_nobody_deletes_loses_its_finalizer() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        stuck = {"sim.illm.io/application-fail": "hang-delete"}
        await world.create(experiment("stuck", target("app", "hub", "web"), annotations=stuck))
        done = await world.cleaned("stuck")
        assert done.status.phase == "Complete"
        assert await world.leftovers() == []


async def test_a_provider_that_never_deletes_is_reported_and_given_up() -> None:
    async with running() as world:
        await world.template("smoke")
        stuck = {"sim.illm.io/cluster-fail": "hang-delete"}
        await world.create(
            experiment("leak", target("app", "gke"), annotations=stuck, timeouts={"cleanup": "1s"})
        )
        done = await world.until(
            "leak",
            lambda each: (
                (found := find(each.status.conditions, "ResourcesCleaned")) is not None
                and found.reason == "Orphaned"
            ),
        )
        assert done.status.phase == "Complete"
        assert "CleanupStuck" in await world.events("leak")
        await world.delete("leak")
        left = await world.client.list(GKECluster, "experiments")
        assert [each.metadata.name for each in left] == ["leak-app"]


async def test_a_second_experiment_of_a_name_does_not_inherit_the_first() -> None:
    async with running() as world:
        await world.template("smoke", outputs='{"run": "1"}')
        await world.create(experiment("same"))
        await world.cleaned("same")
        await world.delete("same")
        await world.template("smoke", outputs='{"run": "2"}')
        await world.create(experiment("same"))
        done = await world.cleaned("same")
        assert done.status.workflow_status is not None
        assert done.status.workflow_status.outputs == {"run": "2"}


async def test_an_existing_cluster_is_used_and_never_deleted() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
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
        await world.create(experiment("use", target("app", "existing", "web", cluster=cluster)))
        done = await world.cleaned("use")
        assert done.status.phase == "Complete", done.status
        assert world.clusters.names == ["mine"]
        assert (await world.client.get(Secret, "mine", "experiments")).data


async def test_values_of_another_target_are_known_when_it_is_ready() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.component("k6", parameters=[{"name": "url", "required": True}])
        load = target("load", "hub", depends=["app"])
        load["components"] = [{"app": "k6", "params": {"url": "http://${targets.app.endpoint}/x"}}]
        await world.create(experiment("late", target("app", "gke", "web"), load, annotations=HANG))
        found = await world.phase("late", "Running")
        app = await world.client.get(ArgoApplication, "late-load-k6", "argocd")
        import msgspec

        from quarterdeck.meta.objects import get_raw

        spec = msgspec.json.decode(get_raw(app) or b"{}")["spec"]
        endpoint = found.status.targets[0].endpoint
        assert spec["sources"][0]["helm"]["parameters"] == [
            {"name": "url", "value": f"http://{endpoint}/x"}
        ]


async def test_tutorials_get_addresses_and_kubeconfigs_that_work() -> None:
    tutorial = {
        "exposeKubeconfig": True,
        "services": [
            {"name": "web", "target": "app", "service": "web", "namespace": "lesson"},
        ],
    }
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.create(
            experiment("lesson", target("app", "gke", "web"), workflow=MANUAL, tutorial=tutorial)
        )
        found = await world.until("lesson", lambda each: each.status.reason == "AwaitingResume")
        status = found.status.tutorial_status
        assert status is not None
        assert status.services[0].endpoint == "web.lesson.svc"
        name = status.kubeconfig_secrets["app"]
        secret = await world.client.get(Secret, name, "experiments")
        connection = kubeconfig.parse(kubeconfig.read_secret(secret.data))
        assert connection.server == found.status.targets[0].server
        await resume(world, "lesson")
        await world.cleaned("lesson")
        assert await world.leftovers() == []


async def test_a_tutorial_on_an_existing_cluster_reads_the_key_that_it_names() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        texts = [build_kubeconfig(await world.clusters.create(name)) for name in ("mine", "other")]
        metadata = {"name": "mine", "namespace": "experiments"}
        data = dict(zip(("admin", "kubeconfig"), texts, strict=True))
        await world.apply(
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
        )
        place = {"name": "web", "namespace": "default"}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": place}
        async with Client(to_config(kubeconfig.parse(texts[0].encode()))) as mine:
            await definitions.apply(mine.raw, [{**service, "spec": {"ports": [{"port": 8080}]}}])
        cluster = {"kubeconfigSecretRef": {"name": "mine", "key": "admin"}}
        lesson = experiment(
            "lesson",
            target("app", "existing", "web", cluster=cluster),
            workflow=MANUAL,
            tutorial={
                "services": [
                    {"name": "web", "target": "app", "service": "web", "namespace": "default"}
                ]
            },
        )
        await world.create(lesson)
        found = await world.until("lesson", lambda each: each.status.reason == "AwaitingResume")
        status = found.status.tutorial_status
        assert status is not None
        assert [each.endpoint for each in status.services] == ["web.default.svc:8080"]


async def test_the_operator_may_be_absent_for_a_while() -> None:
    async with hub() as world, world.simulators():
        await world.template("smoke")
        async with world.operator():
            await world.create(experiment("cut", target("app", "gke"), annotations=HANG))
            await world.phase("cut", "Running")
        found = await world.client.get(Experiment, "cut", "experiments")
        await world.client.patch(found, {"spec": {"terminate": True}})
        async with world.operator():
            done = await world.cleaned("cut")
            assert done.status.reason == "Terminated"
            assert await world.leftovers() == []


async def test_a_finished_experiment_goes_without_the_operator() -> None:
    async with hub() as world, world.simulators():
        await world.template("smoke")
        async with world.operator():
            await world.create(experiment("over"))
            await world.cleaned("over")
            await world.until("over", lambda each: not each.metadata.finalizers)
        await world.delete("over")


async def test_a_dependent_finds_the_kubeconfig_of_what_it_loads() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.create(
            experiment(
                "pair",
                target("app", "gke", "web"),
                target("near", "hub", "web", depends=["app"]),
                target("far", "vcluster", "web", depends=["app", "near"]),
                annotations=HANG,
            )
        )
        found = await world.phase("pair", "Running")
        near = await world.client.get(Secret, "app-cluster-kubeconfig", "pair")
        text = kubeconfig.read_secret(near.data)
        assert kubeconfig.parse(text).server == found.status.targets[0].server
        namespace, _, name = found.status.targets[2].connection_secret.partition("/")
        own = kubeconfig.read_secret((await world.client.get(Secret, name, namespace)).data)
        async with Client(to_config(kubeconfig.parse(own))) as there:
            far = await there.get(Secret, "app-cluster-kubeconfig", "pair")
            assert kubeconfig.read_secret(far.data) == text
        await world.delete("pair")
        assert await world.leftovers() == []


async def test_a_renewed_kubeconfig_reaches_argo_cd() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.create(experiment("renew", target("app", "gke"), annotations=HANG))
        found = await world.phase("renew", "Running")
        namespace, _, name = found.status.targets[0].connection_secret.partition("/")
        text = yaml.load(
            kubeconfig.read_secret((await world.client.get(Secret, name, namespace)).data)
        )
        text["users"][0]["user"] = {"token": "renewed"}
        renewed = base64.b64encode(yaml.dump(text).encode()).decode()
        secret = await world.client.get(Secret, name, namespace)
        await world.client.patch(secret, {"data": {"kubeconfig": renewed}})

        async def is_known() -> bool:
            known = await world.client.get(Secret, "cluster-renew-app", "argocd")
            return b"renewed" in base64.b64decode(known.data["config"])

        await eventually(is_known)
