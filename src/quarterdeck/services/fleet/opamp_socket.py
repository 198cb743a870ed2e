"""OpAMP over a WebSocket: agents send at any time, the server sends when something changes.

What an agent receives depends on pipelines, and on the attributes and the switch that others set
for it.
"""

import asyncio
import uuid
from collections.abc import Callable

from quarterdeck.kit import websocket
from quarterdeck.kit.budget import Budget, Share
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http import ConnectionClosed
from quarterdeck.kit.http.tunnel import Tunnel
from quarterdeck.kit.websocket import CloseCode, FrameReader, Opcode, WebSocketError
from quarterdeck.services.fleet.errors import FleetError
from quarterdeck.services.fleet.opamp import MAX_MESSAGE, OpampCalls
from quarterdeck.services.fleet.pipelines import Pipelines

HEADER = b"\0"
"""The prefix of every message, so that the format can change."""
PING_S = 30.0
"""Seconds without a message after which the agent is sent a ping."""
IDLE_S = 90.0
"""Seconds without a message or pong after which the connection is closed."""
FIRST_S = 30.0
"""How long an agent may be connected without its first message."""
MAX_HELD = 64 * MAX_MESSAGE
"""Limit in bytes of the incomplete messages of all agents together."""

_CROWDED = websocket.build_close(
    CloseCode.TRY_AGAIN_LATER, "the server has too many incomplete messages"
)
_STOPPING = websocket.build_close(CloseCode.GOING_AWAY, "the server is shutting down")


class OpampSocket:
    """One agent on a WebSocket."""

    def __init__(
        self, calls: OpampCalls, pipelines: Pipelines, *, clock: Clock, budget: Budget
    ) -> None:
        self._calls = calls
        self._pipelines = pipelines
        self._clock = clock
        self._budget = budget
        self._began = self._heard_at = clock.monotonic()
        self._identity = ""
        self._is_outdated = asyncio.Event()
        """Set when the configuration may have changed, and when the agent has sent its id."""
        self._stop_listening: Callable[[], None] = lambda: None
        self._accepts = False
        self._sent = ""
        """Hash of the configuration that was sent last on this connection, or served before it."""

    async def serve(self, tunnel: Tunnel) -> None:
        """Exchange messages until either side closes the connection."""
        crowded = asyncio.Event()
        share = self._budget.open(crowded.set)
        tasks = [
            asyncio.ensure_future(each)
            for each in (
                self._read(tunnel, share),
                self._push(tunnel),
                self._follow_pipelines(),
                self._watch(tunnel),
                _close_after(crowded, tunnel, _CROWDED),
                _close_after(tunnel.closing, tunnel, _STOPPING),
            )
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._stop_listening()
            share.close()

    async def _read(self, tunnel: Tunnel, share: Share) -> None:
        reader = FrameReader(MAX_MESSAGE)
        try:
            while data := await tunnel.receive():
                for opcode, payload in reader.feed(data):
                    self._heard_at = self._clock.monotonic()
                    share.resize(reader.held + len(payload))
                    if not await self._take(opcode, payload, tunnel):
                        return
                share.resize(reader.held)
        except WebSocketError as error:
            await tunnel.send(websocket.build_close(error.code, str(error)))
        except FleetError as error:
            await tunnel.send(websocket.build_close(CloseCode.POLICY, error.message))
        except ConnectionClosed:
            pass

    async def _take(self, opcode: Opcode, payload: bytes, tunnel: Tunnel) -> bool:
        """Handle one message; False if it was the last one."""
        match opcode:
            case Opcode.BINARY:
                message = await self._calls.read(payload.removeprefix(HEADER))
                answer = await self._calls.answer_message(message)
                identity, self._accepts = self._calls.identify(message, accepts=self._accepts)
                self._follow_agent(identity)
                self._sent = self._calls.find_served(self._identity)
                await tunnel.send(websocket.build_frame(Opcode.BINARY, HEADER + answer))
            case Opcode.PING:
                self._calls.record_contact(self._identity)
                await tunnel.send(websocket.build_frame(Opcode.PONG, payload))
            case Opcode.CLOSE:
                await tunnel.send(websocket.build_frame(Opcode.CLOSE, payload[:2]))
                return False
            case Opcode.TEXT | Opcode.CONTINUATION:
                raise WebSocketError(CloseCode.UNSUPPORTED, "OpAMP messages must be binary")
            case Opcode.PONG:
                self._calls.record_contact(self._identity)
        return True

    def _follow_agent(self, identity: str) -> None:
        """Notice what others change of the agent; its id may be another one than before."""
        if identity == self._identity:
            return
        self._stop_listening()
        self._identity = identity
        self._stop_listening = self._calls.listen(identity, self._is_outdated.set)
        self._is_outdated.set()

    async def _follow_pipelines(self) -> None:
        generation = self._pipelines.generation
        while True:
            generation = await self._pipelines.wait_changed(generation)
            self._is_outdated.set()

    async def _push(self, tunnel: Tunnel) -> None:
        """Offer the configuration again whenever it may have changed.

        Also if it changed while the first message was answered, or an offer was being sent.
        """
        while True:
            await self._is_outdated.wait()
            self._is_outdated.clear()
            if not (self._accepts and self._identity):
                continue
            offer = self._calls.offer(uuid.UUID(self._identity), sent=self._sent)
            if offer is not None:
                self._sent = self._calls.find_served(self._identity)
                await tunnel.send(websocket.build_frame(Opcode.BINARY, HEADER + offer))

    async def _watch(self, tunnel: Tunnel) -> None:
        """Send pings, and close the connection of an agent that sends neither frames nor pongs."""
        while (reason := self._find_silence()) is None:
            if self._clock.monotonic() >= self._heard_at + PING_S:
                await tunnel.send(websocket.build_frame(Opcode.PING, b""))
            await self._clock.sleep(PING_S)
        await tunnel.send(websocket.build_close(CloseCode.POLICY, reason))

    def _find_silence(self) -> str | None:
        now = self._clock.monotonic()
        if not self._identity and now >= self._began + FIRST_S:
            return f"no message received within {FIRST_S:g} s"
        if now >= self._heard_at + IDLE_S:
            return (
                f"no message received for {IDLE_S:g} s; agents must send heartbeats or answer pings"
            )
        return None


async def _close_after(event: asyncio.Event, tunnel: Tunnel, frame: bytes) -> None:
    await event.wait()
    await tunnel.send(frame)
