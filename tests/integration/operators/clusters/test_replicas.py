"""Replicas of the hub that share clusters by Leases, on virtual time: nobody reads one twice."""

import contextlib
import random
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest

from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http
from quarterdeck.meta.identity import GVR
from quarterdeck.operators import clusters
from quarterdeck.operators.clusters import HubOptions, Shared
from quarterdeck.runtime import Manager
from quarterdeck.runtime.sharding.rendezvous import choose_member, find_shard
from quarterdeck.runtime.sharding.sharder import SHARDS, Group

Make = Callable[[], AbstractAsyncContextManager[Any]]
NAMES = ("east", "west", "lima", "c1")
GROUP = Group("hub-clusters", "default")
LEASES = GVR("coordination.k8s.io", "v1", "leases")
SOURCE = {
    "source": {"apiVersion": "v1", "kind": "Pod"},
    "fields": [{"name": "phase", "path": ".status.phase", "type": "string"}],
    "aggregations": [{"name": "pods", "function": "count"}],
    "rbac": {"resourceTypeName": "pods"},
}


class Replica:
    """One hub process: its own road to the API server, which can be cut."""

    def __init__(self, world: Any, name: str) -> None:
        self.world = world
        self.name = name
        self.agent = f"quarterdeck-hub-{name}"
        self.is_cut = False
        self.delay_s = 0.0

    async def handle(self, request: http.Request) -> http.Response | http.StreamResponse:
        if self.is_cut:
            return http.Response(503, [("Content-Type", "text/plain")], b"cut")
        if self.delay_s and request.method == "PUT":
            await self.world.clock.sleep(self.delay_s)
        others = [(name, value) for name, value in request.headers.items() if name != "Host"]
        request.headers = http.Headers([("Host", "localhost"), *others])
        answer: http.Response | http.StreamResponse = await self.world.api.handle(request)
        return answer

    def make_client(self, config: ClusterConfig) -> Client:
        named = msgspec.structs.replace(config, user_agent=self.agent)
        return Client(named, clock=self.world.clock, network=self.world.network)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Replica"]:
        w = self.world
        server = http.Server(self.handle, clock=w.clock)
        config = ClusterConfig(server=w.network.serve(server, f"api-{self.name}"))
        async with Client(config, clock=w.clock, network=w.network) as client:
            rng = random.Random(self.name)
            manager = Manager(
                client, name="test", clock=w.clock, rng=rng, graceful_shutdown_timeout_s=0.1
            )
            clusters.register(
                manager,
                state=w.state,
                history=w.history,
                options=HubOptions(),
                make_client=self.make_client,
                shared=Shared(GROUP, self.name),
            )
            async with manager.running():
                yield self
        await server.drain(0.0)


def find_owner(cluster: str, members: Iterable[str]) -> str | None:
    return choose_member(find_shard(cluster, SHARDS), members)


async def make_spokes(w: Any) -> dict[str, Any]:
    spokes = {}
    for name in NAMES:
        spokes[name] = await w.spoke(name)
        await w.secret(name)
        await w.connect(name)
    return spokes


def readers(spoke: Any) -> list[str]:
    """Who has read a cluster, in order, each once in a row."""
    found: list[str] = []
    for agent in spoke.agents:
        name = agent.removeprefix("quarterdeck-hub-")
        if not found or found[-1] != name:
            found.append(name)
    return found


async def wait_read(w: Any, spokes: dict[str, Any], owners: dict[str, str | None]) -> None:
    await w.until(lambda: all(readers(s)[-1:] == [owners[n]] for n, s in spokes.items()))


async def test_two_replicas_share_the_clusters_and_each_is_read_by_one(world: Make) -> None:
    owners = {name: find_owner(name, ("a", "b")) for name in NAMES}
    assert set(owners.values()) == {"a", "b"}, "choose other names"
    async with world() as w:
        spokes = await make_spokes(w)
        await w.create("MetricSource", "pods", SOURCE)
        async with Replica(w, "a").running(), Replica(w, "b").running():
            await wait_read(w, spokes, owners)
            for name in NAMES:
                await w.health("healthy", name)
                assert owners[name] in readers(spokes[name])

            async def is_counted() -> bool:
                return bool((await w.source("pods")).status.clusters_collected == len(NAMES))

            await w.until(is_counted)
            for spoke in spokes.values():
                spoke.agents.clear()
            await w.advance(90)
            assert {name: readers(spokes[name]) for name in NAMES} == {
                name: [owner] for name, owner in owners.items()
            }


