"""The receiving half of a server connection: parsing, back-pressure, limits and time-outs."""

import asyncio
from collections import deque
from typing import Protocol

from quarterdeck.kit.http.body_buffer import BodyBuffer
from quarterdeck.kit.http.errors import BodyTimeout, HttpError
from quarterdeck.kit.http.message import Request
from quarterdeck.kit.http.parse import Malformed, RequestReader
from quarterdeck.kit.http.state import ServerState

SLICE = 16 * 1024
"""Bytes parsed at once, which bounds how many requests one read can bring."""


class Owner(Protocol):
    """The connection, as its receiver sees it."""

    @property
    def waiting(self) -> int:
        """Requests that wait for their turn."""
        ...

    def take_request(self, request: Request) -> None:
        """A request's head is complete."""
        ...

    def take_malformed(self, problem: Malformed) -> None:
        """The peer sent something else than a request; nothing more will be parsed."""
        ...

    def on_body_discarded(self) -> None:
        """The unread body of an answered request has been read and dropped."""
        ...

    def abort(self) -> None:
        """Cut the connection."""
        ...


class Receiver:
    """Parses requests and holds the one body that is on its way in.

    The socket is read only while its data can be used: not while too many requests wait,
    and not while a handler is far behind with its body.
    """

    __slots__ = (
        "_discard_left",
        "_got",
        "_owner",
        "_reader",
        "_since",
        "_stash",
        "_state",
        "_transport",
        "incoming",
        "is_closed",
        "is_paused",
        "received",
    )

    def __init__(self, owner: Owner, state: ServerState) -> None:
        self._owner = owner
        self._state = state
        self._reader = RequestReader(self, state.limits, state.names)
        self._transport: asyncio.Transport | None = None
        self._stash: deque[bytes] = deque()
        self.is_paused = False
        """Bytes are left with the peer."""
        self._since = 0.0
        self._got = 0
        self._discard_left: int | None = None
        self.incoming: Request | None = None
        """The request whose body is still arriving."""
        self.received = 0
        """How much of that body has arrived."""
        self.is_closed = False
        """Input is dropped from now on."""

    @property
    def is_inside_head(self) -> bool:
        """A request has begun whose header is not complete."""
        return self._reader.is_inside_head

    def attach(self, transport: asyncio.Transport) -> None:
        """Set the transport, whose reading is paused and resumed."""
        self._transport = transport

    def detach(self) -> None:
        """Release the transport: the connection is lost."""
        self._transport = None

    def receive(self, data: bytes) -> None:
        """Parse what arrived, in slices."""
        if self.is_closed:
            return
        if self._stash or len(data) > SLICE:
            self._stash.extend(data[at : at + SLICE] for at in range(0, len(data), SLICE))
            self._parse_stash()
        else:
            self._parse(data)

    def close(self) -> None:
        """Drop all further input, reading it on so that the peer can finish."""
        self.is_closed = True
        self._stash.clear()
        self._pause(wanted=False)

    def fail(self, error: HttpError) -> None:
        """Fail the body that is arriving; its request is the last one of the connection."""
        incoming, self.incoming = self.incoming, None
        if incoming is not None and incoming.body_buffer is not None:
            incoming.keep_alive = False
            incoming.body_buffer.fail(error)

    def discard(self) -> None:
        """Drop the rest of the body of an answered request, up to a limit."""
        self.incoming = None
        self._discard_left = self._state.limits.drain_bytes
        self.update()

    def restart_clock(self) -> None:
        """Measure the rate of the peer from now on, as its bytes were not read until now."""
        self._since = self._state.now
        self._got = 0

    def check(self, now: float) -> None:
        """Fail a body that arrives too slowly."""
        incoming = self.incoming
        if incoming is None or self.is_paused or incoming.expects_continue:
            return
        limits = self._state.limits
        deadline = self._since + limits.body_timeout_s
        if limits.body_rate:
            deadline += self._got / limits.body_rate
        elif self._got:
            self._since, self._got = now, 0
            return
        if now > deadline:
            self._state.timeouts_total += 1
            self.fail(BodyTimeout("the request body was not received in time"))

    def update(self) -> None:
        """Pause or resume reading from the socket, as the queue and the body buffer require."""
        incoming = self.incoming
        wanted = self._owner.waiting >= self._state.limits.pipeline or (
            incoming is not None
            and incoming.body_buffer is not None
            and incoming.body_buffer.is_full
        )
        if wanted == self.is_paused:
            return
        if wanted:
            self._pause(wanted=True)
            return
        self.is_paused = False
        self.restart_clock()
        self._parse_stash()
        if not self.is_paused:
            self.is_paused = True
            self._pause(wanted=False)

    def hold(self) -> None:
        """Stop reading from the socket: used by the tunnel after an upgrade."""
        self._pause(wanted=True)

    def resume(self) -> None:
        """Go on reading after `hold`."""
        self._pause(wanted=False)

    def _pause(self, *, wanted: bool) -> None:
        transport = self._transport
        if wanted == self.is_paused or transport is None:
            return
        self.is_paused = wanted
        if transport.is_closing():
            return
        if wanted:
            transport.pause_reading()
        else:
            transport.resume_reading()

    def _parse_stash(self) -> None:
        while self._stash and not self.is_paused and not self.is_closed:
            self._parse(self._stash.popleft())

    def _parse(self, data: bytes) -> None:
        try:
            self._reader.feed(data)
        except Malformed as problem:
            self._state.malformed_total += 1
            self.is_closed = True
            if self.incoming is not None:
                self.fail(problem)
            else:
                self._owner.take_malformed(problem)

    # --- RequestSink ----------------------------------------------------------------------------

    def on_request(self, request: Request) -> None:
        """A request's head is complete."""
        if self.is_closed:
            return
        if request.has_body:
            request.body_buffer = BodyBuffer(
                self._state.limits.buffer_bytes, self.update, self.update
            )
            self.incoming = request
            self.received = 0
            self.restart_clock()
        self._owner.take_request(request)

    def on_whole_request(self, request: Request, body: bytes) -> None:
        """A request is complete with its body."""
        if self.is_closed:
            return
        request.body_buffer = body_buffer = BodyBuffer(
            self._state.limits.buffer_bytes, self.update, self.update
        )
        body_buffer.feed(body)
        body_buffer.finish()
        self._owner.take_request(request)

    def on_data(self, data: bytes) -> None:
        """Receive body bytes for the newest request; they are dropped if it is answered already."""
        size = len(data)
        self._got += size
        self.received += size
        incoming = self.incoming
        if incoming is not None and incoming.body_buffer is not None:
            incoming.expects_continue = False
            incoming.body_buffer.feed(data)
        elif self._discard_left is not None:
            self._discard_left -= size
            if self._discard_left < 0:
                self._owner.abort()

    def on_end(self) -> None:
        """The newest request is complete."""
        incoming, self.incoming = self.incoming, None
        if incoming is not None and incoming.body_buffer is not None:
            incoming.body_buffer.finish()
        elif self._discard_left is not None:
            self._discard_left = None
            if not self.is_closed:
                self._owner.on_body_discarded()
