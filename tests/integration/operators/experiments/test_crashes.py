"""The operator dies right behind each of its writes, and its successor ends in the same state."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from tests.integration.operators.experiments.world import (
    NAMESPACES,
    SETTINGS,
    World,
    experiment,
    target,
)

from quarterdeck.apis.experiments.v1alpha1 import KINDS
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.cluster_factory import EmbeddedClusters
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock
from quarterdeck.operators import experiments
from quarterdeck.operators.experiments.drivers.targets import KubeconfigTargets
from quarterdeck.operators.experiments.foreign import FOREIGN, GKECluster
from quarterdeck.operators.experiments.ports import Collected, FinishedRun, NoResults, Results
from quarterdeck.runtime import Manager, WatchSettings
from quarterdeck.server.options import ServerOptions
from quarterdeck.testing import server_faults
from quarterdeck.testing.faulty_stream import close_connection
from quarterdeck.wire.status import NotFound

VICTIM = "victim"
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
QUICK = WatchSettings(
    backoff_initial_s=0.02, backoff_cap_s=0.2, short_stream_s=0.0, absent_cap_s=0.2
)


class Crash:
    """Lets the victim's n-th write happen, and cuts the victim off before it knows."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.writes = 0
        self.crashed = asyncio.Event()

    def __call__(self, handler: http.Handler) -> http.Handler:
        async def handle(request: http.Request) -> server_faults.Answer:
            if request.headers.get("user-agent") != VICTIM:
                return await handler(request)
            if self.crashed.is_set():
                close_connection()
            reply = await handler(request)
            if request.method in WRITES and "/events" not in request.target:
                self.writes += 1
                if self.writes == self.after:
                    self.crashed.set()
                    close_connection()
            return reply

        return handle


class LostStatus:
    """Refuses every second write of a status: each is lost once, and succeeds when repeated."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, handler: http.Handler) -> http.Handler:
        async def handle(request: http.Request) -> server_faults.Answer:
            is_status = request.method == "PATCH" and "/status" in request.target
            if is_status and request.headers.get("user-agent") == VICTIM:
                self.count += 1
                if self.count % 2:
                    return http.Response(500, [], b"{}")
            return await handler(request)

        return handle


@contextlib.asynccontextmanager
async def operator(
    world: World, cluster: Cluster, agent: str, results: Results | None = None
) -> AsyncIterator[None]:
    config = ClusterConfig(server=cluster.url, user_agent=agent, timeout_s=2.0)
    async with Client(config) as client:
        manager = Manager(
            client,
            name="experiment-operator",
            events="off",
            watch=QUICK,
            graceful_shutdown_timeout_s=0.0,
        )
        targets = KubeconfigTargets(client, clock=SystemClock())
        ports = experiments.Ports(targets, results or NoResults())
        experiments.register(manager, ports, settings=SETTINGS)
        async with manager.running():
            yield


class Observant:
    """Results that say whether the cluster was still wanted when they were collected."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def collect(self, run: FinishedRun) -> Collected:
        try:
            claim = await self._client.get(GKECluster, "crash-app", "experiments")
        except NotFound:
            return Collected("gone")
        return Collected("gone" if claim.is_deleting else "fresh")


async def prepare(cluster: Cluster, clusters: EmbeddedClusters) -> World:
    """Definitions, namespaces, a template and a component."""
    await definitions.install(cluster.client.raw, [*KINDS, *FOREIGN])
    world = World(cluster.client, clusters, SETTINGS)
    await world.apply(
        *(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            for name in NAMESPACES
        )
    )
    await world.template("smoke")
    await world.component("web")
    return world


async def run(after: int) -> int:
    """One run with a crash behind a write; how many writes the victim made."""
    crash = Crash(after)
    options = ServerOptions(simulate_workloads=True)
    async with (
        Cluster(options=options, faults=crash) as cluster,
        EmbeddedClusters(clock=SystemClock()) as clusters,
    ):
        world = await prepare(cluster, clusters)
        async with world.simulators():
            await world.create(
                experiment(
                    "crash",
                    target("app", "gke", "web"),
                    target("load", "hub", "web", depends=["app"]),
                )
            )
            async with operator(world, cluster, VICTIM):
                waiting = asyncio.ensure_future(_finished(world))
                crashed = asyncio.ensure_future(crash.crashed.wait())
                await asyncio.wait({waiting, crashed}, return_when=asyncio.FIRST_COMPLETED)
                crashed.cancel()
            async with operator(world, cluster, "successor"):
                await waiting
                assert await world.leftovers() == []
                await world.delete("crash")
    return crash.writes


async def _finished(world: World) -> None:
    done = await world.cleaned("crash")
    assert (done.status.phase, done.status.targets[0].attempt) == ("Complete", 0), done.status
    await world.until("crash", lambda each: not each.metadata.finalizers)


async def test_undisturbed_the_number_of_writes_is_bounded() -> None:
    assert 10 <= await run(10_000) <= 45


@pytest.mark.parametrize("after", range(1, 29))
async def test_a_crash_behind_any_write_changes_nothing(after: int) -> None:
    await run(after)


async def test_nothing_is_deleted_before_the_outcome_is_stored() -> None:
    lost = LostStatus()
    async with (
        Cluster(options=ServerOptions(simulate_workloads=True), faults=lost) as cluster,
        EmbeddedClusters(clock=SystemClock()) as clusters,
    ):
        world = await prepare(cluster, clusters)
        async with world.simulators(), operator(world, cluster, VICTIM, Observant(cluster.client)):
            await world.create(experiment("crash", target("app", "gke", "web")))
            done = await world.cleaned("crash")
            assert (done.status.phase, done.status.targets[0].attempt) == ("Complete", 0)
            assert done.status.results_url == "fresh"
            assert await world.leftovers() == []
    assert lost.count > 6
