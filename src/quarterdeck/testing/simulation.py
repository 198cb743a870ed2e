"""Deterministic simulation: an operator and an API server on a loop without real time.

    def test_every_order_of_events_converges() -> None:
        simulate(scenario, seeds=range(1000))

    async def scenario(world: World) -> None:
        ...  # world.client, world.clock, world.random, world.start(controllers)

Each seed is one interleaving: tasks that could run at the same moment run in an order that the
seed chooses, and time passes only when nothing can run. Nothing leaves the process: requests go
over a network in memory. The same seed gives the same run, so a failure is replayed with
`simulate(scenario, seeds=[SEED])`.
"""

import asyncio
import contextlib
import heapq
import random
import selectors
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http
from quarterdeck.meta import crd
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import Object
from quarterdeck.runtime import Controller, Manager
from quarterdeck.server.api import ApiServer
from quarterdeck.server.options import ServerOptions
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage.memory import open_memory

_START = datetime(2026, 1, 1, tzinfo=UTC)
_HOST = "localhost"
_CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_IDLE_S = 20.0
_BARE = ServerOptions(lifecycle=False, has_roles=False)


class SimulationFailed(AssertionError):
    """Raised when a run of a simulation failed; `seed` replays it."""

    def __init__(self, seed: int, error: BaseException) -> None:
        super().__init__(
            f"the run with seed {seed} failed: {type(error).__name__}: {error}; "
            f"replay it with seeds=[{seed}]"
        )
        self.seed = seed


class Deadlock(Exception):
    """Raised when every task waits and no timer is scheduled: a deadlock."""


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop in simulated time, which orders tasks that are ready together by a seed.

    Only steps of tasks are reordered. Other callbacks deliver bytes of connections and keep their
    order, as in a network.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(selectors.SelectSelector())
        self._seeded = random.Random(seed)
        self._time = 0.0
        self.set_task_factory(_make_task)

    def time(self) -> float:
        """The simulated time, in seconds."""
        return self._time

    def _run_once(self) -> None:
        loop: Any = self
        ready, scheduled = loop._ready, loop._scheduled
        while scheduled and scheduled[0]._cancelled:
            loop._timer_cancelled_count = max(0, loop._timer_cancelled_count - 1)
            _pop_timer(scheduled)
        if not ready:
            if not scheduled:
                raise Deadlock("deadlock: every task is waiting, and no timer is set")
            self._time = max(self._time, scheduled[0]._when)
        elif len(ready) > 1:
            _shuffle_steps(ready, self._seeded)
        super()._run_once()  # type: ignore[misc]


def _make_task(loop: Any, coroutine: Any, **options: Any) -> Any:
    """Create a task in pure Python, whose steps can be distinguished from other callbacks."""
    return asyncio.tasks._PyTask(coroutine, loop=loop, **options)  # type: ignore[attr-defined]


def _pop_timer(scheduled: list[Any]) -> None:
    heapq.heappop(scheduled)._scheduled = False


def _shuffle_steps(ready: Any, rng: random.Random) -> None:
    places = [
        place
        for place, handle in enumerate(ready)
        if hasattr(getattr(handle._callback, "__self__", None), "get_coro")
    ]
    if len(places) < 2:
        return
    steps = [ready[place] for place in places]
    rng.shuffle(steps)
    for place, handle in zip(places, steps, strict=True):
        ready[place] = handle


class SimulatedClock:
    """The clock of a simulated loop."""

    def now(self) -> datetime:
        """The simulated date and time."""
        return _START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        """The simulated time, in seconds."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Wait in simulated time, which costs nothing."""
        await asyncio.sleep(seconds)


class World:
    """One run: an API server, a client of it, a clock and a source of randomness."""

    def __init__(self, seed: int, api: ApiServer, network: http.MemoryNetwork, url: str) -> None:
        self.seed = seed
        self.api = api
        self.random = random.Random(seed)
        self.clock = SimulatedClock()
        self._network = network
        self._url = url
        self.client = self.connect()

    def connect(self, **config: Any) -> Client:
        """One more client; `config` are members of `ClusterConfig`."""
        return Client(
            ClusterConfig(server=self._url, **config), clock=self.clock, network=self._network
        )

    @contextlib.asynccontextmanager
    async def start(self, *controllers: Controller[Any]) -> AsyncIterator[Manager]:
        """Run controllers; leaving the block ends them, as a crash does."""
        async with self.connect() as client:
            manager = Manager(
                client,
                events="off",
                clock=self.clock,
                rng=self.random,
                graceful_shutdown_timeout_s=0.0,
            )
            for controller in controllers:
                manager.add(controller)
            async with manager.running():
                yield manager

    async def settle(self, quiet_s: float = _IDLE_S) -> None:
        """Wait until nothing was written for a while of simulated time."""
        store = self.api.core.store
        revision = -1
        while revision != store.revision:
            revision = store.revision
            await self.clock.sleep(quiet_s)


Scenario = Callable[[World], Awaitable[None]]


def simulate(
    scenario: Scenario,
    *,
    seeds: Iterable[int] = range(100),
    definitions: Sequence[type[Object]] = (),
    options: ServerOptions = _BARE,
) -> int:
    """Run a scenario once for each seed; returns how many runs there were.

    `definitions` are kinds whose CustomResourceDefinitions are created first.

    Raises:
        SimulationFailed: with the seed of the first run that failed.
    """
    count = 0
    for seed in seeds:
        loop = SimulatedLoop(seed)
        try:
            with asyncio.Runner(loop_factory=lambda loop=loop: loop) as runner:  # type: ignore[misc]
                runner.run(_run(seed, scenario, definitions, options))
        except Exception as error:
            raise SimulationFailed(seed, error) from error
        count += 1
    return count


async def _run(
    seed: int, scenario: Scenario, definitions: Sequence[type[Object]], options: ServerOptions
) -> None:
    clock = SimulatedClock()
    store = open_memory(derive=decode_object_meta)
    api = ApiServer(store, options, clock=clock, rng=random.Random(seed))
    await api.start()
    running = asyncio.get_running_loop().create_task(api.run(), name="api-server")
    network = http.MemoryNetwork(clock=clock)
    async with http.Server(api.handle, clock=clock) as server:
        world = World(seed, api, network, network.serve(server, _HOST))
        try:
            async with world.client as client:
                for kind in definitions:
                    await client.resource(_CRDS).create(crd.build_manifest([kind]))
                await scenario(world)
        finally:
            api.stop()
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
            await store.close()
