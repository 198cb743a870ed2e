"""One server connection: its requests in turn, its time-outs, and how it is closed.

The receiver parses and calls back synchronously from `data_received`. One request is answered at a
time; what a client sends ahead waits in a short queue, then in the socket. A ticker of the server
calls `tick` every now and then: no request pays for a timer.
"""

import asyncio
import enum
from collections import deque
from typing import cast

from quarterdeck.kit.http.encode import CONTINUE
from quarterdeck.kit.http.errors import ConnectionClosed
from quarterdeck.kit.http.message import Peer, Request
from quarterdeck.kit.http.parse import Malformed
from quarterdeck.kit.http.peer import get_peer
from quarterdeck.kit.http.receiver import Receiver
from quarterdeck.kit.http.responder import Responder
from quarterdeck.kit.http.send_buffer import SendBuffer
from quarterdeck.kit.http.server_response import build_refusal, encode_response
from quarterdeck.kit.http.state import ServerState


class Phase(enum.Enum):
    """What the connection waits for, and so which time-out applies."""

    IDLE = "idle"
    HEAD = "head"
    ANSWER = "answer"
    DISCARD = "discard"
    LINGER = "linger"
    CLOSING = "closing"


_IDLE, _HEAD, _ANSWER = Phase.IDLE, Phase.HEAD, Phase.ANSWER
"""Aliases, because looking up the member of an enumeration is slow."""


