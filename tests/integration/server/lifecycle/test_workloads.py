"""The other workloads, seen by clients."""

import json
from typing import Any

import pytest

Object = dict[str, Any]


def conditions(value: Object) -> dict[str, str]:
    return {each["type"]: each["status"] for each in value["status"].get("conditions", ())}


def job(name: str, template: Object, **spec: Any) -> Object:
    template = {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


def image(name: str) -> Object:
    containers = [{"name": "main", "image": name}]
    return {"spec": {"template": {"spec": {"containers": containers}}}}


# stateful sets -----------------------------------------------------------------------------------


async def test_stateful_set_starts_its_pods_one_after_the_other(
    simulation: Any, workload: Any, template: Any
) -> None:
    async with simulation() as cluster:
        slow = template("db", start_delay="10s")
        await cluster.create("statefulsets", workload("StatefulSet", "db", slow, replicas=3))
        assert await cluster.names("pods") == ["db-0"]
        await cluster.pass_time(11)
        assert await cluster.names("pods") == ["db-0", "db-1"]
        await cluster.pass_time(25)
        assert await cluster.names("pods") == ["db-0", "db-1", "db-2"]
        stateful = await cluster.the("statefulsets", "db")
        assert stateful["status"]["readyReplicas"] == 3
        assert stateful["status"]["currentRevision"] == stateful["status"]["updateRevision"]


async def test_parallel_stateful_set_starts_all_at_once(
    simulation: Any, workload: Any, template: Any
) -> None:
    async with simulation() as cluster:
        slow = template("db", start_delay="10s")
        made = workload("StatefulSet", "db", slow, replicas=3, podManagementPolicy="Parallel")
        await cluster.create("statefulsets", made)
        assert await cluster.names("pods") == ["db-0", "db-1", "db-2"]


async def test_stateful_set_gives_up_its_last_pod_first_and_keeps_the_claims(
    simulation: Any, workload: Any
) -> None:
    async with simulation() as cluster:
        resources = {"requests": {"storage": "1Gi"}}
        claim = {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources},
        }
        made = workload("StatefulSet", "db", replicas=3, volumeClaimTemplates=[claim])
        await cluster.create("statefulsets", made)
        await cluster.patch("statefulsets", "db", {"spec": {"replicas": 1}})
        assert await cluster.names("pods") == ["db-0"]
        claims = await cluster.items("persistentvolumeclaims")
        assert [each["metadata"]["name"] for each in claims] == [
            "data-db-0",
            "data-db-1",
            "data-db-2",
        ]
        assert {each["status"]["phase"] for each in claims} == {"Bound"}
        await cluster.delete("persistentvolumeclaims", "data-db-2")
        assert len(await cluster.names("persistentvolumes")) == 2


