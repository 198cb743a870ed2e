"""Events that expire, roles that add up, pods without a kubelet, endpoints."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from quarterdeck.storage import CommitFailed, StoreEvent
from quarterdeck.storage.log import Done
from quarterdeck.storage.memory import MemoryLog

HOUR = 3600


class Disk:
    """Refuses every batch with a write of one resource, while it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, resource: str) -> None:
        self.is_full = True
        self._resource = resource
        monkeypatch.setattr(MemoryLog, "commit", self.commit)

    def commit(self, events: Sequence[StoreEvent], done: Done) -> None:
        is_refused = self.is_full and any(each.key.resource == self._resource for each in events)
        error = CommitFailed("the disk is full") if is_refused else None
        asyncio.get_running_loop().call_soon(done, error)


def event(name: str) -> dict[str, Any]:
    involved = {"kind": "Pod", "namespace": "default", "name": "p"}
    return {"metadata": {"name": name}, "involvedObject": involved, "reason": "Test"}


async def test_events_are_forgotten_an_hour_after_their_last_write(world: Any) -> None:
    async with world() as cluster:
        await cluster.create("events", event("old"))
        await cluster.create("events", event("kept"))
        await cluster.pass_time(HOUR / 2)
        await cluster.patch("events", "kept", {"count": 2})
        await cluster.pass_time(HOUR / 2 + 1)
        assert await cluster.names("events") == ["kept"]
        await cluster.pass_time(HOUR / 2)
        assert await cluster.names("events") == []


async def test_events_expire_whose_removal_failed(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world() as cluster:
        for name in ("a", "b", "c"):
            await cluster.create("events", event(name))
        disk = Disk(monkeypatch, "events")
        await cluster.pass_time(HOUR + 1)
        assert await cluster.names("events") == ["a", "b", "c"]
        assert cluster.lifecycle.engine.statistics()["failing"] == 1
        disk.is_full = False
        await cluster.pass_time(60)
        assert await cluster.names("events") == []
        assert cluster.lifecycle.engine.statistics()["failing"] == 0


async def test_more_events_expire_than_one_plan_removes(world: Any) -> None:
    async with world() as cluster:
        for number in range(501):
            await cluster.create("events", event(f"e{number}"))
        await cluster.pass_time(HOUR + 1)
        assert await cluster.names("events") == []
        await cluster.create("events", event("later"))
        await cluster.pass_time(HOUR + 1)
        assert await cluster.names("events") == []
        assert cluster.lifecycle.engine.statistics()["waiting"] == 0


async def test_a_node_is_registered_after_a_write_that_failed(
    simulation: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch, "nodes")
    async with simulation() as cluster:
        assert await cluster.names("nodes") == []
        disk.is_full = False
        await cluster.pass_time(1)
        assert await cluster.names("nodes") == ["quarterdeck-node-0"]
        await cluster.delete("nodes", "quarterdeck-node-0")
        await cluster.pass_time(60)
        assert await cluster.names("nodes") == []


async def test_aggregated_role_is_the_sum_of_its_parts(world: Any) -> None:
    async with world() as cluster:
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
        part = {"metadata": {"name": "part", "labels": {"to": "sum"}}, "rules": [rule]}
        selectors = [{"matchLabels": {"to": "sum"}}]
        whole = {
            "metadata": {"name": "sum"},
            "rules": [],
            "aggregationRule": {"clusterRoleSelectors": selectors},
        }
        await cluster.create("clusterroles", whole)
        await cluster.create("clusterroles", part)
        assert (await cluster.the("clusterroles", "sum"))["rules"] == [rule]
        await cluster.delete("clusterroles", "part")
        assert not (await cluster.the("clusterroles", "sum")).get("rules")


async def test_roles_that_contain_each_other_come_to_rest(world: Any) -> None:
    async with world() as cluster:
        for name, other in (("a", "b"), ("b", "a")):
            rule = {"apiGroups": [""], "resources": [name], "verbs": ["get"]}
            selectors = [{"matchLabels": {"is": other}}]
            role = {
                "metadata": {"name": name, "labels": {"is": name}},
                "rules": [rule],
                "aggregationRule": {"clusterRoleSelectors": selectors},
            }
            await cluster.create("clusterroles", role)
        rounds = cluster.lifecycle.engine.statistics()["rounds"]
        await cluster.wait_until_idle()
        assert cluster.lifecycle.engine.statistics()["rounds"] == rounds


async def test_pods_stay_pending_without_simulation(world: Any, workload: Any) -> None:
    async with world() as cluster:
        await cluster.create("deployments", workload("Deployment", "web"))
        assert await cluster.names("replicasets") == []
        container = {"name": "main", "image": "example/app:1"}
        await cluster.create(
            "pods", {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
        )
        pod = await cluster.the("pods", "p")
        assert pod["status"]["phase"] == "Pending"
        assert "nodeName" not in pod["spec"]


async def test_bound_pod_of_no_node_is_gone_when_its_grace_ends(world: Any) -> None:
    async with world() as cluster:
        container = {"name": "main", "image": "example/app:1"}
        spec = {"containers": [container], "nodeName": "nowhere"}
        await cluster.create("pods", {"metadata": {"name": "p"}, "spec": spec})
        await cluster.delete("pods", "p")
        assert await cluster.get("pods", "p") is not None
        await cluster.pass_time(29)
        assert await cluster.get("pods", "p") is not None
        await cluster.pass_time(2)
        assert await cluster.get("pods", "p") is None


async def test_endpoints_follow_the_pods_of_a_service(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        ports = [{"port": 80, "targetPort": 8080}]
        service = {
            "metadata": {"name": "web"},
            "spec": {"selector": {"app": "web"}, "ports": ports},
        }
        await cluster.create("services", service)
        assert "subsets" not in await cluster.the("endpoints", "web")
        await cluster.create("deployments", workload("Deployment", "web", replicas=2))
        endpoints = await cluster.the("endpoints", "web")
        pods = await cluster.items("pods")
        (subset,) = endpoints["subsets"]
        addresses = sorted(each["ip"] for each in subset["addresses"])
        assert addresses == sorted(pod["status"]["podIP"] for pod in pods)
        assert subset["ports"] == [{"port": 8080, "protocol": "TCP"}]
        (sliced,) = await cluster.items("endpointslices")
        assert len(sliced["endpoints"]) == 2
        assert all(each["conditions"]["ready"] for each in sliced["endpoints"])
        await cluster.delete("services", "web")
        assert await cluster.get("endpoints", "web") is None
        assert await cluster.items("endpointslices") == []


async def test_pod_that_is_not_ready_is_listed_apart(
    simulation: Any, workload: Any, template: Any
) -> None:
    async with simulation() as cluster:
        service = {
            "metadata": {"name": "web"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        }
        await cluster.create("services", service)
        slow = template("web", ready_delay="30s")
        await cluster.create("deployments", workload("Deployment", "web", slow))
        (subset,) = (await cluster.the("endpoints", "web"))["subsets"]
        assert set(subset) == {"notReadyAddresses", "ports"}
        await cluster.pass_time(31)
        (subset,) = (await cluster.the("endpoints", "web"))["subsets"]
        assert set(subset) == {"addresses", "ports"}


async def test_idle_server_does_nothing(world: Any) -> None:
    async with world() as cluster:
        before = cluster.lifecycle.engine.statistics()
        await cluster.pass_time(HOUR / 4)
        assert cluster.lifecycle.engine.statistics() == before
        assert before["waiting"] == 0
