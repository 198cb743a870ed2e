"""A network that is cut for an hour, on a virtual clock: nothing is lost, nothing comes twice."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from tests.integration.operators.clusters.conftest import World, _world

from quarterdeck.agents.collector.agent import CollectorAgent
from quarterdeck.agents.collector.buffer import DiskBuffer
from quarterdeck.agents.collector.settings import CollectorSettings
from quarterdeck.agents.collector.uplink import Disconnected, Uplink
from quarterdeck.hubstate.ports import RangeQuery
from quarterdeck.hubstate.push import tokens
from quarterdeck.inventory.push.codec import decode_response
from quarterdeck.inventory.push.messages import ConfigUpdate
from quarterdeck.kit.redaction import Secret
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.services.ingester.configs import Configs
from quarterdeck.services.ingester.errors import StreamRefused
from quarterdeck.services.ingester.ingest import Ingest
from quarterdeck.services.ingester.options import IngesterOptions
from quarterdeck.services.ingester.session import Session

HOUR_S = 3600


class Call:
    """Both ends of one stream in memory."""

    def __init__(self, network: "Network", token: str) -> None:
        self.token = token
        self._network = network
        self._up: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._down: asyncio.Queue[Any] = asyncio.Queue()
        self.is_open = True

    # --- as the hub sees it

    async def read_request(self) -> bytes | None:
        return await self._up.get()

    async def write_response(self, data: bytes) -> None:
        is_ack = decode_response(data).ack is not None
        if is_ack and self._network.loses_acks:
            self._network.lost_acks += 1
            self.close()
        if self.is_open:
            self._down.put_nowait(data)

    # --- as the collector sees it

    async def read(self) -> Any:
        return await self._down.get()

    async def write(self, data: bytes) -> None:
        if not self.is_open:
            raise asyncio.InvalidStateError("the stream is closed")
        self._up.put_nowait(data)

    async def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    async def details(self) -> str:
        return "the network is cut"

    def close(self) -> None:
        self.is_open = False
        self._up.put_nowait(None)
        self._down.put_nowait(grpc.aio.EOF)


class HubSide:
    """A call as the ingester's stream."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.token = call.token

    async def open(self) -> None:
        return None

    async def read(self) -> bytes | None:
        return await self._call.read_request()

    async def write(self, data: bytes) -> None:
        await self._call.write_response(data)


class Network:
    """Connects a collector with an ingester, until it is cut."""

    def __init__(self, world: World, tasks: Supervisor) -> None:
        self._world = world
        self._tasks = tasks
        self._options = IngesterOptions()
        self.ingest = Ingest(world.state, world.history, options=self._options, clock=world.clock)
        self.configs = Configs(world.state, clock=world.clock)
        self._calls: set[Call] = set()
        self.is_up = True
        self.loses_acks = False
        self.lost_acks = 0
        self.attempts: list[float] = []

    def cut(self) -> None:
        self.is_up = False
        for call in list(self._calls):
            call.close()

    @contextlib.asynccontextmanager
    async def dial(
        self, settings: CollectorSettings, *, on_config: Callable[[ConfigUpdate], None]
    ) -> AsyncIterator[Uplink]:
        self.attempts.append(self._world.clock.monotonic())
        if not self.is_up:
            raise Disconnected("no route to host")
        call = Call(self, settings.token.reveal())
        self._calls.add(call)
        self._tasks.spawn(self._serve(call), name="session")
        try:
            yield Uplink(call, on_config=on_config)
        finally:
            self._calls.discard(call)
            call.close()

    async def _serve(self, call: Call) -> None:
        session = Session(
            HubSide(call),
            state=self._world.state,
            ingest=self.ingest,
            configs=self.configs,
            options=self._options,
            clock=self._world.clock,
        )
        with contextlib.suppress(StreamRefused):
            await session.register()
            await session.run()


class CountedThreads(ThreadPoolExecutor):
    """The threads of the buffer, which run on real time; virtual time waits for them."""

    def __init__(self) -> None:
        super().__init__(max_workers=2)
        self.under_way: set[Future[Any]] = set()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = super().submit(function, *args, **kwargs)
        self.under_way.add(future)
        return future


