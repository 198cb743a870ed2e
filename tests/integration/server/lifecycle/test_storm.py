"""Many changes in any order, then rest: what is there is what was asked for."""

import json
import random
from typing import Any

import pytest

Object = dict[str, Any]
KINDS = {"deployments": "Deployment", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet"}
NAMESPACES = ("default", "kube-public")


class Storm:
    """Random changes of workloads; remembers what should be there."""

    def __init__(self, cluster: Any, workload: Any, template: Any, luck: random.Random) -> None:
        self.cluster = cluster
        self.workload = workload
        self.template = template
        self.luck = luck
        self.alive: dict[tuple[str, str, str], None] = {}
        self.count = 0

    async def step(self) -> None:
        moves = [self.make, self.scale, self.change, self.end, self.kill, self.wait]
        await self.luck.choice(moves)()

    async def make(self) -> None:
        resource, home = self.luck.choice(list(KINDS)), self.luck.choice(NAMESPACES)
        self.count += 1
        name = f"w{self.count}"
        delays = {}
        if self.luck.random() < 0.5:
            delays = {"start_delay": f"{self.luck.randint(0, 8)}s"}
        if self.luck.random() < 0.3:
            delays["stop_delay"] = f"{self.luck.randint(1, 8)}s"
        made = self.workload(KINDS[resource], name, self.template(name, **delays))
        if resource != "daemonsets":
            made["spec"]["replicas"] = self.luck.randint(0, 4)
        if resource == "deployments" and self.luck.random() < 0.3:
            made["spec"]["strategy"] = {"type": "Recreate"}
        if resource == "statefulsets" and self.luck.random() < 0.5:
            made["spec"]["podManagementPolicy"] = "Parallel"
        await self.cluster.create(resource, made, home)
        self.alive[resource, home, name] = None

    async def scale(self) -> None:
        for resource, home, name in self.one():
            if resource != "daemonsets":
                patch = {"spec": {"replicas": self.luck.randint(0, 5)}}
                await self.cluster.patch(resource, name, patch, home)

    async def change(self) -> None:
        for resource, home, name in self.one():
            image = f"example/app:{self.luck.randint(1, 4)}"
            containers = [{"name": "main", "image": image}]
            patch: Object = {"spec": {"template": {"spec": {"containers": containers}}}}
            await self.cluster.patch(resource, name, patch, home)

    async def end(self) -> None:
        for resource, home, name in self.one():
            policy = self.luck.choice(["Background", "Foreground"])
            await self.cluster.delete(resource, name, home, propagationPolicy=policy)
            del self.alive[resource, home, name]

    async def kill(self) -> None:
        home = self.luck.choice(NAMESPACES)
        pods = await self.cluster.names("pods", home)
        if pods:
            await self.cluster.delete("pods", self.luck.choice(pods), home)

    async def wait(self) -> None:
        await self.cluster.pass_time(self.luck.randint(0, 6))

    def one(self) -> list[tuple[str, str, str]]:
        return [self.luck.choice(list(self.alive))] if self.alive else []


@pytest.mark.parametrize("seed", range(6))
async def test_every_object_reaches_its_spec_after_many_changes(
    simulation: Any, workload: Any, template: Any, seed: int
) -> None:
    async with simulation(simulated_nodes=2) as cluster:
        storm = Storm(cluster, workload, template, random.Random(seed))
        for _ in range(70):
            await storm.step()
        await cluster.pass_time(300)
        expected = 0
        for resource, home, name in storm.alive:
            value = await cluster.the(resource, name, home)
            wanted = 2 if resource == "daemonsets" else value["spec"]["replicas"]
            member = "numberReady" if resource == "daemonsets" else "readyReplicas"
            assert value["status"].get(member, 0) == wanted, value
            image = value["spec"]["template"]["spec"]["containers"][0]["image"]
            pods = [
                pod
                for pod in await cluster.items("pods", home)
                if pod["metadata"]["labels"]["app"] == name
            ]
            assert [pod["spec"]["containers"][0]["image"] for pod in pods] == [image] * wanted
            expected += wanted
        found = [len(await cluster.names("pods", home)) for home in NAMESPACES]
        assert sum(found) == expected
        statistics = cluster.lifecycle.engine.statistics()
        assert (statistics["failing"], statistics["queued"]) == (0, 0)
        addresses = [
            pod["status"]["podIP"]
            for home in NAMESPACES
            for pod in await cluster.items("pods", home)
        ]
        assert len(set(addresses)) == len(addresses)
        # plans share what they read: nobody may have changed it
        view = cluster.lifecycle.engine.build_view()
        for resource in view.list_resources():
            for entry in view.list_entries(resource):
                assert view.get(entry.key) == json.loads(entry.value)
