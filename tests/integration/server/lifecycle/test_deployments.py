"""Deployments down to their pods, seen by clients."""

from collections import Counter
from typing import Any

import pytest

from quarterdeck.server.lifecycle.engine.actions import Requeue
from quarterdeck.server.lifecycle.workloads.deployments import Deployments
from quarterdeck.server.lifecycle.workloads.replica_sets import ReplicaSets

Object = dict[str, Any]
REVISION = "deployment.kubernetes.io/revision"


def condition(value: Object, kind: str) -> tuple[str, str]:
    for each in value["status"].get("conditions", ()):
        if each["type"] == kind:
            return each["status"], each["reason"]
    return "", ""


def image(name: str) -> Object:
    containers = [{"name": "main", "image": name}]
    return {"spec": {"template": {"spec": {"containers": containers}}}}


async def sizes(cluster: Any) -> dict[str, int]:
    return {
        each["spec"]["template"]["spec"]["containers"][0]["image"]: each["spec"]["replicas"]
        for each in await cluster.items("replicasets")
    }


async def test_deployment_becomes_available(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web", replicas=3))
        deployment = await cluster.the("deployments", "web")
        assert condition(deployment, "Available") == ("True", "MinimumReplicasAvailable")
        assert condition(deployment, "Progressing") == ("True", "NewReplicaSetAvailable")
        numbers = {key: each for key, each in deployment["status"].items() if key != "conditions"}
        assert numbers == {
            "observedGeneration": 1,
            "replicas": 3,
            "updatedReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
        }
        assert deployment["metadata"]["generation"] == 1
        assert deployment["metadata"]["annotations"][REVISION] == "1"
        for pod in await cluster.items("pods"):
            assert pod["status"]["phase"] == "Running"
            assert pod["spec"]["nodeName"] == "quarterdeck-node-0"
            assert all(each["ready"] for each in pod["status"]["containerStatuses"])
        assert len({pod["status"]["podIP"] for pod in await cluster.items("pods")}) == 3


async def test_counts_are_written_once_the_pods_have_started(
    simulation: Any, workload: Any
) -> None:
    async with simulation() as cluster:
        written: Counter[str] = Counter()
        stop = cluster.cluster.api.core.store.subscribe(
            lambda events: written.update(event.key.resource for event in events)
        )
        await cluster.create("deployments", workload("Deployment", "web", replicas=3))
        stop()
    assert written["replicasets.apps"] == 2  # created, all ready
    assert written["deployments.apps"] == 3  # created, observed, available
    assert written["pods"] == 9  # created, bound, running


async def test_pods_that_do_not_start_are_counted(
    simulation: Any, workload: Any, template: Any
) -> None:
    async with simulation() as cluster:
        slow = template("web", start_delay="60s")
        await cluster.create("deployments", workload("Deployment", "web", slow, replicas=2))
        deployment = await cluster.the("deployments", "web")
        assert deployment["status"]["replicas"] == 2
        assert deployment["status"]["unavailableReplicas"] == 2


async def test_events_tell_the_story(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web"))
        assert await cluster.reasons("Deployment") == ["ScalingReplicaSet"]
        assert await cluster.reasons("ReplicaSet") == ["SuccessfulCreate"]
        told = sorted(await cluster.reasons("Pod"))
        assert told == ["Created", "Pulled", "Scheduled", "Started"]


async def test_rolling_update_replaces_all_pods_within_bounds(
    simulation: Any, workload: Any, template: Any
) -> None:
    async with simulation() as cluster:
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
        slow = template("web", start_delay="5s")
        made = workload("Deployment", "web", slow, replicas=4, strategy=rolling)
        await cluster.create("deployments", made)
        await cluster.pass_time(6)
        await cluster.patch("deployments", "web", image("example/app:2"))
        for _ in range(40):
            pods = [
                pod
                for pod in await cluster.items("pods")
                if not pod["metadata"].get("deletionTimestamp")
            ]
            ready = sum(
                any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
                for conditions in (pod["status"].get("conditions", ()) for pod in pods)
            )
            assert len(pods) <= 5
            assert ready >= 3
            await cluster.pass_time(1)
        assert await sizes(cluster) == {"example/app:1": 0, "example/app:2": 4}
        deployment = await cluster.the("deployments", "web")
        assert condition(deployment, "Progressing") == ("True", "NewReplicaSetAvailable")
        assert deployment["metadata"]["annotations"][REVISION] == "2"


async def test_recreate_stops_all_before_it_starts_any(
    simulation: Any, workload: Any, template: Any
) -> None:
    async with simulation() as cluster:
        slow = template("web", stop_delay="10s")
        made = workload("Deployment", "web", slow, replicas=3, strategy={"type": "Recreate"})
        await cluster.create("deployments", made)
        await cluster.patch("deployments", "web", image("example/app:2"))
        images = {pod["spec"]["containers"][0]["image"] for pod in await cluster.items("pods")}
        assert images == {"example/app:1"}
        await cluster.pass_time(11)
        images = {pod["spec"]["containers"][0]["image"] for pod in await cluster.items("pods")}
        assert images == {"example/app:2"}
        assert len(await cluster.names("pods")) == 3


async def test_rollback_uses_the_old_replica_set_again(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web"))
        (first,) = await cluster.names("replicasets")
        await cluster.patch("deployments", "web", image("example/app:2"))
        await cluster.patch("deployments", "web", image("example/app:1"))
        sets = {each["metadata"]["name"]: each for each in await cluster.items("replicasets")}
        assert len(sets) == 2
        notes = sets[first]["metadata"]["annotations"]
        assert notes[REVISION] == "3"
        assert notes["deployment.kubernetes.io/revision-history"] == "1"
        assert sets[first]["spec"]["replicas"] == 1


async def test_history_is_kept_to_its_limit(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web", revisionHistoryLimit=2))
        for number in range(2, 7):
            await cluster.patch("deployments", "web", image(f"example/app:{number}"))
        assert await sizes(cluster) == {
            "example/app:4": 0,
            "example/app:5": 0,
            "example/app:6": 1,
        }


async def test_paused_deployment_scales_and_does_not_roll(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web"))
        await cluster.patch("deployments", "web", {"spec": {"paused": True}})
        deployment = await cluster.the("deployments", "web")
        assert condition(deployment, "Progressing") == ("Unknown", "DeploymentPaused")
        await cluster.patch("deployments", "web", image("example/app:2"))
        await cluster.patch("deployments", "web", {"spec": {"replicas": 3}})
        assert await sizes(cluster) == {"example/app:1": 3}
        await cluster.patch("deployments", "web", {"spec": {"paused": False}})
        assert await sizes(cluster) == {"example/app:1": 0, "example/app:2": 3}


async def test_scaling_needs_no_new_revision(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web"))
        scale = {"spec": {"replicas": 4}}
        await cluster.patch("deployments", "web", scale, part="scale")
        assert await sizes(cluster) == {"example/app:1": 4}
        assert len(await cluster.names("pods")) == 4
        await cluster.patch("deployments", "web", {"spec": {"replicas": 0}}, part="scale")
        assert await cluster.names("pods") == []
        deployment = await cluster.the("deployments", "web")
        assert condition(deployment, "Available")[0] == "True"


async def test_rollout_that_stands_still_says_so(
    simulation: Any, workload: Any, template: Any
) -> None:
    async with simulation() as cluster:
        broken = template("web", fail="ImagePullBackOff")
        made = workload("Deployment", "web", broken, progressDeadlineSeconds=60)
        await cluster.create("deployments", made)
        await cluster.pass_time(58)
        deployment = await cluster.the("deployments", "web")
        assert condition(deployment, "Progressing") == ("True", "ReplicaSetUpdated")
        await cluster.pass_time(5)
        deployment = await cluster.the("deployments", "web")
        assert condition(deployment, "Progressing") == ("False", "ProgressDeadlineExceeded")
        assert condition(deployment, "Available") == ("False", "MinimumReplicasUnavailable")


async def test_minimum_ready_time_delays_availability(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web", minReadySeconds=30))
        deployment = await cluster.the("deployments", "web")
        assert deployment["status"]["readyReplicas"] == 1
        assert "availableReplicas" not in deployment["status"]
        await cluster.pass_time(31)
        deployment = await cluster.the("deployments", "web")
        assert deployment["status"]["availableReplicas"] == 1


async def test_deleted_pod_is_replaced(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web"))
        (before,) = await cluster.names("pods")
        await cluster.delete("pods", before)
        (after,) = await cluster.names("pods")
        assert after != before


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_deleting_a_deployment_takes_everything(
    simulation: Any, workload: Any, policy: str
) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web", replicas=3))
        await cluster.delete("deployments", "web", propagationPolicy=policy)
        assert await cluster.names("deployments") == []
        assert await cluster.names("replicasets") == []
        assert await cluster.names("pods") == []


async def test_orphans_are_adopted_by_the_next_deployment(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web", replicas=2))
        before = await cluster.names("pods")
        await cluster.delete("deployments", "web", propagationPolicy="Orphan")
        assert await cluster.names("pods") == before
        await cluster.create("deployments", workload("Deployment", "web", replicas=2))
        assert await cluster.names("pods") == before
        (adopted,) = await cluster.items("replicasets")
        assert adopted["metadata"]["ownerReferences"][0]["kind"] == "Deployment"


async def test_pod_whose_labels_change_is_let_go(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web"))
        (debugged,) = await cluster.names("pods")
        await cluster.patch("pods", debugged, {"metadata": {"labels": {"app": "debug"}}})
        pods = {pod["metadata"]["name"]: pod for pod in await cluster.items("pods")}
        assert len(pods) == 2
        assert "ownerReferences" not in pods[debugged]["metadata"]


async def test_quota_limits_pods_and_the_deployment_says_why(
    simulation: Any, workload: Any
) -> None:
    async with simulation() as cluster:
        quota = {"metadata": {"name": "small"}, "spec": {"hard": {"pods": "2"}}}
        await cluster.create("resourcequotas", quota)
        await cluster.create("deployments", workload("Deployment", "web", replicas=3))
        assert len(await cluster.names("pods")) == 2
        deployment = await cluster.the("deployments", "web")
        assert condition(deployment, "ReplicaFailure") == ("True", "FailedCreate")
        assert (await cluster.the("resourcequotas", "small"))["status"]["used"] == {"pods": "2"}
        assert "FailedCreate" in await cluster.reasons("ReplicaSet")
        await cluster.patch("resourcequotas", "small", {"spec": {"hard": {"pods": "9"}}})
        await cluster.pass_time(6)
        deployment = await cluster.the("deployments", "web")
        assert deployment["status"]["readyReplicas"] == 3
        assert condition(deployment, "ReplicaFailure") == ("", "")


async def roll_out(cluster: Any) -> None:
    await cluster.patch("deployments", "web", image("example/app:2"))


async def scale(cluster: Any) -> None:
    await cluster.patch("deployments", "web", {"spec": {"replicas": 5}})


async def pause_and_resume(cluster: Any) -> None:
    await cluster.patch("deployments", "web", {"spec": {"paused": True}})
    await roll_out(cluster)
    await cluster.patch("deployments", "web", {"spec": {"paused": False}})


async def forget_old_sets(cluster: Any) -> None:
    await cluster.patch("deployments", "web", {"spec": {"revisionHistoryLimit": 0}})
    await roll_out(cluster)


async def damage_status(cluster: Any) -> None:
    await cluster.patch("deployments", "web", {"status": {"replicas": 9}}, part="status")
    [only] = await cluster.names("replicasets")
    await cluster.patch("replicasets", only, {"status": {"availableReplicas": 1}}, part="status")


async def recreate(cluster: Any) -> None:
    strategy = {"type": "Recreate", "rollingUpdate": None}
    await cluster.patch("deployments", "web", {"spec": {"strategy": strategy}})
    await roll_out(cluster)


@pytest.mark.parametrize(
    "change", [roll_out, scale, pause_and_resume, forget_old_sets, damage_status, recreate]
)
async def test_nothing_is_left_to_do_when_the_engine_rests(
    simulation: Any, workload: Any, template: Any, change: Any
) -> None:
    async with simulation() as cluster:
        spec = template("web", ready_delay="5s")
        await cluster.create("deployments", workload("Deployment", "web", spec, replicas=2))
        await cluster.pass_time(10)
        await change(cluster)
        for _ in range(6):
            view, store = cluster.lifecycle.engine.build_view(), cluster.cluster.api.core.store
            for resource, controller in (
                ("deployments.apps", Deployments()),
                ("replicasets.apps", ReplicaSets()),
            ):
                for entry in store.snapshot().range(resource):
                    left = controller.plan(view, entry.key)
                    assert [each for each in left if not isinstance(each, Requeue)] == []
            await cluster.pass_time(4)
        deployment = await cluster.the("deployments", "web")
        assert deployment["status"]["availableReplicas"] == deployment["spec"]["replicas"]
        assert condition(deployment, "Progressing") == ("True", "NewReplicaSetAvailable")
