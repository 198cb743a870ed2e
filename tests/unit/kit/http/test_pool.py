"""The connections a client keeps: handed on in order, given back, swept, dropped."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.http import ClientLimits, Request, Response
from quarterdeck.testing.poll import eventually

URL = "http://server/"


class Gate:
    """A handler that answers when it is opened; `seen` are the paths in order."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.seen: list[str] = []

    async def handle(self, request: Request) -> Response:
        self.seen.append(request.path)
        await self.open.wait()
        return Response(200, [], b"hello")


@asynccontextmanager
async def served(**options: Any) -> AsyncIterator[tuple[Gate, http.Client, http.Server]]:
    gate, network = Gate(), http.MemoryNetwork()
    async with http.Server(gate.handle) as server:
        network.serve(server, "server")
        async with network.client(**options) as client:
            yield gate, client, server
            gate.open.set()


async def get(client: http.Client, path: str = "") -> bytes:
    async with await client.request("GET", URL + path) as response:
        return await response.read()


async def test_callers_get_the_connection_in_the_order_they_came() -> None:
    async with served(pool=1) as (gate, client, _):
        async with asyncio.TaskGroup() as tasks:
            for number in range(4):
                tasks.create_task(get(client, str(number)))
                await asyncio.sleep(0)
            await eventually(lambda: client.statistics().waiting == 3)
            gate.open.set()
        assert gate.seen == ["/0", "/1", "/2", "/3"]
        assert client.statistics().connections_total == 1


async def test_a_caller_that_gives_up_costs_nobody_the_connection() -> None:
    async with served(pool=1) as (gate, client, _):
        first = asyncio.ensure_future(get(client, "first"))
        second = asyncio.ensure_future(get(client, "second"))
        third = asyncio.ensure_future(get(client, "third"))
        await eventually(lambda: client.statistics().waiting == 2)
        second.cancel()
        await eventually(lambda: client.statistics().waiting == 1)
        gate.open.set()
        assert await first == await third == b"hello"
        with pytest.raises(asyncio.CancelledError):
            await second
        assert await get(client, "later") == b"hello"
    assert gate.seen == ["/first", "/third", "/later"]


async def test_waiting_for_a_connection_ends_after_its_time() -> None:
    clock = VirtualClock()
    async with served(pool=1, connect_timeout_s=10, clock=clock) as (gate, client, _):
        first = asyncio.ensure_future(get(client))
        await eventually(lambda: gate.seen)
        second = asyncio.ensure_future(get(client))
        await eventually(lambda: client.statistics().waiting)
        await clock.advance(10)
        with pytest.raises(http.PoolTimeout, match="all 1 connections to server stayed busy"):
            await second
        assert client.statistics().waiting == 0
        gate.open.set()
        assert await first == b"hello"


async def test_idle_connections_are_closed_after_their_time() -> None:
    clock = VirtualClock()
    async with served(limits=ClientLimits(idle_timeout_s=30), clock=clock) as (
        gate,
        client,
        server,
    ):
        gate.open.set()
        await asyncio.gather(get(client), get(client))
        assert client.statistics().idle == 2
        await clock.advance(20)
        await get(client)
        await clock.advance(10)
        await eventually(lambda: client.statistics().connections == 1)
        await clock.advance(20)
        await eventually(lambda: client.statistics().connections == 0)
        await eventually(lambda: server.statistics().connections == 0)


async def test_a_closed_client_leaves_nobody_waiting() -> None:
    async with served(pool=1) as (gate, client, _):
        first = asyncio.ensure_future(get(client))
        second = asyncio.ensure_future(get(client))
        await eventually(lambda: gate.seen and client.statistics().waiting == 1)
        await client.aclose()
        for each in (first, second):
            with pytest.raises(http.ConnectionClosed):
                await each
