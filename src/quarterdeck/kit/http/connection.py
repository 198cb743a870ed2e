"""One server connection: bytes to requests, responses to bytes.

The intake parses and calls back synchronously from `data_received`. One request is answered at a
time, by a task of its own, so that context variables and cancellation are the request's own; what
a client sends ahead waits in a short queue, then in the socket. A ticker of the server calls `tick`
every now and then: no request pays for a timer.
"""

import asyncio
import enum
from collections import deque
from typing import cast

from quarterdeck.kit.http.answer import encode_response, encode_stream_head, refusal
from quarterdeck.kit.http.encode import CONTINUE
from quarterdeck.kit.http.errors import HttpError, PeerGone
from quarterdeck.kit.http.intake import Intake
from quarterdeck.kit.http.message import Peer, Request, Response, StreamResponse
from quarterdeck.kit.http.parse import Malformed
from quarterdeck.kit.http.peer import peer_of
from quarterdeck.kit.http.state import ServerState
from quarterdeck.kit.http.writer import BodyWriter

_COPY_LIMIT = 64 * 1024
"""A larger body is written apart from its head: a second system call costs less than a copy."""


class Phase(enum.Enum):
    """What the connection waits for, and so which time-out applies."""

    IDLE = "idle"
    HEAD = "head"
    ANSWER = "answer"
    DISCARD = "discard"
    LINGER = "linger"
    CLOSING = "closing"


