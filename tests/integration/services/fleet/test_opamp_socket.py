"""OpAMP over a WebSocket: agents that fall silent, and agents that leave messages unfinished."""

import asyncio
import contextlib
import struct
import uuid
from collections.abc import AsyncIterator
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.budget import Budget
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.http.tunnel import Tunnel
from quarterdeck.kit.redaction import Secret
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.kit.websocket import CloseCode, Opcode
from quarterdeck.services.fleet import opamp_socket
from quarterdeck.services.fleet.auth import Tokens
from quarterdeck.services.fleet.deliveries import is_inactive
from quarterdeck.services.fleet.service import FleetServer
from quarterdeck.storage import StoreKey, open_memory
from quarterdeck.telemetry.fleet import protobuf

TOKEN = "agent-token"
HELLO = protobuf.encode(
    "opamp.AgentToServer",
    {
        "instanceUid": uuid.UUID(int=7).bytes,
        "capabilities": 2,
        "agentDescription": {"identifyingAttributes": []},
    },
)


def build_head(opcode: Opcode, size: int) -> bytes:
    """The head of a frame whose mask changes nothing."""
    return bytes([0x80 | opcode, 0x80 | 127]) + struct.pack("!Q", size) + bytes(4)


class SocketAgent:
    """An agent on a WebSocket, frame by frame."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    async def send(self, opcode: Opcode, data: bytes = b"") -> None:
        if opcode >= Opcode.CLOSE:
            head = bytes([0x80 | opcode, 0x80 | len(data)]) + bytes(4)
        else:
            head = build_head(opcode, len(data))
        self.writer.write(head + data)
        await self.writer.drain()

    async def receive(self) -> tuple[Opcode, bytes]:
        first, size = await self._reader.readexactly(2)
        if size == 126:
            (size,) = struct.unpack("!H", await self._reader.readexactly(2))
        return Opcode(first & 0x0F), await self._reader.readexactly(size)

    async def say_hello(self) -> None:
        await self.send(Opcode.BINARY, b"\0" + HELLO)
        assert (await self.receive())[0] is Opcode.BINARY

    async def settle(self) -> None:
        """Until the server has read what was sent before."""
        await self.send(Opcode.PING, b"!")
        assert await self.receive() == (Opcode.PONG, b"!")

    async def expect_close(self, code: CloseCode) -> None:
        opcode, data = await self.receive()
        assert opcode is Opcode.CLOSE
        assert struct.unpack("!H", data[:2]) == (code,)
        assert await self._reader.read() == b""


class Fleet:
    """A fleet server on a clock of the test."""

    def __init__(self, url: str, server: FleetServer, clock: VirtualClock) -> None:
        self._url = urlsplit(url)
        self.server = server
        self.clock = clock

    def store_pipeline(self, name: str) -> None:
        """Give a pipeline to agents of production."""
        contents = (
            "receivers: {otlp: {protocols: {grpc: {}}}}\nexporters: {debug: {}}\n"
            f"service: {{pipelines: {{{name}: {{receivers: [otlp], exporters: [debug]}}}}}}\n"
        )
        message = {
            "name": "prod",
            "contents": contents,
            "matchers": ["env=prod"],
            "configType": "CONFIG_TYPE_OTEL",
        }
        pipelines = self.server.pipelines
        pipelines.store(pipelines.plan_create(message, "2026-01-01T00:00:00Z"), "now")

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator[SocketAgent]:
        reader, writer = await asyncio.open_connection(self._url.hostname, self._url.port)
        head = (
            f"GET /v1/opamp HTTP/1.1\r\nHost: {self._url.netloc}\r\n"
            f"Authorization: Bearer {TOKEN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        writer.write(head.encode())
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
        try:
            yield SocketAgent(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[Fleet]:
    clock = VirtualClock()
    fleet = FleetServer(open_memory(), Tokens.single(Secret(TOKEN)), clock=clock)
    server = http.Server(fleet.handle)
    listener = await server.listen("127.0.0.1", 0)
    try:
        yield Fleet(listener.url, fleet, clock)
    finally:
        await server.close()


async def test_agent_that_answers_pings_stays_and_a_silent_one_is_closed() -> None:
    async with serving() as fleet, fleet.connect() as agent:
        await agent.say_hello()
        for _ in range(4):
            await fleet.clock.advance(opamp_socket.PING_S)
            assert await agent.receive() == (Opcode.PING, b"")
            await agent.send(Opcode.PONG)
            await agent.settle()
        for _ in range(2):
            await fleet.clock.advance(opamp_socket.PING_S)
            assert await agent.receive() == (Opcode.PING, b"")
        await fleet.clock.advance(opamp_socket.PING_S)
        await agent.expect_close(CloseCode.POLICY)


async def test_an_agent_that_only_answers_pings_is_not_inactive() -> None:
    async with serving() as fleet, fleet.connect() as agent:
        await agent.say_hello()
        for _ in range(12):
            await fleet.clock.advance(opamp_socket.PING_S)
            assert await agent.receive() == (Opcode.PING, b"")
            await agent.send(Opcode.PONG)
            await agent.settle()
        await fleet.server.sweep_collectors()
        [collector] = fleet.server.collectors.list_all()
        assert collector.marked_inactive_at == ""
        assert not is_inactive(collector, fleet.clock.now())


async def test_heartbeats_keep_an_agent_without_pings() -> None:
    async with serving() as fleet, fleet.connect() as agent:
        await agent.say_hello()
        for _ in range(5):
            await fleet.clock.advance(opamp_socket.PING_S - 1)
            await agent.say_hello()


async def test_socket_without_a_first_message_is_closed() -> None:
    async with serving() as fleet, fleet.connect() as agent:
        await agent.settle()
        await fleet.clock.advance(opamp_socket.FIRST_S)
        await agent.expect_close(CloseCode.POLICY)


async def test_bytes_of_an_unfinished_message_are_no_sign_of_life() -> None:
    async with serving() as fleet, fleet.connect() as agent:
        await agent.say_hello()
        agent.writer.write(build_head(Opcode.BINARY, 1000))
        for _ in range(3):
            agent.writer.write(b"x")
            await agent.writer.drain()
            await fleet.clock.advance(opamp_socket.PING_S)
        for _ in range(2):
            assert await agent.receive() == (Opcode.PING, b"")
        await agent.expect_close(CloseCode.POLICY)


async def test_unfinished_messages_of_all_agents_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opamp_socket, "MAX_HELD", 100_000)
    async with serving() as fleet, fleet.connect() as greedy, fleet.connect() as modest:
        for agent, size in ((greedy, 70_000), (modest, 40_000)):
            await agent.say_hello()
            await agent.settle()
            agent.writer.write(build_head(Opcode.BINARY, 90_000) + b"x" * size)
            await agent.writer.drain()
        await greedy.expect_close(CloseCode.TRY_AGAIN_LATER)
        modest.writer.write(b"x" * (90_000 - 40_000))
        await modest.expect_close(CloseCode.POLICY)  # complete now, and not a message


@pytest.mark.parametrize("opcode", [Opcode.TEXT, Opcode.CONTINUATION])
async def test_messages_that_are_not_binary_are_refused(opcode: Opcode) -> None:
    async with serving() as fleet, fleet.connect() as agent:
        await agent.send(opcode, b"hello")
        received, data = await agent.receive()
        assert received is Opcode.CLOSE
        code = CloseCode.UNSUPPORTED if opcode is Opcode.TEXT else CloseCode.PROTOCOL_ERROR
        assert struct.unpack("!H", data[:2]) == (code,)


async def test_an_agent_that_leaves_is_answered_with_its_own_code() -> None:
    async with serving() as fleet, fleet.connect() as agent:
        await agent.say_hello()
        await agent.send(Opcode.CLOSE, struct.pack("!H", CloseCode.NORMAL) + b"bye")
        await agent.expect_close(CloseCode.NORMAL)


async def test_a_change_of_pipelines_is_pushed_to_agents_that_accept_it() -> None:
    async with serving() as fleet, fleet.connect() as agent, fleet.connect() as stranger:
        attribute = {"key": "env", "value": {"stringValue": "prod"}}
        message = {
            "instanceUid": uuid.UUID(int=8).bytes,
            "capabilities": 2,
            "agentDescription": {"identifyingAttributes": [attribute]},
        }
        data = protobuf.encode("opamp.AgentToServer", message)
        await agent.send(Opcode.BINARY, b"\0" + data)
        assert (await agent.receive())[0] is Opcode.BINARY
        await stranger.settle()
        fleet.store_pipeline("logs/web")
        opcode, data = await agent.receive()
        assert opcode is Opcode.BINARY
        offered = protobuf.decode("opamp.ServerToAgent", data.removeprefix(b"\0"))
        [file] = offered["remoteConfig"]["config"]["configMap"].values()
        assert b"logs/web" in file["body"]
        await stranger.settle()


@pytest.mark.parametrize("call", ["UpdateCollector", "BulkUpdateCollectors"])
async def test_a_change_of_attributes_is_pushed_to_the_agent(call: str) -> None:
    async with serving() as fleet, fleet.connect() as agent:
        fleet.store_pipeline("logs/web")
        identity = str(uuid.UUID(int=7))
        await agent.say_hello()  # it is not of production yet
        if call == "UpdateCollector":
            collector = {"id": identity, "remoteAttributes": {"env": "prod"}}
            message: dict[str, Any] = {"collector": collector}
        else:
            operation = {"op": "ADD", "path": "/remote_attributes/env", "value": "prod"}
            message = {"ids": [identity], "ops": [operation]}
        await fleet.server._calls[call](message)
        async with asyncio.timeout(10):
            _, data = await agent.receive()
        assert b"logs/web" in data
        await fleet.server._calls["UpdateCollector"]({"collector": {"id": identity}})
        async with asyncio.timeout(10):
            _, data = await agent.receive()
        assert b"logs/web" not in data
    assert not fleet.server.collectors._listeners


def _describe(number: int) -> bytes:
    attribute = {"key": "env", "value": {"stringValue": "prod"}}
    message = {
        "instanceUid": uuid.UUID(int=number).bytes,
        "capabilities": 2,
        "agentDescription": {"identifyingAttributes": [attribute]},
    }
    return b"\0" + protobuf.encode("opamp.AgentToServer", message)


async def test_every_connection_of_an_agent_is_offered_a_change() -> None:
    async with serving() as fleet, fleet.connect() as dead, fleet.connect() as live:
        for agent in (dead, live):
            await agent.send(Opcode.BINARY, _describe(8))
            assert (await agent.receive())[0] is Opcode.BINARY
        fleet.store_pipeline("logs/web")
        for agent in (live, dead):
            _, data = await agent.receive()
            offered = protobuf.decode("opamp.ServerToAgent", data.removeprefix(b"\0"))
            assert "remoteConfig" in offered


class SlowTunnel:
    """A peer that takes what it is sent only when the test says so."""

    def __init__(self, *frames: bytes) -> None:
        self.closing = asyncio.Event()
        self.sent: list[bytes] = []
        self.room = asyncio.Semaphore(0)
        self._frames = [*frames]

    async def receive(self) -> bytes:
        if not self._frames:
            await asyncio.Event().wait()
        return self._frames.pop(0)

    async def send(self, data: bytes) -> None:
        self.sent.append(data)
        await self.room.acquire()


async def let_run() -> None:
    """Let all tasks run until they wait for something."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_a_change_during_an_answer_or_an_offer_is_offered_too() -> None:
    clock = VirtualClock()
    store = open_memory()
    server = FleetServer(store, Tokens.single(Secret(TOKEN)), clock=clock)
    fleet = Fleet("http://fleet", server, clock)
    hello = _describe(8)
    tunnel = SlowTunnel(build_head(Opcode.BINARY, len(hello)) + hello)
    socket = opamp_socket.OpampSocket(
        server.opamp, server.pipelines, clock=clock, budget=Budget(opamp_socket.MAX_HELD)
    )
    async with Supervisor("test") as tasks:
        tasks.spawn(socket.serve(cast("Tunnel", tunnel)), name="socket")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(server.collectors) == 1 and not tunnel.sent  # its registration is being written
        fleet.store_pipeline("logs/one")
        await store.put(StoreKey("other", "", "o"), lambda revision: b"{}")
        await let_run()
        assert b"logs/one" in tunnel.sent[1]
        server.pipelines.remove("1", "now")
        fleet.store_pipeline("logs/two")
        tunnel.room.release()
        tunnel.room.release()
        await let_run()
        assert b"logs/two" in tunnel.sent[2]
        await tasks.cancel_all()
    await store.close()
