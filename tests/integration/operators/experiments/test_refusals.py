"""What an API server refuses is tried again, and ends in a failure that says why."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.integration.operators.experiments.world import (
    NAMESPACES,
    SETTINGS,
    World,
    experiment,
    target,
)

from quarterdeck.apis.experiments.v1alpha1 import KINDS, Experiment
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.cluster_factory import EmbeddedClusters
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import rfc3339
from quarterdeck.kit.clock import SystemClock, VirtualClock
from quarterdeck.operators.experiments.experiment import (
    FIRST_RETRY_S,
    LAST_RETRY_S,
    compute_retry_delay_s,
)
from quarterdeck.operators.experiments.foreign import FOREIGN
from quarterdeck.runtime import WatchSettings
from quarterdeck.runtime.queue.rate_limiter import ItemExponentialFailureRateLimiter
from quarterdeck.server.options import ServerOptions
from quarterdeck.testing import ServerFaults, eventually, server_faults
from quarterdeck.testing.server_faults import ANY_VERB, ServerRule

VICTIM = "victim"
QUICK = WatchSettings(
    backoff_initial_s=0.02, backoff_cap_s=0.1, short_stream_s=0.0, absent_cap_s=0.2
)
ALWAYS = None


@contextlib.asynccontextmanager
async def refusing(
    *rules: ServerRule, given: Mapping[str, Any] | None = None
) -> AsyncIterator[tuple[World, ServerFaults]]:
    """A hub whose API server refuses requests of the operator, and of nobody else."""
    faults = ServerFaults(*rules, agent=VICTIM)
    async with (
        Cluster(options=ServerOptions(simulate_workloads=True), faults=faults) as cluster,
        EmbeddedClusters(clock=SystemClock()) as clusters,
    ):
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
        if given is not None:
            await world.create(given)
        config = ClusterConfig(server=cluster.url, user_agent=VICTIM, timeout_s=5.0)
        async with (
            world.simulators(),
            Client(config) as client,
            world.operator(client=client, watch=QUICK, events="off"),
        ):
            yield world, faults


async def test_a_request_that_fails_once_is_repeated() -> None:
    refused = server_faults.fail("patch", 403, resource="gkeclusters", times=1)
    async with refusing(refused) as (world, _):
        await world.create(experiment("twice", target("app", "gke", "web")))
        done = await world.cleaned("twice")
        assert (done.status.phase, done.status.targets[0].attempt) == ("Complete", 0), done.status
        assert refused.injected == 1


async def test_a_cluster_that_may_never_be_requested_fails_the_experiment() -> None:
    refused = server_faults.fail("patch", 403, resource="gkeclusters", times=ALWAYS)
    async with refusing(refused) as (world, _):
        await world.create(
            experiment("never", target("app", "gke", "web"), timeouts={"provisioning": "1s"})
        )
        done = await world.cleaned("never")
        assert (done.status.phase, done.status.reason) == ("Failed", "ClusterTimeout")
        assert "injected failure 403" in done.status.message
        assert await world.leftovers() == []
        await world.delete("never")


async def test_a_workflow_that_may_never_be_submitted_fails_the_experiment() -> None:
    refused = server_faults.fail("patch", 403, resource="workflows", times=ALWAYS)
    async with refusing(refused) as (world, faults):
        await world.create(experiment("mute", timeouts={"applications": "1s"}))
        await world.phase("mute", "Failed")
        faults.clear()
        done = await world.cleaned("mute")
        assert done.status.reason == "WorkflowError"
        assert "injected failure 403" in done.status.message


async def test_growing_delays_between_retries_do_not_delay_the_failure() -> None:
    """Retries come after 511, 811, 1111 and 1411 seconds; the time of the phase ends at 1200."""
    refused = server_faults.fail("patch", 403, resource="gkeclusters", times=ALWAYS)
    clock = VirtualClock()
    faults = ServerFaults(refused, agent=VICTIM)
    async with (
        Cluster(clock=clock, faults=faults) as cluster,
        EmbeddedClusters(clock=clock) as clusters,
    ):
        await definitions.install(cluster.client.raw, [*KINDS, *FOREIGN])
        world = World(cluster.client, clusters, SETTINGS)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "experiments"}}
        await world.apply(namespace)
        await world.component("web")
        await world.create(
            experiment("late", target("app", "gke", "web"), timeouts={"provisioning": "20m"})
        )
        config = ClusterConfig(server=cluster.url, user_agent=VICTIM)
        async with (
            Client(config, clock=clock) as client,
            world.operator(client=client, clock=clock, events="off") as manager,
        ):
            await eventually(lambda: refused.injected > 0)
            found = await world.phase("late", "Provisioning")
            for _ in range(150):
                await eventually(lambda: manager.next_work_s() != 0.0)
                found = await world.client.get(Experiment, "late", "experiments")
                if found.status.phase == "Failed":
                    break
                await clock.advance(10.0)
        assert found.status.reason == "ClusterTimeout", found.status
        created = rfc3339.parse(found.metadata.creation_timestamp or "")
        took_s = (rfc3339.parse(found.status.completed_at) - created).total_seconds()
        assert 1200 <= took_s <= 1300


@given(st.integers(0, 100))
def test_delays_between_retries_are_those_of_the_controller(failures: int) -> None:
    limiter = ItemExponentialFailureRateLimiter(FIRST_RETRY_S, LAST_RETRY_S)
    for _ in range(failures):
        limiter.when("key", 0.0)
    assert limiter.when("key", 0.0) == compute_retry_delay_s(failures)


async def test_components_that_cannot_be_read_are_not_missing() -> None:
    """They are refused for longer than a missing component is waited for."""
    refused = server_faults.fail(ANY_VERB, 403, resource="components", times=30)
    blind = experiment("blind", target("app", "hub", "web"))
    async with refusing(refused, given=blind) as (world, _):
        done = await world.cleaned("blind")
        assert (done.status.phase, refused.left) == ("Complete", 0), done.status
