"""A control plane that no node has joined, and nodes whose kubelet is somebody else's."""

from typing import Any

Object = dict[str, Any]

NODE = {"metadata": {"name": "far"}}
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "KubeletReady",
    "message": "kubelet is posting ready status",
    "lastHeartbeatTime": "2026-01-01T00:00:00Z",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def states(value: Object) -> dict[str, tuple[str, str]]:
    found = value["status"].get("conditions") or ()
    return {each["type"]: (each["status"], each.get("reason", "")) for each in found}


def taints(node: Object) -> set[tuple[str, str]]:
    found = node["spec"].get("taints") or ()
    return {(each["key"].removeprefix("node.kubernetes.io/"), each["effect"]) for each in found}


async def report(cluster: Any, *conditions: Object) -> None:
    """Write the status of the node as its kubelet does."""
    await cluster.patch("nodes", "far", {"status": {"conditions": conditions}}, part="status")


async def test_workloads_make_pods_that_stay_pending(
    world: Any, workload: Any, template: Any
) -> None:
    async with world(controllers_without_kubelet=True) as cluster:
        for kind in ("Deployment", "StatefulSet", "DaemonSet"):
            await cluster.create(f"{kind.lower()}s", workload(kind, kind.lower()))
        job_template = template("job")
        job_template["spec"]["restartPolicy"] = "Never"
        job = {"metadata": {"name": "job"}, "spec": {"template": job_template}}
        await cluster.create("jobs", job)
        await cluster.pass_time(3600)
        pods = await cluster.items("pods")
        owners = sorted(each["metadata"]["ownerReferences"][0]["kind"] for each in pods)
        assert owners == ["Job", "ReplicaSet", "StatefulSet"]
        assert {each["status"]["phase"] for each in pods} == {"Pending"}
        scheduled = {states(each)["PodScheduled"] for each in pods}
        assert scheduled == {("False", "Unschedulable")}
        deployment = await cluster.the("deployments", "deployment")
        assert deployment["status"]["unavailableReplicas"] == 1
        assert states(deployment)["Progressing"] == ("False", "ProgressDeadlineExceeded")
        assert (await cluster.the("jobs", "job"))["status"]["active"] == 1
        assert await cluster.names("nodes") == []


async def test_unscheduled_pod_is_deleted_at_once(world: Any, template: Any) -> None:
    async with world(controllers_without_kubelet=True) as cluster:
        await cluster.create("pods", {"metadata": {"name": "p"}, **{"spec": template("p")["spec"]}})
        await cluster.delete("pods", "p")
        assert await cluster.get("pods", "p") is None


async def test_pods_go_to_a_node_that_joins_and_wait_for_its_kubelet(
    world: Any, workload: Any
) -> None:
    async with world(controllers_without_kubelet=True) as cluster:
        await cluster.create("deployments", workload("Deployment", "web"))
        await cluster.create("nodes", NODE)
        assert "nodeName" not in (await cluster.items("pods"))[0]["spec"]
        await report(cluster, READY)
        (pod,) = await cluster.items("pods")
        assert pod["spec"]["nodeName"] == "far"
        assert pod["status"]["phase"] == "Pending"


async def test_node_that_never_reports_becomes_unknown(world: Any) -> None:
    async with world(controllers_without_kubelet=True) as cluster:
        await cluster.create("nodes", NODE)
        await cluster.pass_time(59)
        assert "Ready" not in states(await cluster.the("nodes", "far"))
        await cluster.pass_time(2)
        node = await cluster.the("nodes", "far")
        unknown = ("Unknown", "NodeStatusNeverUpdated")
        kinds = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
        assert states(node) == dict.fromkeys(kinds, unknown)
        assert taints(node) == {("unreachable", "NoSchedule")}


async def test_silent_node_is_given_up_and_its_pods_are_evicted(
    simulation: Any, workload: Any, template: Any
) -> None:
    far = template("web")
    far["spec"]["nodeSelector"] = {"place": "far"}
    async with simulation() as cluster:
        await cluster.create("nodes", {"metadata": {"name": "far", "labels": {"place": "far"}}})
        await report(cluster, READY)
        await cluster.create("deployments", workload("Deployment", "web", far))
        (first,) = await cluster.names("pods")
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await cluster.patch("pods", first, {"status": running}, part="status")
        await cluster.pass_time(51)
        node = await cluster.the("nodes", "far")
        assert states(node)["Ready"] == ("Unknown", "NodeStatusUnknown")
        assert taints(node) == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
        assert await cluster.reasons("Node") == ["NodeNotReady"]
        assert states(await cluster.the("pods", first))["Ready"][0] == "False"
        await cluster.pass_time(301)
        assert "deletionTimestamp" in (await cluster.the("pods", first))["metadata"]
        assert len(await cluster.names("pods")) == 2


async def test_nobody_is_evicted_while_no_node_is_ready(world: Any) -> None:
    async with world(controllers_without_kubelet=True) as cluster:
        await cluster.create("nodes", NODE)
        await report(cluster, READY)
        await cluster.pass_time(51)
        assert taints(await cluster.the("nodes", "far")) == {("unreachable", "NoSchedule")}
        near = {"metadata": {"name": "near"}, "status": {"conditions": [READY]}}
        await cluster.create("nodes", near)
        assert ("unreachable", "NoExecute") in taints(await cluster.the("nodes", "far"))
        await cluster.delete("nodes", "near")
        assert taints(await cluster.the("nodes", "far")) == {("unreachable", "NoSchedule")}


async def test_renewed_lease_keeps_a_node(world: Any) -> None:
    async with world(controllers_without_kubelet=True) as cluster:
        await cluster.create("nodes", NODE)
        await report(cluster, READY)
        lease = {"metadata": {"name": "far"}, "spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}
        await cluster.create("leases", lease, "kube-node-lease")
        for second in (40, 41, 42):
            await cluster.pass_time(40)
            renewed = {"spec": {"renewTime": f"2026-01-01T00:00:{second}.000000Z"}}
            await cluster.patch("leases", "far", renewed, "kube-node-lease")
        node = await cluster.the("nodes", "far")
        assert states(node)["Ready"] == ("True", "KubeletReady")
        assert taints(node) == set()


async def test_taints_follow_the_conditions_of_a_node(world: Any) -> None:
    async with world(controllers_without_kubelet=True) as cluster:
        await cluster.create("nodes", NODE)
        await report(
            cluster, {**READY, "status": "False"}, {"type": "DiskPressure", "status": "True"}
        )
        await cluster.patch("nodes", "far", {"spec": {"unschedulable": True}})
        assert taints(await cluster.the("nodes", "far")) == {
            ("not-ready", "NoSchedule"),
            ("disk-pressure", "NoSchedule"),
            ("unschedulable", "NoSchedule"),
        }
        mine = {"key": "example.com/mine", "effect": "NoSchedule"}
        node = await cluster.the("nodes", "far")
        spec = {"unschedulable": None, "taints": [*node["spec"]["taints"], mine]}
        await cluster.patch("nodes", "far", {"spec": spec})
        await report(cluster, READY)
        assert taints(await cluster.the("nodes", "far")) == {("example.com/mine", "NoSchedule")}