class ServerConnection(asyncio.Protocol):
    """The protocol instance of one accepted connection."""

    __slots__ = (
        "_deadline",
        "_disconnection",
        "_eof",
        "_flushed",
        "_flushed_at",
        "_intake",
        "_is_last",
        "_is_lost",
        "_loop",
        "_peer",
        "_queue",
        "_running",
        "_state",
        "_task",
        "_transport",
        "_writable",
        "_writer",
        "_written",
        "is_gone",
        "phase",
    )

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._loop = asyncio.get_running_loop()
        self._intake = Intake(self, state)
        self._transport: asyncio.Transport
        self._peer: Peer
        self.is_gone = False
        self.phase = Phase.HEAD
        self._deadline = state.now + state.limits.header_timeout_s
        self._queue: deque[Request | Malformed] = deque()
        self._running: Request | None = None
        self._task: asyncio.Task[None] | None = None
        self._writer: BodyWriter | None = None
        self._is_last = False
        self._is_lost = False
        self._eof = False
        self._writable: asyncio.Event | None = None
        self._written = 0
        self._flushed = 0
        self._flushed_at = state.now
        self._disconnection: asyncio.Future[None] | None = None

    # --- the transport's side -------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection, its TLS handshake included, is there."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=self._state.limits.write_buffer_bytes)
        self._intake.attach(self._transport)
        self._peer = peer_of(transport)
        self._state.connections.add(self)
        self._state.connections_total += 1

    def data_received(self, data: bytes) -> None:
        """Bytes arrived."""
        if self.phase is Phase.IDLE:
            self.phase = Phase.HEAD
            self._deadline = self._state.now + self._state.limits.header_timeout_s
        self._intake.receive(data)

    def eof_received(self) -> bool:
        """The peer sends no more; it may still read, so answers under way are completed."""
        self._eof = True
        self.is_gone = self._peer.secure  # TLS connections have no half-closed state
        self._intake.is_closed = True
        self._intake.fail(PeerGone("the peer closed the connection within the request body"))
        self._report_disconnection()
        if self._writer is not None:
            self._writer.closing.set()
            self._watch_orphan(self._task, self._written)
        return not self._peer.secure and (self._running is not None or bool(self._queue))

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing can be read or written any more."""
        self.is_gone = True
        self._is_lost = True
        self._queue.clear()
        self._intake.close()
        self._intake.fail(PeerGone("the peer closed the connection within the request body"))
        self._report_disconnection()
        self.resume_writing()
        if self._writer is not None:
            self._writer.closing.set()
            self._watch_orphan(self._task, self._written)
        self._state.connections.discard(self)
        self._state.on_change()

    def pause_writing(self) -> None:
        """The transport holds more than its limit."""
        self._writable = asyncio.Event()

    def resume_writing(self) -> None:
        """The transport has room again."""
        if self._writable is not None:
            self._writable.set()
            self._writable = None

    # --- the intake's side ----------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Requests that wait for their turn."""
        return len(self._queue)

    def take_request(self, request: Request) -> None:
        """Answer a request, or queue it behind the one being answered."""
        request.peer = self._peer
        request.carrier = self
        if self._running is None and not self._queue:
            self._start(request)
        else:
            self._queue.append(request)
            self._intake.update()

    def take_malformed(self, problem: Malformed) -> None:
        """Refuse, after what was asked before."""
        if self.phase is Phase.DISCARD:
            self._close(linger=True)
        elif self._running is None and not self._queue:
            self._refuse(problem.status)
        else:
            self._queue.append(problem)

    def body_dropped(self) -> None:
        """The connection can go on after a request whose body nobody wanted."""
        if self.phase is Phase.DISCARD:
            self._rest()

    # --- one request ----------------------------------------------------------------------------

    def _start(self, request: Request) -> None:
        self._running = request
        self.phase = Phase.ANSWER
        state = self._state
        state.requests_total += 1
        state.running.add(self)
        self._task = self._loop.create_task(self._answer(request))

    async def _answer(self, request: Request) -> None:
        try:
            response = await self._state.handler(request)
            if isinstance(response, StreamResponse):
                await self._stream(request, response)
            else:
                self._send(request, response)
            if self._writable is not None:
                await self.writable()
        except asyncio.CancelledError:
            self._cut_off()
            raise
        except Exception as error:
            self._recover(request, error)
        finally:
            self._finish(request)

    def _send(self, request: Request, response: Response) -> None:
        keep = self._keeps(request)
        if response.status >= 500:
            self._state.responses_5xx_total += 1
        head, body = encode_response(request, response, date=self._state.date, keep=keep)
        if len(body) < _COPY_LIMIT:
            self.put(head + body)
        else:
            self.put(head)
            self.put(body)
        self._is_last = not keep

    async def _stream(self, request: Request, response: StreamResponse) -> None:
        chunked = request.version == "1.1"
        keep = chunked and self._keeps(request)
        head, has_body = encode_stream_head(
            request, response, date=self._state.date, keep=keep, chunked=chunked
        )
        self._is_last = not keep
        if not has_body:
            self.put(head)
            return
        self._writer = writer = BodyWriter(self, head, chunked=chunked)
        if self._state.draining or self._eof:
            writer.closing.set()
        await response.run(writer)
        writer.finish()
        self._writer = None

    def _recover(self, request: Request, error: Exception) -> None:
        """Answer for a handler that failed, as far as that is still possible."""
        writer, self._writer = self._writer, None
        if self.is_gone and isinstance(error, PeerGone):
            return
        if request.refusal and isinstance(error, HttpError):
            status = request.refusal
        else:
            status = 500
            self._state.handler_errors_total += 1
            self._state.on_error(request, error)
        if writer is not None and not writer.discard():
            self.abort()
            return
        if not self.is_gone:
            self._send(request, refusal(status))

    def _watch_orphan(self, task: asyncio.Task[None] | None, written: int) -> None:
        """End a stream in a while whose peer is gone, if it takes no notice of that by itself."""

        def look_again() -> None:
            if self._task is task and task is not None:
                if self.is_gone or self._written == written:
                    task.cancel()
                else:
                    self._watch_orphan(task, self._written)

        self._loop.call_later(self._state.limits.linger_timeout_s, look_again)

    def _cut_off(self) -> None:
        """The task was cancelled: a draining server ends streams well, anything else is cut."""
        writer, self._writer = self._writer, None
        self._is_last = True
        if writer is not None and self._state.draining:
            writer.finish()
        elif not self.is_gone:
            self.abort()

    def _finish(self, request: Request) -> None:
        self._running = None
        self._task = None
        self._state.running.discard(self)
        if self.is_gone:
            self._state.on_change()
            return
        unread = self._intake.incoming is request
        if self._is_last:
            self._close(linger=unread or (request.inflow is not None and request.inflow.failed))
        elif unread:
            self.phase = Phase.DISCARD
            self._deadline = self._state.now + self._state.limits.body_timeout_s
            self._intake.discard()
        else:
            self._rest()

    def _rest(self) -> None:
        """Between two requests: take the next one, or wait for it."""
        if self._queue:
            following = self._queue.popleft()
            if isinstance(following, Malformed):
                self._refuse(following.status)
                return
            self._start(following)
            self._intake.update()
        elif self._eof or self._state.draining:
            self._close(linger=False)
        else:
            inside = self._intake.is_inside_head
            limits = self._state.limits
            self.phase = Phase.HEAD if inside else Phase.IDLE
            wait = limits.header_timeout_s if inside else limits.idle_timeout_s
            self._deadline = self._state.now + wait
            self._intake.update()

    def _keeps(self, request: Request) -> bool:
        """Whether the connection can serve another request after this one."""
        if not request.keep_alive or self._state.draining or self._is_last:
            return False
        if self._intake.incoming is not request:
            return True
        if request.expects_continue:
            return False
        length = request.headers.get("content-length")
        if length is None:
            return True
        return int(length) - self._intake.received <= self._state.limits.drain_bytes

    # --- Carrier and Outlet ---------------------------------------------------------------------

    @property
    def body_limit(self) -> int:
        """The longest body the server accepts at all."""
        return self._state.limits.body_bytes

    def want_body(self, request: Request) -> None:
        """The handler is about to read."""
        if request.expects_continue:
            request.expects_continue = False
            self._intake.restart_clock()
            self.put(CONTINUE)

    def disconnection(self) -> asyncio.Future[None]:
        """Resolves when the peer is gone."""
        if self._disconnection is None:
            self._disconnection = self._loop.create_future()
            if self._eof or self.is_gone:
                self._disconnection.set_result(None)
        return self._disconnection

    def _report_disconnection(self) -> None:
        if self._disconnection is not None and not self._disconnection.done():
            self._disconnection.set_result(None)

    def put(self, data: bytes) -> None:
        """Hand bytes to the transport."""
        if not self.is_gone:
            self._written += len(data)
            self._state.bytes_written_total += len(data)
            self._transport.write(data)

    @property
    def unsent(self) -> int:
        """Bytes the transport still holds."""
        return 0 if self.is_gone else self._transport.get_write_buffer_size()

    async def writable(self) -> None:
        """Wait until the transport holds less than its limit, or the peer is gone."""
        while self._writable is not None:
            await self._writable.wait()

    # --- ends -----------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        """Apply the time-outs."""
        if self.phase is Phase.ANSWER:
            self._intake.check(now)
        elif now > self._deadline and self.phase is not Phase.CLOSING:
            self._expire()
        unsent = self.unsent
        flushed = self._written - unsent
        if unsent == 0 or flushed > self._flushed:
            self._flushed = flushed
            self._flushed_at = now
        elif now > self._flushed_at + self._state.limits.write_timeout_s:
            self._state.timeouts_total += 1
            self.abort()

    def _expire(self) -> None:
        phase = self.phase
        if phase is Phase.HEAD and self._intake.is_inside_head:
            self._state.timeouts_total += 1
            self._refuse(408)
        elif phase is Phase.IDLE or phase is Phase.HEAD:
            self._close(linger=False)
        else:
            self.abort()

    def _refuse(self, status: int) -> None:
        """Answer what could not be understood, and close."""
        self.put(
            b"".join(encode_response(None, refusal(status), date=self._state.date, keep=False))
        )
        self._close(linger=True)

    def _close(self, *, linger: bool) -> None:
        """Close; with `linger`, input is dropped first, since a reset could destroy the answer."""
        self._intake.is_closed = True
        if self.is_gone:
            return
        if not linger or self._eof:
            self.phase = Phase.CLOSING
            self._transport.close()
            return
        self.phase = Phase.LINGER
        self._deadline = self._state.now + self._state.limits.linger_timeout_s
        self._intake.close()
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def drain(self) -> None:
        """Close when nothing is being answered, else after that; streams are told to end."""
        if self._writer is not None:
            self._writer.closing.set()
        elif self._running is None and self.phase in (Phase.IDLE, Phase.HEAD):
            self._close(linger=False)

    def evict(self) -> None:
        """Make room for somebody else: the peer is between two requests."""
        self._close(linger=False)

    @property
    def idle_deadline(self) -> float | None:
        """When the idle time-out strikes; None while the connection is in use."""
        return self._deadline if self.phase is Phase.IDLE else None

    @property
    def task(self) -> asyncio.Task[None] | None:
        """What answers a request now."""
        return self._task

    @property
    def is_streaming(self) -> bool:
        """A streamed body is being written."""
        return self._writer is not None

    def abort(self) -> None:
        """Cut the connection."""
        self._intake.is_closed = True
        self.is_gone = True
        self.phase = Phase.CLOSING
        if not self._is_lost:
            self._transport.abort()
