"""Pods that behave as their annotations say."""

import json
from typing import Any

import pytest

from quarterdeck.kit import http

Object = dict[str, Any]


def pod(template: Object, **spec: Any) -> Object:
    return {
        "metadata": {"name": "p", **template["metadata"]},
        "spec": {**template["spec"], **spec},
    }


def state(value: Object) -> Object:
    found: Object = value["status"]["containerStatuses"][0]["state"]
    return found


async def test_pod_starts_after_its_delay(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("pods", pod(template("p", start_delay="20s")))
        value = await cluster.the("pods", "p")
        assert value["status"]["phase"] == "Pending"
        assert state(value) == {"waiting": {"reason": "ContainerCreating"}}
        await cluster.pass_time(21)
        value = await cluster.the("pods", "p")
        assert value["status"]["phase"] == "Running"
        assert state(value) == {"running": {"startedAt": "2026-01-01T00:00:20Z"}}


@pytest.mark.parametrize(
    "failure",
    ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError"],
)
async def test_container_that_cannot_start_waits(
    simulation: Any, template: Any, failure: str
) -> None:
    async with simulation() as cluster:
        await cluster.create("pods", pod(template("p", fail=failure)))
        value = await cluster.the("pods", "p")
        assert value["status"]["phase"] == "Pending"
        assert state(value)["waiting"]["reason"] == failure


async def test_crash_loop_backs_off_longer_each_time(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("pods", pod(template("p", fail="CrashLoopBackOff", run_for="1s")))
        await cluster.pass_time(2)
        value = await cluster.the("pods", "p")
        assert state(value)["waiting"]["reason"] == "CrashLoopBackOff"
        last = value["status"]["containerStatuses"][0]["lastState"]["terminated"]
        assert (last["exitCode"], last["reason"]) == (1, "Error")
        await cluster.pass_time(60)
        value = await cluster.the("pods", "p")
        assert value["status"]["containerStatuses"][0]["restartCount"] == 2
        assert "BackOff" in await cluster.reasons("Pod")


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [
        pytest.param("Never", "0", "Succeeded", id="ends well"),
        pytest.param("Never", "3", "Failed", id="ends badly"),
        pytest.param("OnFailure", "0", "Succeeded", id="ends well and is not restarted"),
        pytest.param("OnFailure", "3", "Running", id="ends badly and is restarted"),
    ],
)
async def test_containers_that_exit_end_or_restart_by_policy(
    simulation: Any, template: Any, policy: str, code: str, phase: str
) -> None:
    async with simulation() as cluster:
        made = pod(template("p", run_for="5s", exit_code=code), restartPolicy=policy)
        await cluster.create("pods", made)
        await cluster.pass_time(6)
        assert (await cluster.the("pods", "p"))["status"]["phase"] == phase


async def test_evicted_pod_says_so(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("pods", pod(template("p", fail="Evicted")))
        status = (await cluster.the("pods", "p"))["status"]
        assert (status["phase"], status["reason"]) == ("Failed", "Evicted")


async def test_pod_that_fits_no_node_waits_for_one(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("pods", pod(template("p"), nodeSelector={"disk": "fast"}))
        (scheduled,) = (await cluster.the("pods", "p"))["status"]["conditions"]
        assert scheduled["reason"] == "Unschedulable"
        assert scheduled["message"] == (
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
        )
        labels = {"metadata": {"labels": {"disk": "fast"}}}
        await cluster.patch("nodes", "quarterdeck-node-0", labels)
        assert (await cluster.the("pods", "p"))["status"]["phase"] == "Running"


async def test_pod_takes_its_time_to_stop_but_not_more_than_its_grace(
    simulation: Any, template: Any
) -> None:
    async with simulation() as cluster:
        made = pod(template("p", stop_delay="1h"), terminationGracePeriodSeconds=20)
        await cluster.create("pods", made)
        await cluster.delete("pods", "p")
        await cluster.pass_time(19)
        assert await cluster.get("pods", "p") is not None
        await cluster.pass_time(2)
        assert await cluster.get("pods", "p") is None


async def test_deleted_pod_is_not_ready_then_terminated_then_gone(
    simulation: Any, template: Any
) -> None:
    async with simulation() as cluster:
        await cluster.create("pods", pod(template("p", stop_delay="5s")))
        stages = await watch_deletion(cluster, wait_s=6)
        assert stages == [
            ("Running", "True", "running"),
            ("Running", "False", "running"),
            ("Succeeded", "False", "terminated"),
        ]
        assert await cluster.get("pods", "p") is None
        assert "Killing" in await cluster.reasons("Pod")


async def test_pod_that_outlives_its_grace_is_killed(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        made = pod(template("p", stop_delay="1h"), terminationGracePeriodSeconds=3)
        made["metadata"]["finalizers"] = ["example.com/look"]
        await cluster.create("pods", made)
        await cluster.delete("pods", "p")
        await cluster.pass_time(4)
        value = await cluster.the("pods", "p")
        assert value["status"]["phase"] == "Failed"
        assert state(value)["terminated"]["exitCode"] == 137


async def watch_deletion(cluster: Any, wait_s: float) -> list[tuple[str, str, str]]:
    """Delete the pod, and return what a watch saw: phase, ready, and state of its container."""
    before = (await cluster.the("pods", "p"))["metadata"]["resourceVersion"]
    await cluster.delete("pods", "p")
    await cluster.pass_time(wait_s)
    path = f"{cluster.path('pods')}?watch=true&resourceVersion={before}"
    async with http.Client() as client:
        response = await client.request("GET", cluster.cluster.url + path)
        stages: list[tuple[str, str, str]] = []
        async for line in response.lines():
            event = json.loads(line)
            if event["type"] == "DELETED":
                return stages
            value = event["object"]
            ready = next(c for c in value["status"]["conditions"] if c["type"] == "Ready")
            stages.append((value["status"]["phase"], ready["status"], next(iter(state(value)))))
    raise AssertionError("the watch ended before the pod did")


async def test_pod_of_another_scheduler_is_left_alone(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("pods", pod(template("p"), schedulerName="mine"))
        assert "nodeName" not in (await cluster.the("pods", "p"))["spec"]


async def test_readiness_gate_keeps_a_pod_unready(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        gates = [{"conditionType": "example.com/open"}]
        await cluster.create("pods", pod(template("p"), readinessGates=gates))
        value = await cluster.the("pods", "p")
        ready = {each["type"]: each["status"] for each in value["status"]["conditions"]}
        assert ready["Ready"] == "False"
        assert ready["ContainersReady"] == "True"
        opened = {"type": "example.com/open", "status": "True"}
        conditions = [*value["status"]["conditions"], opened]
        await cluster.patch("pods", "p", {"status": {"conditions": conditions}}, part="status")
        value = await cluster.the("pods", "p")
        ready = {each["type"]: each["status"] for each in value["status"]["conditions"]}
        assert ready["Ready"] == "True"


@pytest.mark.parametrize(
    "annotations",
    [
        pytest.param({}, id="running"),
        pytest.param({"fail": "CrashLoopBackOff"}, id="crashing"),
        pytest.param({"fail": "ImagePullBackOff"}, id="without an image"),
        pytest.param({"start_delay": "20s"}, id="created"),
    ],
)
async def test_ephemeral_container_runs_until_its_pod_ends(
    simulation: Any, template: Any, annotations: dict[str, str]
) -> None:
    async with simulation() as cluster:
        await cluster.create("pods", pod(template("p", **annotations)))
        added = [{"name": "debugger", "image": "busybox", "targetContainerName": "main"}]
        await cluster.patch(
            "pods", "p", {"spec": {"ephemeralContainers": added}}, part="ephemeralcontainers"
        )
        await cluster.pass_time(100)
        value = await cluster.the("pods", "p")
        found = value["status"]["ephemeralContainerStatuses"]
        started = "2026-01-01T00:00:20Z" if "start_delay" in annotations else "2026-01-01T00:00:00Z"
        assert [each["state"] for each in found] == [{"running": {"startedAt": started}}]
        paths = [each["involvedObject"].get("fieldPath") for each in await cluster.items("events")]
        assert paths.count("spec.ephemeralContainers{debugger}") == 3


async def test_ephemeral_container_ends_with_its_pod(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("pods", pod(template("p", run_for="30s"), restartPolicy="Never"))
        added = {"spec": {"ephemeralContainers": [{"name": "debugger", "image": "busybox"}]}}
        await cluster.patch("pods", "p", added, part="ephemeralcontainers")
        await cluster.pass_time(31)
        (found,) = (await cluster.the("pods", "p"))["status"]["ephemeralContainerStatuses"]
        ended = found["state"]["terminated"]
        assert (ended["startedAt"], ended["finishedAt"], ended["exitCode"]) == (
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:30Z",
            0,
        )
