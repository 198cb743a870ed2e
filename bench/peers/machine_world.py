"""A simulated hypervisor, an API server on a synced store, and the machines operator on both."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.apis.hypervisor.v1alpha1 import KINDS
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.objects import Object
from quarterdeck.operators import machines
from quarterdeck.operators.machines.drivers.simulator import (
    Simulator,
    Simulators,
    SimulatorSettings,
)
from quarterdeck.operators.machines.shared_parts import Machines
from quarterdeck.runtime import Manager

BOOT_S = 2.0
CLUSTER = "default/bench"
OPERATOR_UID = "bench"
_ENDPOINT = "mock://bench"


class World:
    """What operators work on; several of them may run after each other."""

    def __init__(self, client: Client, simulators: Simulators) -> None:
        self.client = client
        self.hypervisor: Simulator = simulators.get(_ENDPOINT)
        self._simulators = simulators

    async def create(self, kind: type[Object], name: str, spec: Any) -> Any:
        """Create an object in the namespace `default`; returns it."""
        return await self.client.resource(kind.KIND.gvr).create(
            {
                "apiVersion": kind.KIND.api_version,
                "kind": kind.KIND.kind,
                "metadata": {"name": name, "namespace": "default"},
                "spec": spec,
            }
        )

    @asynccontextmanager
    async def run_operator(self) -> AsyncIterator[Machines]:
        """The operator while the block lasts."""
        manager = Manager(self.client, name="bench", clock=SystemClock())
        operator = machines.register(
            manager, operator_uid=OPERATOR_UID, providers={"mock": self._simulators.open}
        )
        async with manager.running():
            yield operator


@asynccontextmanager
async def open_world(*, nodes: int, most_machines: int) -> AsyncIterator[World]:
    """A hypervisor with 2 s boots and no other latency, its cluster, and two templates."""
    clock = SystemClock()
    per_node = most_machines * 2 // nodes + 50
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
                world = World(client, Simulators(clock, settings))
                await _prepare(world, nodes)
                yield world
            await server.close()


async def _prepare(world: World, nodes: int) -> None:
    await definitions.install(world.client.raw, KINDS)
    spec = {
        "provider": "mock",
        "endpoint": _ENDPOINT,
        "nodes": [f"sim-{number}" for number in range(1, nodes + 1)],
        "defaultStorage": "local",
        "defaultNetwork": "vmbr0",
        "maxConcurrentOperations": 100,
    }
    await world.create(HypervisorCluster, "bench", spec)
    for name, memory in (("first", "1Gi"), ("second", "2Gi")):
        template = {
            "hypervisorClusterRef": {"name": "bench"},
            "template": {"mock": {"bootSeconds": BOOT_S}},
            "resources": {"cpu": 1, "memory": memory, "disk": "10Gi"},
            "bootstrap": {"method": "none"},
            "metadata": {"labels": {"image": name}},
        }
        await world.create(HypervisorMachineTemplate, name, template)