async def test_stateful_update_stops_at_the_partition(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
        made = workload("StatefulSet", "db", replicas=3, updateStrategy=strategy)
        await cluster.create("statefulsets", made)
        await cluster.patch("statefulsets", "db", image("example/app:2"))
        images = {
            pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"]
            for pod in await cluster.items("pods")
        }
        assert images == {
            "db-0": "example/app:1",
            "db-1": "example/app:1",
            "db-2": "example/app:2",
        }
        stateful = await cluster.the("statefulsets", "db")
        assert stateful["status"]["updatedReplicas"] == 1
        await cluster.delete("pods", "db-0")  # comes back as it was
        pod = await cluster.the("pods", "db-0")
        assert pod["spec"]["containers"][0]["image"] == "example/app:1"


async def test_stateful_update_on_delete_waits_for_somebody(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        strategy = {"type": "OnDelete"}
        made = workload("StatefulSet", "db", replicas=2, updateStrategy=strategy)
        await cluster.create("statefulsets", made)
        await cluster.patch("statefulsets", "db", image("example/app:2"))
        pod = await cluster.the("pods", "db-1")
        assert pod["spec"]["containers"][0]["image"] == "example/app:1"
        await cluster.delete("pods", "db-1")
        pod = await cluster.the("pods", "db-1")
        assert pod["spec"]["containers"][0]["image"] == "example/app:2"


async def test_replication_controller_keeps_its_number(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        spec = {"replicas": 2, "selector": {"app": "old"}, "template": template("old")}
        await cluster.create("replicationcontrollers", {"metadata": {"name": "old"}, "spec": spec})
        found = await cluster.the("replicationcontrollers", "old")
        assert found["status"]["readyReplicas"] == 2
        await cluster.delete("pods", (await cluster.names("pods"))[0])
        assert len(await cluster.names("pods")) == 2
        await cluster.delete("replicationcontrollers", "old")
        # the dependents of this old kind are orphaned by default, as in Kubernetes
        assert len(await cluster.names("pods")) == 2
        assert not any(
            "ownerReferences" in each["metadata"] for each in await cluster.items("pods")
        )


# daemon sets -------------------------------------------------------------------------------------


async def test_daemon_set_has_one_pod_on_every_node(simulation: Any, workload: Any) -> None:
    async with simulation(simulated_nodes=3) as cluster:
        await cluster.create("daemonsets", workload("DaemonSet", "agent"))
        nodes = sorted(pod["spec"]["nodeName"] for pod in await cluster.items("pods"))
        assert nodes == [f"quarterdeck-node-{number}" for number in range(3)]
        daemons = await cluster.the("daemonsets", "agent")
        assert daemons["status"]["numberAvailable"] == 3
        node = {
            "metadata": {
                "name": "late",
                "annotations": {"simulate.quarterdeck.dev/node": "true"},
            }
        }
        await cluster.create("nodes", node)
        daemons = await cluster.the("daemonsets", "agent")
        assert daemons["status"]["desiredNumberScheduled"] == 4
        assert daemons["status"]["numberReady"] == 4


async def test_daemon_update_replaces_one_pod_at_a_time(
    simulation: Any, workload: Any, template: Any
) -> None:
    async with simulation(simulated_nodes=3) as cluster:
        slow = template("agent", start_delay="5s")
        await cluster.create("daemonsets", workload("DaemonSet", "agent", slow))
        await cluster.pass_time(6)
        await cluster.patch("daemonsets", "agent", image("example/app:2"))
        for _ in range(20):
            daemons = await cluster.the("daemonsets", "agent")
            assert daemons["status"].get("numberUnavailable", 0) <= 1
            await cluster.pass_time(1)
        assert daemons["status"]["updatedNumberScheduled"] == 3


# jobs --------------------------------------------------------------------------------------------


async def test_job_runs_to_its_completions(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        made = job("work", template("work", run_for="10s"), completions=5, parallelism=2)
        await cluster.create("jobs", made)
        await cluster.pass_time(1)
        work = await cluster.the("jobs", "work")
        assert work["status"]["active"] == 2
        await cluster.pass_time(35)
        work = await cluster.the("jobs", "work")
        assert work["status"]["succeeded"] == 5
        assert conditions(work) == {"SuccessCriteriaMet": "True", "Complete": "True"}
        assert "active" not in work["status"]
        assert len(await cluster.names("pods")) == 5


async def test_job_that_fails_too_often_fails(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("jobs", job("bad", template("bad", exit_code="2"), backoffLimit=2))
        await cluster.pass_time(9)
        bad = await cluster.the("jobs", "bad")
        assert bad["status"]["failed"] == 1
        await cluster.pass_time(60)
        bad = await cluster.the("jobs", "bad")
        assert bad["status"]["failed"] == 3
        assert conditions(bad) == {"FailureTarget": "True", "Failed": "True"}
        assert "BackoffLimitExceeded" in await cluster.reasons("Job")


async def test_suspended_job_has_no_pods_until_it_is_resumed(
    simulation: Any, template: Any
) -> None:
    async with simulation() as cluster:
        made = job("work", template("work", run_for="1h"), parallelism=2, completions=2)
        await cluster.create("jobs", made)
        await cluster.patch("jobs", "work", {"spec": {"suspend": True}})
        work = await cluster.the("jobs", "work")
        assert await cluster.names("pods") == []
        assert conditions(work) == {"Suspended": "True"}
        assert "startTime" not in work["status"]
        await cluster.patch("jobs", "work", {"spec": {"suspend": False}})
        work = await cluster.the("jobs", "work")
        assert conditions(work) == {"Suspended": "False"}
        assert work["status"]["active"] == 2


async def test_indexed_job_numbers_its_pods(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        spec = {"completions": 3, "parallelism": 3, "completionMode": "Indexed"}
        await cluster.create("jobs", job("work", template("work"), **spec))
        work = await cluster.the("jobs", "work")
        assert work["status"]["completedIndexes"] == "0-2"


async def test_indexes_of_deleted_pods_stay_done(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        spec = {"completions": 3, "parallelism": 1, "completionMode": "Indexed"}
        await cluster.create("jobs", job("work", template("work", run_for="10s"), **spec))
        await cluster.pass_time(11)
        (first,) = [each for each in await cluster.names("pods") if each.startswith("work-0-")]
        await cluster.send("DELETE", cluster.path("pods", first))
        await cluster.pass_time(11)
        work = await cluster.the("jobs", "work")
        assert work["status"]["completedIndexes"] == "0-1"
        await cluster.pass_time(11)
        work = await cluster.the("jobs", "work")
        assert work["status"]["completedIndexes"] == "0-2"
        assert conditions(work)["Complete"] == "True"
        assert not any(each.startswith("work-0-") for each in await cluster.names("pods"))


async def test_annotations_that_controllers_read_may_be_nonsense(
    simulation: Any, template: Any, workload: Any
) -> None:
    async with simulation() as cluster:
        spec = {"completions": 2, "parallelism": 1, "completionMode": "Indexed"}
        await cluster.create("jobs", job("work", template("work", run_for="10s"), **spec))
        (pod,) = await cluster.names("pods")
        notes = {"metadata": {"annotations": {"batch.kubernetes.io/job-completion-index": "x"}}}
        await cluster.patch("pods", pod, notes)
        await cluster.create("cronjobs", cron("tick", template("tick"), schedule="* * * * *"))
        await cluster.pass_time(61)
        tick = await cluster.the("cronjobs", "tick")
        for number, moment in enumerate(("soon", "9999-01-01T00:00:00Z")):
            made = job(f"own{number}", template("own"))
            owner: Object = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "tick"}
            owner |= {"uid": tick["metadata"]["uid"], "controller": True}
            made["metadata"]["ownerReferences"] = [owner]
            name = "batch.kubernetes.io/cronjob-scheduled-timestamp"
            made["metadata"]["annotations"] = {name: moment}
            await cluster.create("jobs", made)
        await cluster.create("deployments", workload("Deployment", "web"))
        (web,) = await cluster.names("replicasets")
        nonsense = dict.fromkeys(
            (f"deployment.kubernetes.io/{each}" for each in ("revision", "max-replicas")), "²"
        )
        await cluster.patch("replicasets", web, {"metadata": {"annotations": nonsense}})
        await cluster.patch("deployments", "web", {"spec": {"replicas": 2}})
        await cluster.pass_time(61)
        assert (await cluster.the("replicasets", web))["spec"]["replicas"] == 2
        assert (await cluster.the("jobs", "work"))["status"]["succeeded"] == 2
        last = (await cluster.the("cronjobs", "tick"))["status"]["lastScheduleTime"]
        assert last == "2026-01-01T00:02:00Z"
        assert cluster.lifecycle.engine.statistics()["failing"] == 0


async def test_job_past_its_deadline_fails(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        made = job("slow", template("slow", run_for="1h"), activeDeadlineSeconds=30)
        await cluster.create("jobs", made)
        await cluster.pass_time(31)
        slow = await cluster.the("jobs", "slow")
        assert slow["status"]["conditions"][-1]["reason"] == "DeadlineExceeded"
        assert await cluster.names("pods") == []


async def test_finished_job_goes_after_its_time_to_live(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("jobs", job("work", template("work"), ttlSecondsAfterFinished=60))
        await cluster.pass_time(59)
        assert await cluster.names("jobs") == ["work"]
        await cluster.pass_time(2)
        assert await cluster.names("jobs") == []
        assert await cluster.names("pods") == []


def cron(name: str, template: Object, **spec: Any) -> Object:
    inner = job("unused", template)["spec"]
    return {
        "metadata": {"name": name},
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": inner}, **spec},
    }


async def test_cron_job_starts_jobs_on_time_and_forgets_old_ones(
    simulation: Any, template: Any
) -> None:
    async with simulation() as cluster:
        made = cron("tick", template("tick"), successfulJobsHistoryLimit=2)
        await cluster.create("cronjobs", made)
        await cluster.pass_time(4 * 60)
        assert await cluster.names("jobs") == []
        await cluster.pass_time(90)
        assert len(await cluster.names("jobs")) == 1
        await cluster.pass_time(30 * 60)
        assert len(await cluster.names("jobs")) == 2
        tick = await cluster.the("cronjobs", "tick")
        assert tick["status"]["lastScheduleTime"] == "2026-01-01T00:35:00Z"
        assert "active" not in tick["status"]


async def test_cron_jobs_follow_their_concurrency_policy(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        long = template("long", run_for="12m")
        for policy in ("Allow", "Forbid", "Replace"):
            made = cron(policy.lower(), long, concurrencyPolicy=policy)
            await cluster.create("cronjobs", made)
        await cluster.pass_time(11 * 60)
        active = {
            each["metadata"]["name"]: len(each["status"]["active"])
            for each in await cluster.items("cronjobs")
        }
        assert active == {"allow": 2, "forbid": 1, "replace": 1}
        assert "JobAlreadyActive" in await cluster.reasons("CronJob")


# others ------------------------------------------------------------------------------------------


async def test_disruption_budget_counts(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        budget = {
            "metadata": {"name": "web"},
            "spec": {"maxUnavailable": "50%", "selector": {"matchLabels": {"app": "web"}}},
        }
        await cluster.create("poddisruptionbudgets", budget)
        await cluster.create("deployments", workload("Deployment", "web", replicas=4))
        status = (await cluster.the("poddisruptionbudgets", "web"))["status"]
        assert status["expectedPods"] == 4
        assert status["desiredHealthy"] == 2
        assert status["disruptionsAllowed"] == 2
        assert status["conditions"][0]["reason"] == "SufficientPods"


async def test_autoscaler_follows_the_load(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web"))
        utilization = {"type": "Utilization", "averageUtilization": 50}
        metric = {"type": "Resource", "resource": {"name": "cpu", "target": utilization}}
        scaler = {
            "metadata": {
                "name": "web",
                "annotations": {"simulate.quarterdeck.dev/load": "170"},
            },
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 1,
                "maxReplicas": 5,
                "metrics": [metric],
            },
        }
        await cluster.create("horizontalpodautoscalers", scaler)
        assert (await cluster.the("deployments", "web"))["status"]["readyReplicas"] == 4
        load = {"metadata": {"annotations": {"simulate.quarterdeck.dev/load": "9999"}}}
        await cluster.patch("horizontalpodautoscalers", "web", load)
        await cluster.pass_time(16)
        assert (await cluster.the("deployments", "web"))["status"]["readyReplicas"] == 5
        scaled = await cluster.the("horizontalpodautoscalers", "web")
        assert conditions(scaled)["ScalingLimited"] == "True"


async def test_nodes_are_alive_by_their_leases(simulation: Any) -> None:
    async with simulation(simulated_nodes=2) as cluster:
        nodes = await cluster.items("nodes")
        assert [each["metadata"]["name"] for each in nodes] == [
            "quarterdeck-node-0",
            "quarterdeck-node-1",
        ]
        assert all(conditions(node)["Ready"] == "True" for node in nodes)
        before = await cluster.the("leases", "quarterdeck-node-0", "kube-node-lease")
        await cluster.pass_time(11)
        after = await cluster.the("leases", "quarterdeck-node-0", "kube-node-lease")
        assert after["spec"]["renewTime"] > before["spec"]["renewTime"]


async def test_pods_leave_a_node_that_lost_contact(simulation: Any, workload: Any) -> None:
    async with simulation(simulated_nodes=2) as cluster:
        await cluster.create("deployments", workload("Deployment", "web", replicas=8))
        down = {"metadata": {"annotations": {"simulate.quarterdeck.dev/down": "true"}}}
        await cluster.patch("nodes", "quarterdeck-node-1", down)
        node = await cluster.the("nodes", "quarterdeck-node-1")
        assert conditions(node)["Ready"] == "Unknown"
        here = [
            pod
            for pod in await cluster.items("pods")
            if pod["spec"]["nodeName"] == "quarterdeck-node-1"
        ]
        assert here
        assert all(conditions(pod)["Ready"] == "False" for pod in here)
        await cluster.pass_time(301)
        deployment = await cluster.the("deployments", "web")
        assert deployment["status"]["readyReplicas"] == 8
        stuck = [
            pod for pod in await cluster.items("pods") if pod["metadata"].get("deletionTimestamp")
        ]
        assert len(stuck) == len(here)
        back = {"metadata": {"annotations": {"simulate.quarterdeck.dev/down": None}}}
        await cluster.patch("nodes", "quarterdeck-node-1", back)
        assert len(await cluster.names("pods")) == 8


@pytest.mark.parametrize("seconds", [10**11, 2**63 - 1])
async def test_seconds_of_more_than_a_life_wrap_around(
    simulation: Any, template: Any, seconds: int
) -> None:
    never = template("work", run_for="1h")
    never["spec"] |= {"restartPolicy": "Never", "terminationGracePeriodSeconds": seconds}
    pod = {"metadata": {"name": "work"}, "spec": never["spec"]}
    async with simulation() as cluster:
        status, _ = await cluster.send(
            "POST", cluster.path("namespaces"), {"metadata": {"name": "n"}}
        )
        assert status == 201
        await cluster.create("pods", pod, "n")
        await cluster.create("jobs", job("work", never, activeDeadlineSeconds=seconds), "n")
        made = cron("tick", never, startingDeadlineSeconds=seconds)
        await cluster.create("cronjobs", made, "n")
        await cluster.pass_time(61)
        assert cluster.lifecycle.engine.statistics()["failing"] == 0
        status, answer = await cluster.send("DELETE", cluster.path("pods", "work", "n"))
        assert status == 200, answer
        assert answer["metadata"]["deletionGracePeriodSeconds"] == seconds
        status, _ = await cluster.send("DELETE", cluster.path("namespaces", "n"))
        assert status == 200
        await cluster.pass_time(61)
        assert cluster.lifecycle.engine.statistics()["failing"] == 0


async def test_references_and_templates_may_be_nonsense(simulation: Any, workload: Any) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    target = {"apiVersion": "a/b/c", "kind": "Deployment", "name": "web"}
    async with simulation() as at:
        await at.create(
            "statefulsets",
            workload("StatefulSet", "db", serviceName="db", volumeClaimTemplates=[{"spec": claim}]),
        )
        await at.create(
            "horizontalpodautoscalers",
            {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": "web"},
                "spec": {"maxReplicas": 3, "scaleTargetRef": target},
            },
        )
        await at.wait_until_idle()
        assert await at.names("pods") == ["db-0"]
        said = (await at.the("horizontalpodautoscalers", "web"))["status"]["conditions"]
        assert [each["reason"] for each in said] == ["FailedGetScale"]


@pytest.mark.parametrize(
    ("resource", "kind"), [("statefulsets", "StatefulSet"), ("daemonsets", "DaemonSet")]
)
async def test_revisions_carry_annotations_and_sorted_members(
    simulation: Any, workload: Any, resource: str, kind: str
) -> None:
    async with simulation() as cluster:
        made = workload(kind, "db")
        made["metadata"]["annotations"] = {"who": "me"}
        await cluster.create(resource, made)
        (revision,) = await cluster.items("controllerrevisions")
        assert revision["metadata"]["annotations"]["who"] == "me"
        assert next(iter(revision["data"]["spec"]["template"])) == "$patch"
        assert json.dumps(revision["data"]) == json.dumps(revision["data"], sort_keys=True)
