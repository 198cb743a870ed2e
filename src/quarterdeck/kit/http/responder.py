"""One request of a connection being answered: the handler's response to bytes.

Each request has a task of its own, so that context variables and cancellation are the request's
own; a connection answers one at a time, so this object serves all of them in turn.
"""

import asyncio
from typing import Protocol

from quarterdeck.kit.http.errors import ConnectionClosed, HttpError
from quarterdeck.kit.http.message import Request, Response, StreamResponse
from quarterdeck.kit.http.receiver import Receiver
from quarterdeck.kit.http.send_buffer import SendBuffer
from quarterdeck.kit.http.server_response import build_refusal, encode_response, encode_stream_head
from quarterdeck.kit.http.state import ServerState
from quarterdeck.kit.http.tunnel import Tunnel, Upgrade
from quarterdeck.kit.http.writer import BodyWriter

_COPY_LIMIT = 64 * 1024
"""A larger body is written apart from its head: a second system call costs less than a copy."""


class Owner(Protocol):
    """What answering needs of its connection."""

    def finish(self, request: Request) -> None:
        """The request is answered, or nothing can be answered any more."""

    def abort(self) -> None:
        """Cut the connection."""


class Responder:
    """Answers the requests of one connection, one at a time."""

    __slots__ = (
        "_is_orphaned",
        "_loop",
        "_out",
        "_owner",
        "_receiver",
        "_state",
        "is_last",
        "request",
        "task",
        "tunnel",
        "writer",
    )

    def __init__(
        self, owner: Owner, state: ServerState, *, receiver: Receiver, out: SendBuffer
    ) -> None:
        self._owner = owner
        self._state = state
        self._receiver = receiver
        self._out = out
        self._loop = asyncio.get_running_loop()
        self.request: Request | None = None
        self.task: asyncio.Task[None] | None = None
        self.writer: BodyWriter | None = None
        """Set while a streamed body is written."""
        self.tunnel: Tunnel | None = None
        """Set while an upgraded connection is served."""
        self.is_last = False
        """The connection ends with this answer."""
        self._is_orphaned = False

    def start(self, request: Request) -> None:
        """Answer a request; the owner's `finish` is always called at the end."""
        self.request = request
        self._state.requests_total += 1
        self.task = self._loop.create_task(self._respond(request))

    def end_stream(self) -> None:
        """Ask the stream or tunnel, if there is one, to end."""
        if self.writer is not None:
            self.writer.closing.set()
        if self.tunnel is not None:
            self.tunnel.closing.set()

    def orphan(self) -> None:
        """The peer sends no more: ask a stream to end, and cancel it later if it is stuck."""
        self._is_orphaned = True
        if self.tunnel is not None:
            self.tunnel.end()
        if self.writer is not None:
            self.writer.closing.set()
            self._watch_orphan(self.task, self._out.written)

    async def _respond(self, request: Request) -> None:
        try:
            response = await self._state.handler(request)
            if isinstance(response, Upgrade):
                await self._upgrade(response)
            elif isinstance(response, StreamResponse):
                await self._stream(request, response)
            else:
                self._send(request, response)
            if self._out.blocked is not None:
                await self._out.wait_writable()
        except asyncio.CancelledError:
            self._abort_or_end()
            raise
        except Exception as error:
            self._recover(request, error)
        finally:
            self.request = None
            self.task = None
            self._owner.finish(request)

    def _send(self, request: Request, response: Response) -> None:
        keep = self._can_keep_alive(request)
        if response.status >= 500:
            self._state.responses_5xx_total += 1
        head, body = encode_response(request, response, date=self._state.date, keep=keep)
        if len(body) < _COPY_LIMIT:
            self._out.put(head + body)
        else:
            self._out.put(head)
            self._out.put(body)
        self.is_last = not keep

    async def _stream(self, request: Request, response: StreamResponse) -> None:
        chunked = request.version == "1.1"
        keep = chunked and self._can_keep_alive(request)
        head, has_body = encode_stream_head(
            request, response, date=self._state.date, keep=keep, chunked=chunked
        )
        self.is_last = not keep
        if not has_body:
            self._out.put(head)
            return
        self.writer = writer = BodyWriter(self._out, head, chunked=chunked)
        if self._state.draining or self._is_orphaned:
            writer.closing.set()
        await response.run(writer)
        writer.finish()
        self.writer = None

    async def _upgrade(self, response: Upgrade) -> None:
        """Switch protocols; the connection is closed when the tunnel ends."""
        self.is_last = True
        self.tunnel = tunnel = Tunnel(self._out, self._receiver)
        if self._state.draining or self._is_orphaned:
            tunnel.closing.set()
        self._out.put(response.encode_head())
        try:
            await response.serve(tunnel)
        finally:
            self.tunnel = None

    def _can_keep_alive(self, request: Request) -> bool:
        """Whether the connection can serve another request after this one."""
        if not request.keep_alive or self._state.draining or self.is_last:
            return False
        if self._receiver.incoming is not request:
            return True
        if request.expects_continue:
            return False
        length = request.headers.get("content-length")
        if length is None:
            return True
        return int(length) - self._receiver.received <= self._state.limits.drain_bytes

    def _recover(self, request: Request, error: Exception) -> None:
        """Send an error response for a handler that failed; if too late, cut the connection."""
        writer, self.writer = self.writer, None
        if self._out.is_gone and isinstance(error, ConnectionClosed):
            return
        if request.refusal and isinstance(error, HttpError):
            status = request.refusal
        else:
            status = 500
            self._state.handler_errors_total += 1
            self._state.on_error(request, error)
        if writer is not None and not writer.discard():
            self._owner.abort()
            return
        if not self._out.is_gone:
            self._send(request, build_refusal(status))

    def _abort_or_end(self) -> None:
        """After a cancellation: end a stream if the server drains, else cut the connection."""
        writer, self.writer = self.writer, None
        self.is_last = True
        if writer is not None and self._state.draining:
            writer.finish()
        elif not self._out.is_gone:
            self._owner.abort()

    def _watch_orphan(self, task: asyncio.Task[None] | None, written: int) -> None:
        """Cancel a stream if the peer is gone or it writes nothing within `linger_timeout_s`."""

        def look_again() -> None:
            if self.task is task and task is not None:
                if self._out.is_gone or self._out.written == written:
                    task.cancel()
                else:
                    self._watch_orphan(task, self._out.written)

        self._loop.call_later(self._state.limits.linger_timeout_s, look_again)
