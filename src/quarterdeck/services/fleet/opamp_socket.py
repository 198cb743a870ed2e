"""OpAMP over a WebSocket: agents send when they have something, we send when pipelines change."""

import asyncio
import uuid

from quarterdeck.kit import websocket
from quarterdeck.kit.http import PeerGone
from quarterdeck.kit.http.tunnel import Tunnel
from quarterdeck.kit.websocket import CloseCode, FrameReader, Opcode, WebSocketError
from quarterdeck.services.fleet.errors import FleetError
from quarterdeck.services.fleet.opamp import MAX_MESSAGE, OpampCalls
from quarterdeck.services.fleet.pipelines import Pipelines

HEADER = b"\0"
"""Stands before every message, so that the format can change some day."""


class OpampSocket:
    """One agent on a WebSocket."""

    def __init__(self, calls: OpampCalls, pipelines: Pipelines) -> None:
        self._calls = calls
        self._pipelines = pipelines
        self._identity = ""
        self._accepts = False

    async def serve(self, tunnel: Tunnel) -> None:
        """Talk until either side ends it."""
        tasks = [
            asyncio.ensure_future(each)
            for each in (self._read(tunnel), self._push(tunnel), self._end(tunnel))
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, tunnel: Tunnel) -> None:
        reader = FrameReader(MAX_MESSAGE)
        try:
            while data := await tunnel.receive():
                for opcode, payload in reader.feed(data):
                    if not await self._take(opcode, payload, tunnel):
                        return
        except WebSocketError as error:
            await tunnel.send(websocket.build_close(error.code, str(error)))
        except FleetError as error:
            await tunnel.send(websocket.build_close(CloseCode.POLICY, error.message))
        except PeerGone:
            pass

    async def _take(self, opcode: Opcode, payload: bytes, tunnel: Tunnel) -> bool:
        """Deal with one message; False if it was the last."""
        match opcode:
            case Opcode.BINARY:
                message = await self._calls.read(payload.removeprefix(HEADER))
                answer = await self._calls.answer_message(message)
                self._identity, self._accepts = self._calls.identify(message, accepts=self._accepts)
                await tunnel.send(websocket.build_frame(Opcode.BINARY, HEADER + answer))
            case Opcode.PING:
                await tunnel.send(websocket.build_frame(Opcode.PONG, payload))
            case Opcode.CLOSE:
                await tunnel.send(websocket.build_frame(Opcode.CLOSE, payload[:2]))
                return False
            case Opcode.TEXT | Opcode.CONTINUATION:
                raise WebSocketError(CloseCode.UNSUPPORTED, "messages of OpAMP are binary")
            case Opcode.PONG:
                pass
        return True

    async def _push(self, tunnel: Tunnel) -> None:
        """Offer the configuration again whenever pipelines have changed."""
        while True:
            await self._pipelines.wait_changed()
            if not self._accepts or not self._identity:
                continue
            offer = self._calls.offer(uuid.UUID(self._identity))
            if offer is not None:
                await tunnel.send(websocket.build_frame(Opcode.BINARY, HEADER + offer))

    async def _end(self, tunnel: Tunnel) -> None:
        """Close when the server drains."""
        await tunnel.closing.wait()
        await tunnel.send(websocket.build_close(CloseCode.GOING_AWAY, "the server stops"))