class ServerConnection(asyncio.Protocol):
    """The protocol instance of one accepted connection."""

    __slots__ = (
        "_deadline",
        "_disconnection",
        "_eof",
        "_is_lost",
        "_out",
        "_peer",
        "_queue",
        "_receiver",
        "_responder",
        "_state",
        "_transport",
        "body_limit",
        "phase",
    )

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self.body_limit = state.limits.body_bytes
        """The longest body the server accepts at all."""
        self._receiver = Receiver(self, state)
        self._out = SendBuffer(state)
        self._responder = Responder(self, state, receiver=self._receiver, out=self._out)
        self._transport: asyncio.Transport
        self._peer: Peer
        self.phase = _HEAD
        self._deadline = 0.0
        self._queue: deque[Request | Malformed] = deque()
        self._is_lost = False
        self._eof = False
        self._disconnection: asyncio.Future[None] | None = None

    # --- the transport's side -------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection, its TLS handshake included, is there."""
        self._transport = cast("asyncio.Transport", transport)
        self._out.attach(self._transport)
        self._receiver.attach(self._transport)
        self._peer = get_peer(transport)
        self._state.add_connection(self)
        self._deadline = self._state.now + self._state.limits.header_timeout_s

    def data_received(self, data: bytes) -> None:
        """Bytes arrived."""
        if self._responder.tunnel is not None:
            self._responder.tunnel.feed(data)
            return
        if self.phase is _IDLE:
            self.phase = _HEAD
            self._deadline = self._state.now + self._state.limits.header_timeout_s
        self._receiver.receive(data)

    def eof_received(self) -> bool:
        """The peer sends no more; it may still read, so answers under way are completed."""
        self._eof = True
        self._out.is_gone = self._peer.secure  # TLS connections have no half-closed state
        self._receiver.is_closed = True
        self._notify_disconnect()
        return not self._peer.secure and not self._is_resting

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing can be read or written any more."""
        self._out.is_gone = True
        self._is_lost = True
        self._queue.clear()
        self._receiver.close()
        self._notify_disconnect()
        self._out.unblock()
        self._release_transport()
        self._state.connections.discard(self)
        self._state.on_change()

    def _release_transport(self) -> None:
        """Free the transport now: with TLS it holds 256 KB, and our own parts are a cycle."""
        self._receiver.detach()
        self._out.detach()
        del self._transport

    def _notify_disconnect(self) -> None:
        """Notify the handler that the peer has disconnected or sends no more."""
        self._receiver.fail(
            ConnectionClosed("the peer closed the connection within the request body")
        )
        if self._disconnection is not None and not self._disconnection.done():
            self._disconnection.set_result(None)
        self._responder.orphan()

    def pause_writing(self) -> None:
        """The transport holds more than its limit."""
        self._out.block()

    def resume_writing(self) -> None:
        """The transport has room again."""
        self._out.unblock()

    # --- called by the receiver -----------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Requests that wait for their turn."""
        return len(self._queue)

    def take_request(self, request: Request) -> None:
        """Answer a request, or queue it behind the one being answered."""
        request.peer = self._peer
        request.carrier = self
        if self._responder.request is None and not self._queue:
            self._start(request)
        else:
            self._queue.append(request)
            self._receiver.update()

    def take_malformed(self, problem: Malformed) -> None:
        """Refuse a malformed request, after the requests before it are answered."""
        if self.phase is Phase.DISCARD:
            self._close(linger=True)
        elif self._is_resting:
            self._refuse(problem.status)
        else:
            self._queue.append(problem)

    def on_body_discarded(self) -> None:
        """Continue with the next request after a dropped body."""
        if self.phase is Phase.DISCARD:
            self._await_next_request()

    # --- between two requests -------------------------------------------------------------------

    @property
    def _is_resting(self) -> bool:
        """No request is being answered, and none is queued."""
        return self._responder.request is None and not self._queue

    def _start(self, request: Request) -> None:
        self.phase = _ANSWER
        self._state.running.add(self)
        self._responder.start(request)

    def finish(self, request: Request) -> None:
        """After a response: close, drop an unread body, or await the next request."""
        self._state.running.discard(self)
        if self._out.is_gone:
            self._state.on_change()
            return
        unread = self._receiver.incoming is request
        if self._responder.is_last:
            self._close(
                linger=unread or (request.body_buffer is not None and request.body_buffer.is_failed)
            )
        elif unread:
            self.phase = Phase.DISCARD
            self._deadline = self._state.now + self._state.limits.body_timeout_s
            self._receiver.discard()
        else:
            self._await_next_request()

    def _await_next_request(self) -> None:
        """Between two requests: take the next one, or wait for it."""
        if self._queue:
            following = self._queue.popleft()
            if isinstance(following, Malformed):
                self._refuse(following.status)
                return
            self._start(following)
            self._receiver.update()
        elif self._eof or self._state.draining:
            self._close(linger=False)
        else:
            receiver, limits = self._receiver, self._state.limits
            inside = receiver.is_inside_head
            self.phase = _HEAD if inside else _IDLE
            wait = limits.header_timeout_s if inside else limits.idle_timeout_s
            self._deadline = self._state.now + wait
            if receiver.is_paused:
                receiver.update()

    # --- Carrier --------------------------------------------------------------------------------

    def want_body(self, request: Request) -> None:
        """The handler is about to read."""
        if request.expects_continue:
            request.expects_continue = False
            self._receiver.restart_clock()
            self._out.put(CONTINUE)

    def disconnection(self) -> asyncio.Future[None]:
        """Resolves when the peer is gone."""
        if self._disconnection is None:
            self._disconnection = asyncio.get_running_loop().create_future()
            if self._eof or self._out.is_gone:
                self._disconnection.set_result(None)
        return self._disconnection

    # --- ends -----------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        """Apply the time-outs."""
        if self.phase is _ANSWER:
            self._receiver.check(now)
        elif now > self._deadline and self.phase is not Phase.CLOSING:
            self._expire()
        if self._out.is_stalled(now):
            self._state.timeouts_total += 1
            self.abort()

    def _expire(self) -> None:
        phase = self.phase
        if phase is _HEAD and self._receiver.is_inside_head:
            self._state.timeouts_total += 1
            self._refuse(408)
        elif phase is _IDLE or phase is _HEAD:
            self._close(linger=False)
        else:
            self.abort()

    def _refuse(self, status: int) -> None:
        """Answer what could not be understood, and close."""
        answer = encode_response(None, build_refusal(status), date=self._state.date, keep=False)
        self._out.put(b"".join(answer))
        self._close(linger=True)

    def _close(self, *, linger: bool) -> None:
        """Close; with `linger`, input is dropped first, since a reset could destroy the answer."""
        self._receiver.is_closed = True
        if self._out.is_gone:
            return
        if not linger or self._eof:
            self.phase = Phase.CLOSING
            self._transport.close()
            return
        self.phase = Phase.LINGER
        self._deadline = self._state.now + self._state.limits.linger_timeout_s
        self._receiver.close()
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def drain(self) -> None:
        """Close now if idle, else after the current response; streams are asked to end."""
        if self._responder.request is not None:
            self._responder.end_stream()
        elif self.phase in (_IDLE, _HEAD):
            self._close(linger=False)

    def evict(self) -> None:
        """Close an idle connection to make room for another."""
        self._close(linger=False)

    @property
    def idle_deadline(self) -> float | None:
        """When the idle time-out strikes; None while the connection is in use."""
        return self._deadline if self.phase is _IDLE else None

    @property
    def task(self) -> asyncio.Task[None] | None:
        """What answers a request now."""
        return self._responder.task

    @property
    def is_streaming(self) -> bool:
        """A streamed body is being written."""
        return self._responder.writer is not None

    def abort(self) -> None:
        """Cut the connection."""
        self._receiver.is_closed = True
        self._out.is_gone = True
        self.phase = Phase.CLOSING
        if not self._is_lost:
            self._transport.abort()
