"""Elections on our server by clocks that disagree, over a network without sockets.

Time is virtual: it moves in small steps, and between two of them every request is answered.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Sequence

import msgspec
import pytest

from quarterdeck.apis.coordination import Lease
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock, settle
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.objects import replace
from quarterdeck.runtime.leaderelection.elector import LeaderElector, LostLeadership
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.server.api import ApiServer
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage.memory import open_memory
from quarterdeck.testing.clocks import SkewedClock

STEP_S = 0.25
TURNS = 60


class PausableClock(SkewedClock):
    """The clock of a process that can be stopped: its sleeps do not end meanwhile."""

    is_stopped = False

    async def sleep(self, seconds: float) -> None:
        self._awake = asyncio.Event()
        await super().sleep(seconds)
        if self.is_stopped:
            await self._awake.wait()

    def set_ahead(self, seconds: float) -> None:
        self._offset_s += seconds

    def wake(self) -> None:
        self.is_stopped = False
        self._awake.set()


class Candidate:
    """One process that takes part, and comes back when it loses."""

    def __init__(self, name: str, client: Client, clock: PausableClock, seed: int) -> None:
        self.name = name
        self.clock = clock
        self.losses = 0
        self.slow_paths = 0
        self._client = client
        self._random = random.Random(seed)
        self.election = self._new()

    def _new(self) -> LeaderElector:
        return LeaderElector(
            self._client.raw,
            name="lock",
            namespace="default",
            identity=self.name,
            clock=self.clock,
            rng=self._random,
            log=get_logger("test"),
            on_slow_path=self._count_slow_path,
        )

    def _count_slow_path(self) -> None:
        self.slow_paths += 1

    async def run(self) -> None:
        while True:
            await self.election.acquire()
            try:
                await self.election.renew()
            except LostLeadership:
                self.losses += 1
                self.election = self._new()

    @property
    def leads(self) -> bool:
        return self.election.is_leader


class Race:
    """Several candidates in one world."""

    def __init__(self, world: VirtualClock, candidates: Sequence[Candidate], eye: Client) -> None:
        self.world = world
        self.candidates = candidates
        self.eye = eye
        self.leaders: list[str] = []
        self.overlaps = 0

    async def run(self, seconds: float) -> None:
        for _ in range(int(seconds / STEP_S)):
            await self.world.advance(STEP_S)
            await settle(TURNS)
            leading = [candidate.name for candidate in self.candidates if candidate.leads]
            self.overlaps += len(leading) > 1
            if leading and leading[:1] != self.leaders[-1:]:
                self.leaders.append(leading[0])

    async def lease(self) -> Lease:
        return await self.eye.get(Lease, "lock", "default")


@contextlib.asynccontextmanager
async def race(clocks: Sequence[tuple[float, float]]) -> AsyncIterator[Race]:
    """A candidate for each (rate, offset)."""
    world, store = VirtualClock(), open_memory(derive=decode_object_meta)
    api = ApiServer(store, clock=world, rng=random.Random(1))
    await api.start()
    network = http.MemoryNetwork(clock=world)
    server = http.Server(api.handle)
    url = network.serve(server, "localhost")
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        stack.push_async_callback(server.close)
        clients = [
            await stack.enter_async_context(Client(ClusterConfig(server=url), network=network))
            for _ in range(len(clocks) + 1)
        ]
        candidates = [
            Candidate(f"c{n}", clients[n], PausableClock(world, rate=rate, offset_s=offset), n)
            for n, (rate, offset) in enumerate(clocks)
        ]
        tasks = await stack.enter_async_context(Supervisor("candidates"))
        for candidate in candidates:
            tasks.spawn(candidate.run(), name=candidate.name)
        yield Race(world, candidates, clients[-1])


@pytest.mark.parametrize(
    "clocks",
    [
        pytest.param([(1.0, 0.0), (1.0, 86_400.0), (1.0, -86_400.0)], id="days apart"),
        pytest.param([(0.85, 0.0), (1.2, 0.0)], id="rates that differ by two fifths"),
        pytest.param([(1.2, 3_600.0), (0.85, -3_600.0), (1.0, 0.0)], id="both"),
    ],
)
async def test_one_leader_at_a_time_however_clocks_differ(
    clocks: Sequence[tuple[float, float]],
) -> None:
    async with race(clocks) as run:
        await run.run(120)
        assert run.overlaps == 0
        assert len(run.leaders) == 1, "nobody takes a lease that is renewed"
        assert sum(candidate.losses for candidate in run.candidates) == 0


async def test_a_lease_that_others_changed_is_read_before_it_is_renewed() -> None:
    async with race([(1.0, 0.0)]) as run:
        (leader,) = run.candidates
        await run.run(10)
        assert leader.slow_paths == 0
        lease = await run.lease()
        metadata = msgspec.structs.replace(lease.metadata, annotations={"seen": "yes"})
        await run.eye.update(replace(lease, metadata=metadata))
        await run.run(10)
        assert leader.slow_paths == 1
        assert leader.leads
        assert leader.losses == 0
        assert (await run.lease()).metadata.annotations == {"seen": "yes"}


async def test_a_paused_leader_wakes_up_as_a_follower() -> None:
    async with race([(1.0, 0.0), (1.0, 500.0)]) as run:
        await run.run(10)
        leader = next(candidate for candidate in run.candidates if candidate.leads)
        other = next(candidate for candidate in run.candidates if not candidate.leads)
        leader.clock.is_stopped = True
        started = run.world.monotonic()
        while not other.leads:
            await run.run(STEP_S)
        took = run.world.monotonic() - started
        assert 13 <= took <= 26, f"taken over after {took} s"
        assert not leader.leads
        leader.clock.wake()
        await run.run(20)
        assert run.overlaps == 0
        assert other.leads
        assert leader.losses == 1, "it noticed by itself"
        assert (await run.lease()).spec.lease_transitions == 1


async def test_a_clock_set_back_or_forward_does_not_matter() -> None:
    async with race([(1.0, 0.0), (1.0, 0.0)]) as run:
        await run.run(10)
        for candidate in run.candidates:
            candidate.clock.set_ahead(1e6 if candidate.leads else -1e6)
        await run.run(60)
        assert run.overlaps == 0
        assert len(run.leaders) == 1
