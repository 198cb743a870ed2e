"""The network in memory: same server and client, no sockets, faults on demand."""

import asyncio

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock, settle
from quarterdeck.kit.http import Limits, Link, MemoryNetwork, Request, Response, StreamResponse
from quarterdeck.testing.poll import eventually

Answer = Response | StreamResponse


async def echo(request: Request) -> Answer:
    return Response(200, [], await request.read(10 << 20))


async def ticks(request: Request) -> Answer:
    async def run(writer: http.BodyWriter) -> None:
        number = 0
        while not writer.closing.is_set():
            await writer.write(b"%d\n" % number)
            number += 1
            await asyncio.sleep(0)

    return StreamResponse(200, [], run)


async def test_requests_work_without_sockets() -> None:
    network = MemoryNetwork()
    async with http.Server(echo) as server, network.client() as client:
        url = network.serve(server, "api")
        for _ in range(3):
            response = await client.request("POST", f"{url}/", body=b"x" * 300_000)
            assert len(await response.read()) == 300_000
        assert server.statistics().connections_total == 1
        assert len(network.links) == 1
    assert network.links == []


async def test_a_certificate_is_presented_without_tls() -> None:
    peers: list[http.Peer] = []

    async def handler(request: Request) -> Answer:
        peers.append(request.peer)
        return Response(204, [])

    network = MemoryNetwork()
    async with http.Server(handler) as server:
        url = network.serve(server, "api")
        async with network.client(certificate=b"DER", name="node") as client:
            await client.request("GET", url)
    assert peers[0].certificate == b"DER" and peers[0].secure and peers[0].host == "node"


async def test_a_cut_after_some_bytes_is_a_gone_peer() -> None:
    network = MemoryNetwork()

    def fault(link: Link) -> None:
        link.cut_after = 300

    network.on_connect = fault
    async with http.Server(ticks) as server, network.client() as client:
        url = network.serve(server, "api")
        response = await client.request("GET", url)
        with pytest.raises(http.ConnectionClosed):
            await response.read()
        async with asyncio.timeout(240):
            await eventually(lambda: not server.statistics().requests_running)


async def test_a_frozen_link_is_silent_until_it_thaws() -> None:
    network, clock = MemoryNetwork(), VirtualClock()
    async with (
        http.Server(echo) as server,
        network.client(read_timeout_s=10, clock=clock) as client,
    ):
        url = network.serve(server, "api")
        await (await client.request("GET", url)).read()
        network.links[0].freeze()
        frozen = asyncio.ensure_future(client.request("GET", url))
        await settle()
        await clock.advance(10)
        with pytest.raises(http.ReadTimeout):
            await frozen
        await (await client.request("GET", url)).read()
        link = network.links[-1]
        link.freeze()
        asking = asyncio.ensure_future(client.request("POST", url, body=b"late"))
        await settle()
        assert not asking.done()
        link.thaw()
        assert await (await asking).read() == b"late"


async def test_latency_follows_the_clock() -> None:
    clock = VirtualClock()
    network = MemoryNetwork(clock=clock)

    def slow(link: Link) -> None:
        link.latency_s = 1.0

    network.on_connect = slow
    async with http.Server(echo, clock=clock) as server, network.client() as client:
        url = network.serve(server, "api")
        asking = asyncio.ensure_future(client.request("POST", url, body=b"x"))
        await clock.advance(1.5)
        assert server.statistics().requests_total == 1 and not asking.done()
        await clock.advance(1.0)
        assert await (await asking).read() == b"x"


async def test_timeouts_follow_the_servers_clock() -> None:
    clock = VirtualClock()
    network = MemoryNetwork(clock=clock)
    async with (
        http.Server(echo, clock=clock, limits=Limits(idle_timeout_s=60)) as server,
        network.client() as client,
    ):
        url = network.serve(server, "api")
        await (await client.request("GET", url)).read()
        await clock.advance(59)
        assert server.statistics().connections == 1
        await clock.advance(3)
        assert server.statistics().connections == 0
        assert client.statistics().connections == 0


async def test_a_slow_consumer_holds_the_stream_back() -> None:
    network = MemoryNetwork()
    limits = http.ClientLimits(buffer_bytes=100)
    async with http.Server(ticks) as server, network.client(limits=limits) as client:
        url = network.serve(server, "api")
        async with await client.request("GET", url) as response:
            await settle(2000)
            sent = server.statistics().bytes_written_total
            await settle(2000)
            assert server.statistics().bytes_written_total - sent < 100_000
            lines = response.lines()
            assert [await anext(lines) for _ in range(500)][-1] == b"499"


async def test_an_unknown_name_refuses_connections() -> None:
    network = MemoryNetwork()
    async with http.Server(echo) as server, network.client() as client:
        network.serve(server, "api")
        network.remove("api")
        with pytest.raises(http.ConnectError, match="api"):
            await client.request("GET", "http://api/")


async def test_a_drain_reaches_memory_connections() -> None:
    network = MemoryNetwork()
    async with http.Server(ticks) as server, network.client() as client:
        url = network.serve(server, "api")
        response = await client.request("GET", url)
        drained = asyncio.ensure_future(server.drain(5))
        assert (await response.read()).startswith(b"0\n1\n")
        await drained
        assert network.links == []


async def test_a_refusal_closes_a_memory_connection_in_order() -> None:
    clock = VirtualClock()
    network = MemoryNetwork(clock=clock)

    async def refuse(request: Request) -> Answer:
        return Response(403, [], b"no")

    limits = Limits(drain_bytes=10)
    async with (
        http.Server(refuse, clock=clock, limits=limits) as server,
        network.client() as client,
    ):
        url = network.serve(server, "api")
        response = await client.request("POST", url, body=bytes(1_000_000))
        assert response.status == 403 and await response.read() == b"no"
        await clock.advance(5)
        assert server.statistics().connections == 0 and network.links == []


async def test_a_server_without_connections_waits_for_no_deadline() -> None:
    clock = VirtualClock()
    network = MemoryNetwork()  # its links have timers of their own
    async with http.Server(echo, clock=clock) as server:
        url = network.serve(server, "api")
        await settle()
        assert clock.next_deadline is None
        async with network.client() as client:
            await (await client.request("GET", url)).read()
            assert clock.next_deadline is not None
        await eventually(lambda: not server.statistics().connections)
        await clock.advance(Limits().tick_s)
        assert clock.next_deadline is None


async def test_time_outs_hold_for_a_connection_after_a_long_rest() -> None:
    clock = VirtualClock()
    network = MemoryNetwork()
    limits = Limits(idle_timeout_s=10.0)
    async with http.Server(echo, clock=clock, limits=limits) as server, network.client() as client:
        url = network.serve(server, "api")
        await clock.advance(3600)
        await (await client.request("GET", url)).read()
        await clock.advance(9)
        assert server.statistics().connections == 1
        await clock.advance(2)
        await eventually(lambda: not server.statistics().connections)
