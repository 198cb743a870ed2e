"""A fleet of simulated machines on a synced store: from nothing to ready, rolled over, at rest.

`python -m bench.peers.machine_fleet MACHINES NODES RESTING` prints its figures as one JSON object.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.apis.hypervisor.v1alpha1 import KINDS
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.objects import Object
from quarterdeck.operators import machines
from quarterdeck.operators.machines.drivers.simulator import Simulators, SimulatorSettings
from quarterdeck.runtime import Manager

ENDPOINT = "mock://bench"
BOOT_S = 2.0
MINIMUM_CALLS = 7
"""reserve_id, clone_vm, task_status, configure_vm, inject or none, power, task_status."""
REST_S = 60.0
"""Two polls."""
_LIMIT_S = 300.0


class Bench:
    """The operator, its API server on disk, and a hypervisor."""

    def __init__(self, client: Client, simulators: Simulators, count: int) -> None:
        self.client = client
        self.simulators = simulators
        self.count = count
        self.figures: dict[str, float] = {}

    async def prepare(self, nodes: int) -> None:
        """Install the kinds, a cluster and two templates."""
        await definitions.install(self.client.raw, KINDS)
        spec = {
            "provider": "mock",
            "endpoint": ENDPOINT,
            "nodes": [f"sim-{number}" for number in range(1, nodes + 1)],
            "defaultStorage": "local",
            "defaultNetwork": "vmbr0",
            "maxConcurrentOperations": 100,
        }
        await self._create(HypervisorCluster, "bench", spec)
        for name in ("first", "second"):
            template = {
                "hypervisorClusterRef": {"name": "bench"},
                "template": {"mock": {"bootSeconds": BOOT_S}},
                "resources": {"cpu": 1, "memory": "1Gi", "disk": "10Gi"},
                "bootstrap": {"method": "none"},
                "metadata": {"labels": {"image": name}},
            }
            if name == "second":
                template["resources"] = {"cpu": 1, "memory": "2Gi", "disk": "10Gi"}
            await self._create(HypervisorMachineTemplate, name, template)

    async def _create(self, kind: type[Object], name: str, spec: Any) -> None:
        await self.client.resource(kind.KIND.gvr).create(
            {
                "apiVersion": kind.KIND.api_version,
                "kind": kind.KIND.kind,
                "metadata": {"name": name, "namespace": "default"},
                "spec": spec,
            }
        )

    async def until(self, holds: Callable[[Fleet], bool], look: Callable[[], None]) -> None:
        """Wait for the fleet; `look` is called each time."""
        deadline = time.perf_counter() + _LIMIT_S
        while time.perf_counter() < deadline:
            look()
            fleet = await self.client.get(Fleet, "web", "default")
            if holds(fleet):
                return
            await asyncio.sleep(0.1)
        raise TimeoutError(f"the fleet took longer than {_LIMIT_S} s: {fleet.status}")

    async def create_fleet(self) -> None:
        """From 0 to ready."""
        world = self.simulators.get(ENDPOINT)
        world.journal.clear()
        spec = {
            "replicas": self.count,
            "image": "first",
            "selector": {"app": "web"},
            "strategy": {"rollingUpdate": {"maxSurge": "10%", "maxUnavailable": "5%"}},
        }
        start, spent = time.perf_counter(), time.process_time()
        await self._create(Fleet, "web", spec)
        await self.until(lambda fleet: fleet.status.ready_replicas == self.count, lambda: None)
        self.figures["ready_s"] = time.perf_counter() - start
        self.figures["ready_cpu_s"] = time.process_time() - spent
        shared = ("list_vms", "list_nodes", "validate_template", "test_connection")
        counts = world.journal.counts
        own = sum(count for name, count in counts.items() if name not in shared)
        self.figures["calls_each"] = own / self.count
        self.figures["list_vms"] = float(counts["list_vms"])

    async def roll(self) -> None:
        """Replace every machine; note the fewest that were ready and the most that existed."""
        world, lowest, highest = self.simulators.get(ENDPOINT), self.count, self.count

        def look() -> None:
            nonlocal lowest, highest
            vms = list(world.infos())
            lowest = min(lowest, sum(bool(vm.ips) for vm in vms))
            highest = max(highest, len(vms))

        start = time.perf_counter()
        patch = {"spec": {"image": "second"}}
        await self.client.resource(Fleet.KIND.gvr).patch("web", patch, namespace="default")
        await self.until(
            lambda fleet: (
                fleet.status.updated_replicas == self.count
                and fleet.status.ready_replicas == self.count
                and fleet.status.replicas == self.count
                and fleet.status.observed_generation == fleet.metadata.generation
                and fleet.status.current_revision == fleet.status.update_revision
            ),
            look,
        )
        self.figures["roll_s"] = time.perf_counter() - start
        self.figures["roll_lowest_%"] = lowest / self.count * 100
        self.figures["roll_highest_%"] = highest / self.count * 100

    async def rest(self, resting: int) -> None:
        """Processor time of the process with many claims at rest, over two polls."""
        await self.client.resource(Fleet.KIND.gvr).patch(
            "web", {"spec": {"replicas": min(1000, resting)}}, namespace="default"
        )
        claims = self.client.resource(MachineClaim.KIND.gvr)
        for number in range(max(0, resting - 1000)):
            await claims.create(
                {
                    "apiVersion": MachineClaim.KIND.api_version,
                    "kind": "MachineClaim",
                    "metadata": {"name": f"rest-{number}", "namespace": "default"},
                    "spec": {"templateRef": {"name": "first"}},
                }
            )
        world = self.simulators.get(ENDPOINT)
        while sum(bool(vm.ips) for vm in world.infos()) < resting:  # noqa: ASYNC110
            await asyncio.sleep(1.0)
        while not await self._is_at_rest():  # noqa: ASYNC110
            await asyncio.sleep(2.0)
        await self._await_poll()
        before, start = time.process_time(), time.perf_counter()
        counted = world.journal.counts["list_vms"]
        await asyncio.sleep(REST_S)
        took = time.perf_counter() - start
        self.figures["rest_%"] = (time.process_time() - before) / took * 100
        self.figures["rest_list_vms"] = float(world.journal.counts["list_vms"] - counted)

    async def _is_at_rest(self) -> bool:
        """Whether the operator has noticed that every machine is up."""
        claims = await self.client.list(MachineClaim, "default")
        return all(claim.status.phase == "Ready" for claim in claims)

    async def _await_poll(self) -> None:
        """Wait for the end of a poll, so that every run measures the same number of them."""
        counts = self.simulators.get(ENDPOINT).journal.counts
        before = counts["list_vms"]
        while counts["list_vms"] == before:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        await asyncio.sleep(1.0)


async def run(count: int, nodes: int, resting: int) -> dict[str, float]:
    """All figures."""
    clock = SystemClock()
    per_node = max(count, resting) * 2 // nodes + 50
    settings = SimulatorSettings(
        nodes=nodes,
        cpu=per_node,
        memory_gib=per_node * 3,
        storage_gib=per_node * 20,
        scale=0.0,
        boot_s=(BOOT_S, BOOT_S),
    )
    with tempfile.TemporaryDirectory() as folder:
        async with Cluster(in_memory=False, data_dir=Path(folder)) as cluster:
            network = http.MemoryNetwork(clock=clock)
            server = http.Server(cluster.api.handle, clock=clock)
            url = network.serve(server, "localhost")
            async with Client(ClusterConfig(server=url), clock=clock, network=network) as client:
                bench = Bench(client, Simulators(clock, settings), count)
                await bench.prepare(nodes)
                manager = Manager(client, name="bench", clock=clock)
                machines.register(
                    manager, operator_uid="bench", providers={"mock": bench.simulators.open}
                )
                async with manager.running():
                    await _measure(bench, resting)
            await server.close()
    return bench.figures


async def _measure(bench: Bench, resting: int) -> None:
    steps: list[Callable[[], Awaitable[None]]] = [bench.create_fleet, bench.roll]
    for step in steps:
        await step()
    await bench.rest(resting)


if __name__ == "__main__":
    count, nodes, resting = (int(argument) for argument in sys.argv[1:4])
    print(json.dumps(asyncio.run(run(count, nodes, resting))), flush=True)