class PassingTime:
    """Virtual time that passes in small steps, and waits for the threads after each."""

    def __init__(self, world: World, threads: CountedThreads) -> None:
        self._world = world
        self._threads = threads

    async def advance(self, seconds: float) -> None:
        clock = self._world.clock
        target = clock.monotonic() + seconds
        while clock.monotonic() < target:
            await clock.advance(min(20.0, target - clock.monotonic()))
            await self._settle()

    async def pass_until(self, check: Callable[[], bool]) -> None:
        async with asyncio.timeout(240):
            while not check():
                await self.advance(5.0)

    async def _settle(self) -> None:
        """Let everything run until no thread works, and nobody starts another."""
        await self._world.settle(40)
        while self._threads.under_way:
            done = list(self._threads.under_way)
            await asyncio.gather(*map(asyncio.wrap_future, done), return_exceptions=True)
            self._threads.under_way.difference_update(done)
            await self._world.settle(40)


@contextlib.asynccontextmanager
async def running(
    folder: Path, *, cycles: int
) -> AsyncIterator[tuple[World, PassingTime, Network, CollectorAgent, DiskBuffer]]:
    async with _world() as w, Supervisor("test") as tasks:
        spoke = await w.spoke()
        network = Network(w, tasks)
        await network.configs.refresh()
        token = await tokens.issue_token(w.state, "east", at=w.clock.now())
        settings = CollectorSettings(
            cluster_name="east", token=Secret(token.reveal()), interval_s=60.0
        )
        buffer = DiskBuffer(folder, max_batches=cycles, max_bytes=64 * 1024 * 1024)
        agent = CollectorAgent(
            spoke.client,
            settings,
            buffer,
            clock=w.clock,
            random=random.Random(1),
            dial=network.dial,
        )
        threads = CountedThreads()
        asyncio.get_running_loop().set_default_executor(threads)
        tasks.spawn(agent.run(), name="agent")
        yield w, PassingTime(w, threads), network, agent, buffer
        await tasks.cancel_all()


async def count_points(w: World, began: Any) -> int:
    series = await w.history.query_range(
        RangeQuery(
            name="clusterpulse_cluster_nodes_total",
            start=began - timedelta(seconds=60),
            end=w.clock.now(),
            step=timedelta(seconds=1),
            reduction="last",
        )
    )
    return sum(len(each.points) for each in series)


async def test_an_hour_without_network_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, cycles=500) as (w, time, network, agent, buffer):
        began = w.clock.now()
        await time.pass_until(lambda: agent.sent >= 2)
        network.loses_acks = True  # stored, and the cut comes before the acknowledgement
        await time.pass_until(lambda: network.lost_acks >= 1)
        network.cut()
        network.loses_acks = False
        before = agent.sent
        await time.advance(HOUR_S)
        assert agent.sent == before
        assert len(buffer) > 30
        network.is_up = True
        await time.pass_until(lambda: len(buffer) == 0 and agent.sent > before + 30)
        network.cut()
        made = agent.statistics()["sent"]
        assert buffer.dropped == 0
        assert network.ingest.stored == made
        assert 1 <= network.ingest.duplicates <= network.lost_acks
        assert await count_points(w, began) == made  # each with the time it was collected at


async def test_a_short_buffer_drops_the_oldest_and_the_hub_is_asked_more_seldom(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path, cycles=10) as (_, time, network, agent, buffer):
        await time.pass_until(lambda: agent.sent >= 1)
        network.cut()
        network.attempts.clear()
        await time.advance(HOUR_S)
        pauses = [b - a for a, b in zip(network.attempts, network.attempts[1:], strict=False)]
        assert pauses[0] < 30 and 200 < max(pauses) <= 300 * 1.2 + 30  # ever more seldom
        assert len(network.attempts) < 30
        assert len(buffer) == 10
        dropped = buffer.dropped
        assert dropped > 20
        lost = [each for each in caplog.messages if "the oldest cycle is lost" in each]
        assert len(lost) == dropped
        network.is_up = True
        await time.pass_until(lambda: len(buffer) == 0)
        assert network.ingest.stored == agent.sent
        assert agent.statistics()["dropped"] >= dropped
