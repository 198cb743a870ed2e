"""A hub for experiments in this process: operator, simulators, and real target clusters."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.apis.experiments.v1alpha1 import KINDS, Experiment
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.cluster_factory import EmbeddedClusters
from quarterdeck.app.experiments_samples import EXPERIMENT, list_catalog, list_namespaces
from quarterdeck.client import Client
from quarterdeck.kit.clock import SystemClock
from quarterdeck.operators import experiments
from quarterdeck.operators.experiments import simulators
from quarterdeck.operators.experiments.drivers.targets import KubeconfigTargets
from quarterdeck.operators.experiments.foreign import FOREIGN
from quarterdeck.runtime import Manager
from quarterdeck.server.options import ServerOptions
from quarterdeck.wire.query import ListOptions

NAMESPACE = "experiments"


@contextlib.asynccontextmanager
async def hub() -> AsyncIterator[tuple[Client, EmbeddedClusters]]:
    """A hub with everything but controllers."""
    options = ServerOptions(simulate_workloads=True)
    async with (
        Cluster(options=options) as cluster,
        EmbeddedClusters(clock=SystemClock()) as clusters,
    ):
        await definitions.install(cluster.client.raw, [*KINDS, *FOREIGN])
        await definitions.apply(cluster.client.raw, [*list_namespaces(), *list_catalog()])
        yield cluster.client, clusters


@contextlib.asynccontextmanager
async def operator(client: Client) -> AsyncIterator[Manager]:
    """The operator alone."""
    manager = Manager(
        client, name="experiment-operator", events="off", graceful_shutdown_timeout_s=1.0
    )
    targets = KubeconfigTargets(client, clock=SystemClock())
    experiments.register(manager, experiments.Ports(targets), workers=16)
    async with manager.running():
        yield manager


@contextlib.asynccontextmanager
async def simulated(
    client: Client, clusters: EmbeddedClusters, delays: simulators.Delays
) -> AsyncIterator[None]:
    """Simulators of all that the operator uses."""
    manager = Manager(client, name="simulators", events="off", graceful_shutdown_timeout_s=1.0)
    simulation = simulators.Simulation(client, clusters, SystemClock(), delays=delays)
    simulators.register(manager, simulation)
    async with manager.running():
        yield


def sample(name: str) -> Mapping[str, Any]:
    """The sample under another name."""
    return {**EXPERIMENT, "metadata": {"name": name, "namespace": NAMESPACE}}


async def create(client: Client, names: Sequence[str]) -> None:
    """Create samples, as fast as the server takes them."""
    for name in names:
        await client.create(msgspec.convert(sample(name), Experiment))


async def wait_cleaned(client: Client, names: Sequence[str], *, within_s: float) -> None:
    """Wait until all are complete and nothing of them is left."""
    left = set(names)
    async with (
        asyncio.timeout(within_s),
        client.watch(Experiment, NAMESPACE, ListOptions(watch=True)) as events,
    ):
        async for event in events:
            status = event.object.status
            if status.phase == "Failed":
                raise RuntimeError(f"{event.object.key} failed: {status.message}")
            if status.resources_cleaned:
                left.discard(event.object.metadata.name)
            if not left:
                return


async def wait_idle(manager: Manager) -> None:
    """Wait until the operator plans nothing any more."""
    clock = SystemClock()
    for _ in range(2_000):
        if manager.next_work_s() is None:
            return
        await clock.sleep(0.05)
    raise RuntimeError("the operator never came to rest")