@pytest.mark.parametrize("delay_s", [1.0, 2.0, 3.0, 4.0])
async def test_a_lease_that_runs_out_during_a_renewal_does_not_end_the_reading(
    world: Make, delay_s: float
) -> None:
    async with world() as w:
        spokes = await make_spokes(w)
        async with Replica(w, "a").running() as a:
            await wait_read(w, spokes, dict.fromkeys(NAMES, "a"))
            await w.advance(20)
            a.is_cut = True
            await w.advance(GROUP.timing.renew_deadline_s - 3)
            a.is_cut, a.delay_s = False, delay_s
            await w.advance(10)
            a.delay_s = 0.0
            await w.advance(10)
            for spoke in spokes.values():
                spoke.agents.clear()
            await w.advance(90)
            assert all(readers(spoke) == ["a"] for spoke in spokes.values())


async def test_the_clusters_of_a_cut_off_replica_are_read_by_the_other_within_30_s(
    world: Make,
) -> None:
    owners = {name: find_owner(name, ("a", "b")) for name in NAMES}
    lost = [name for name, owner in owners.items() if owner == "a"]
    async with world() as w:
        spokes = await make_spokes(w)
        async with Replica(w, "a").running() as a, Replica(w, "b").running():
            await wait_read(w, spokes, owners)
            await w.advance(20)
            for spoke in spokes.values():
                spoke.agents.clear()
            a.is_cut = True
            cut_at = w.clock.monotonic()
            await w.until(lambda: all(readers(spokes[name])[-1:] == ["b"] for name in lost))
            assert w.clock.monotonic() - cut_at <= 30
            await w.advance(120)
            for name in NAMES:  # a may have read its clusters before its time ran out, never after
                assert readers(spokes[name])[-1:] == ["b"]
                assert len(readers(spokes[name])) <= 2, readers(spokes[name])
            a.is_cut = False
            await wait_read(w, spokes, owners)
            for name in NAMES:
                assert len(readers(spokes[name])) <= 3, readers(spokes[name])


async def test_a_replica_that_stops_hands_its_clusters_over_at_once(world: Make) -> None:
    owners = {name: find_owner(name, ("a", "b")) for name in NAMES}
    async with world() as w:
        spokes = await make_spokes(w)
        async with Replica(w, "b").running():
            async with Replica(w, "a").running():
                await wait_read(w, spokes, owners)
            stopped_at = w.clock.monotonic()
            listed = await w.client.resource(LEASES).list("default")
            members = [x for x in listed if "member" in x["metadata"]["name"]]
            assert [x["spec"]["holderIdentity"] for x in members] == ["b"]
            await wait_read(w, spokes, dict.fromkeys(NAMES, "b"))
            assert w.clock.monotonic() - stopped_at < 5


async def test_a_cluster_is_read_once_more_when_it_changes_hands(world: Make) -> None:
    async with world() as w:
        spokes = await make_spokes(w)
        async with Replica(w, "a").running():
            await wait_read(w, spokes, dict.fromkeys(NAMES, "a"))
            await w.advance(5)
            before = {name: len(spokes[name].requests) for name in NAMES}
            async with Replica(w, "b").running():
                owners = {name: find_owner(name, ("a", "b")) for name in NAMES}
                await wait_read(w, spokes, owners)
                await w.advance(3)
                for name in NAMES:
                    extra = len(spokes[name].requests) - before[name]
                    assert (extra > 0) is (owners[name] == "b"), name
                    assert extra <= before[name], name


async def test_a_replica_without_rights_on_leases_says_so_and_reads_nothing(world: Make) -> None:
    async with world() as w:
        spokes = await make_spokes(w)
        replica = Replica(w, "a")
        handle = replica.handle

        async def refuse(request: http.Request) -> http.Response | http.StreamResponse:
            if "/leases" in request.path:
                body = b'{"kind":"Status","reason":"Forbidden","code":403,"message":"no"}'
                return http.Response(403, [("Content-Type", "application/json")], body)
            return await handle(request)

        replica.handle = refuse  # type: ignore[method-assign]  # a fault
        async with replica.running():
            await w.advance(40)
            assert all(not spoke.requests for spoke in spokes.values())


async def test_a_deleted_source_is_removed_by_the_replica_that_has_it(world: Make) -> None:
    async with world() as w:
        spokes = await make_spokes(w)
        await w.create("MetricSource", "pods", SOURCE)
        async with Replica(w, "a").running(), Replica(w, "b").running():
            await wait_read(w, spokes, {name: find_owner(name, ("a", "b")) for name in NAMES})
            await w.until(lambda: w.read("cluster:east:custom:default/pods:meta"))
            found = await w.source("pods")
            await w.client.delete(type(found), "pods", "default")
            await w.gone(type(found), "pods")
            assert await w.state.list_keys("cluster:east:custom:") == []
