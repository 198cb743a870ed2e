"""Many experiments at once, with faults and restarts; and many that are over."""

import asyncio
import os
import random
from collections.abc import Callable, Coroutine, Sequence

import msgspec
import pytest
from bench.suites.experiments import measure_allocated, measure_finished, measure_resident
from tests.integration.operators.experiments.world import (
    SETTINGS,
    World,
    experiment,
    hub,
    running,
    target,
)

from quarterdeck.apis.experiments.v1alpha1 import KINDS, Experiment
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.client.interfaces import Exchange
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.meta.objects import get_raw
from quarterdeck.operators import experiments
from quarterdeck.operators.experiments.drivers.targets import KubeconfigTargets
from quarterdeck.operators.experiments.foreign import FOREIGN
from quarterdeck.runtime import Manager
from quarterdeck.testing import eventually
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions

FULL = bool(os.environ.get("QUARTERDECK_FULL"))
MANY = 100 if FULL else 10
OVER = 1000 if FULL else 40
FAULTS: tuple[dict[str, str], ...] = (
    {},
    {},
    {},
    {"sim.illm.io/cluster-fail": "error"},
    {"sim.illm.io/cluster-fail": "error-once"},
    {"sim.illm.io/cluster-fail": "bad-kubeconfig"},
    {"sim.illm.io/cluster-fail": "never"},
    {"sim.illm.io/application-fail": "comparison-error"},
    {"sim.illm.io/application-fail": "hang-delete"},
    {"sim.illm.io/workflow-fail": "fail"},
    {"sim.illm.io/workflow-fail": "never"},
)
TIMEOUTS = {"provisioning": "5s", "applications": "20s", "pickup": "3s"}


ORDER = ("", "Pending", "Provisioning", "Ready", "Running", "Complete", "Failed")


class Invariants:
    """What always holds: phases only go forward, a finalizer stands until all is gone."""

    def __init__(self) -> None:
        self.broken: list[str] = []
        self._phases: dict[str, str] = {}

    async def watch(self, world: World) -> None:
        """Look at every change until cancelled."""
        options = ListOptions(watch=True)
        async with world.client.watch(Experiment, "experiments", options) as events:
            async for event in events:
                self.check(event.object)

    def check(self, each: Experiment) -> None:
        name, phase = each.metadata.name, each.status.phase
        before = self._phases.get(name, "")
        if ORDER.index(phase) < ORDER.index(before) or (before == "Complete" != phase):
            self.broken.append(f"{name} went from {before} to {phase}")
        if phase and not each.status.resources_cleaned and not each.metadata.finalizers:
            self.broken.append(f"{name} is {phase} without a finalizer")
        self._phases[name] = phase


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
async def test_many_experiments_all_finish_and_leave_nothing_behind(seed: int) -> None:
    rng = random.Random(seed)
    async with hub() as world, world.simulators():
        await world.template("smoke")
        await world.component("web")
        names = [f"many-{number}" for number in range(MANY)]
        for name in names:
            await world.create(
                experiment(
                    name,
                    target("app", rng.choice(["gke", "vcluster", "hub"]), "web"),
                    target("load", "hub", "web", depends=["app"]),
                    annotations=rng.choice(FAULTS),
                    timeouts=TIMEOUTS,
                )
            )
        invariants = Invariants()
        watching = asyncio.ensure_future(invariants.watch(world))
        for _ in range(3):
            async with world.operator():
                await asyncio.sleep(rng.uniform(0.1, 1.0))
        async with world.operator():
            for name in names:
                done = await world.cleaned(name)
                assert done.status.phase in ("Complete", "Failed")
            assert await world.leftovers() == []
            watching.cancel()
            assert invariants.broken == []
            for name in names[: MANY // 2]:
                await world.delete(name)


class Requests:
    """Counts requests that are no watches."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def before(self, verb: str, path: ResourcePath) -> Sequence[tuple[str, str]]:
        return ()

    def after(self, exchange: Exchange) -> None:
        if exchange.verb != "watch":
            self.seen.append(f"{exchange.verb} {exchange.path.resource}")


async def finished(world: World, count: int) -> None:
    """Let one experiment finish, and copy it."""
    await world.template("smoke")
    await world.component("web")
    await world.create(experiment("over", target("app", "gke", "web")))
    done = await world.cleaned("over")
    document = msgspec.json.decode(get_raw(done) or b"{}")
    assert len(get_raw(done) or b"") < 20_000
    for number in range(count):
        name = f"over-{number}"
        created = await world.create(
            {"metadata": {"name": name, "namespace": "experiments"}, "spec": document["spec"]}
        )
        await world.client.patch(created, {"status": document["status"]}, subresource="status")


async def test_experiments_that_are_over_make_no_request() -> None:
    """Ten minutes pass on the operator's clock; it only reads its watches."""
    async with running() as donor:
        await finished(donor, 0)
        found = await donor.client.get(Experiment, "over", "experiments")
    document = msgspec.json.decode(get_raw(found) or b"{}")
    clock = VirtualClock()
    async with Cluster(clock=clock) as cluster:
        await definitions.install(cluster.client.raw, [*KINDS, *FOREIGN])
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "experiments"}}
        await definitions.apply(cluster.client.raw, [namespace])
        for number in range(OVER):
            metadata = {"name": f"over-{number}", "namespace": "experiments"}
            created = await cluster.client.create(
                msgspec.convert({"metadata": metadata, "spec": document["spec"]}, Experiment)
            )
            status = {"status": document["status"]}
            await cluster.client.patch(created, status, subresource="status")
        requests = Requests()
        async with Client(ClusterConfig(server=cluster.url), clock=clock) as client:
            client.raw.observe(requests)
            manager = Manager(
                client, name="experiment-operator", clock=clock, graceful_shutdown_timeout_s=0.0
            )
            ports = experiments.Ports(KubeconfigTargets(client, clock=clock))
            experiments.register(manager, ports, settings=SETTINGS)
            async with manager.running():
                await eventually(lambda: manager.next_work_s() is None)
                requests.seen.clear()
                for _ in range(60):
                    await clock.advance(10.0)
                    await asyncio.sleep(0.005)  # the network's time is real
                assert requests.seen == []


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("measure", [measure_allocated, measure_resident])
async def test_a_thousand_experiments_that_are_over_take_under_20_kb_each(
    measure: Callable[[Client], Coroutine[None, None, int]],
) -> None:
    assert await measure_finished(1_000, measure) < 20
