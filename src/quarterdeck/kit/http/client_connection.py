"""One client connection: a request out, a response in, one at a time."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from quarterdeck.kit.http.body_buffer import BodyBuffer
from quarterdeck.kit.http.encode import LAST_CHUNK, encode_chunk
from quarterdeck.kit.http.errors import (
    ConnectionClosed,
    HttpError,
    ProtocolError,
    ReadTimeout,
    TlsError,
)
from quarterdeck.kit.http.headers import Headers
from quarterdeck.kit.http.limits import ClientLimits
from quarterdeck.kit.http.response import ClientResponse
from quarterdeck.kit.timer import LazyTimer, Timers

_NEVER = float("inf")
_NAMES_KEPT = 64
_BLANKS = (b" ", b"\t")


class ClientConnection(asyncio.Protocol):
    """The protocol instance of one connection to a server or proxy.

    Between two exchanges it is in the pool.
    """

    __slots__ = (
        "_body_buffer",
        "_heard_at",
        "_is_head",
        "_is_interim",
        "_keep_alive",
        "_limits",
        "_loop",
        "_lost",
        "_names",
        "_on_free",
        "_on_gone",
        "_pairs",
        "_parser",
        "_pump",
        "_read_timeout_s",
        "_reason",
        "_response",
        "_time",
        "_timer",
        "_total_at",
        "_transport",
        "_unparsed",
        "_until_eof",
        "_waiter",
        "_writable",
        "has_answered",
        "idle_since",
        "is_gone",
        "served",
    )

    def __init__(
        self,
        limits: ClientLimits,
        *,
        on_free: "Callable[[ClientConnection], None]",
        on_gone: "Callable[[ClientConnection], None]",
        timers: Timers | None = None,
    ) -> None:
        self._limits = limits
        self._on_free = on_free
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = HttpResponseParser(self)
        self._pairs: list[tuple[str, str]] = []
        self._reason = ""
        self._names: dict[bytes, str] = {}
        self._waiter: asyncio.Future[ClientResponse] | None = None
        self._response: ClientResponse | None = None
        self._body_buffer: BodyBuffer | None = None
        self._pump: asyncio.Task[None] | None = None
        timers = timers or self._loop
        self._time = timers.time
        self._timer = LazyTimer(timers, self._on_timer)
        self._heard_at = 0.0
        self._total_at = _NEVER
        self._read_timeout_s: float | None = None
        self._is_head = False
        self._is_interim = False
        self._keep_alive = False
        self._until_eof = False
        self._unparsed = 0
        self._writable: asyncio.Event | None = None
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self.is_gone = False
        self.has_answered = False
        self.idle_since = 0.0
        self.served = 0

    # --- an exchange ----------------------------------------------------------------------------

    async def exchange(
        self,
        data: bytes,
        *,
        method: str,
        stream: AsyncIterator[bytes] | None,
        read_timeout_s: float | None,
        total_at: float,
    ) -> ClientResponse:
        """Send a request and wait for the head of its response.

        Raises:
            HttpError: the connection ended, timed out, or the response is not HTTP.
        """
        if self._transport is None or self.is_gone:
            raise ConnectionClosed("the connection was closed before the request was sent")
        self._is_head = method == "HEAD"
        self.has_answered = False
        self._read_timeout_s = read_timeout_s
        self._total_at = total_at
        self._heard_at = self._time()
        waiter: asyncio.Future[ClientResponse] = self._loop.create_future()
        self._waiter = waiter
        self._transport.write(data)
        if stream is not None:
            self._pump = self._loop.create_task(self._send(stream), name="http-request-body")
        self._timer.arm(self._next_deadline())
        try:
            return await waiter
        except BaseException:
            # The connection may already serve another request: change only our own state.
            if self._waiter is waiter:
                self.abort()
            elif not waiter.cancelled() and waiter.exception() is None:
                self.abandon(waiter.result())
            raise

    async def _send(self, stream: AsyncIterator[bytes]) -> None:
        """Send a streamed request body; a failing stream fails the exchange."""
        try:
            async for data in stream:
                if self.is_gone or self._transport is None:
                    return
                if data:
                    self._transport.write(encode_chunk(data))
                    await asyncio.sleep(0)  # the loop reports a lost connection
                while self._writable is not None:
                    await self._writable.wait()
            if self._transport is not None:
                self._transport.write(LAST_CHUNK)
        except Exception as error:
            self._fail(error)
            self.abort()
        finally:
            self._pump = None
            if self._body_buffer is not None and self._body_buffer.is_ended:
                self._complete()

    def abandon(self, response: ClientResponse) -> None:
        """Give up the rest of a body; closes the connection if the body is incomplete."""
        if self._response is response:
            self.abort()

    # --- the transport's side -------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection, its TLS handshake included, is there."""
        self._transport = cast("asyncio.Transport", transport)
        if self._lost.done():
            self._transport.abort()
            return
        self._transport.set_write_buffer_limits(high=self._limits.write_buffer_bytes)

    def data_received(self, data: bytes) -> None:
        """Bytes arrived."""
        if self._waiter is None and self._response is None:
            self.abort()  # a server has nothing to say between two requests
            return
        self._heard_at = self._time()
        self._unparsed += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if self._response is not None or self._waiter is not None:
                self._fail_protocol(f"the response is not valid HTTP/1.1: {error}")
            else:
                self.abort()
            return
        if self._unparsed > self._limits.header_bytes:
            self._fail_protocol(f"the response header exceeds {self._limits.header_bytes} bytes")

    def eof_received(self) -> bool:
        """The server closed its side; a body without a length ends here."""
        if self._until_eof and self._body_buffer is not None:
            self._body_buffer.finish()
            self._complete()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing can be read or written any more."""
        self.is_gone = True
        if isinstance(exc, ssl.SSLError):
            self._fail(TlsError(f"the TLS connection failed: {exc.reason or exc}"))
        else:
            self._fail(
                ConnectionClosed(
                    "the server closed the connection before the response was complete"
                )
            )
        self._timer.disarm()
        if self._pump is not None:
            self._pump.cancel()
        self.resume_writing()
        if not self._lost.done():
            self._lost.set_result(None)
        self._transport = None  # its TLS buffers must not wait until this cycle is collected
        self._on_gone(self)

    def pause_writing(self) -> None:
        """The transport holds more than its limit."""
        self._writable = asyncio.Event()

    def resume_writing(self) -> None:
        """The transport has room again."""
        if self._writable is not None:
            self._writable.set()
            self._writable = None

    # --- the parser's side ----------------------------------------------------------------------

    def on_status(self, data: bytes) -> None:
        """Part of the text after the status."""
        self._reason += data.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header field, or a trailer after the body."""
        lower = self._names.get(name) or self._lower(name)
        if value[-1:] in _BLANKS:
            value = value.rstrip(b" \t")
        self._pairs.append((lower, value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        """A head is complete: interim answers are skipped, the final one is handed out."""
        pairs, self._pairs = self._pairs, []
        reason, self._reason = self._reason, ""
        self._unparsed = 0
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            if status == 101:
                raise ProtocolError(
                    "the server switched protocols, which the request did not ask for"
                )
            self._is_interim = True
            return
        waiter = self._waiter
        if waiter is None or waiter.done() or self._response is not None:
            raise ProtocolError("unexpected response: no request is outstanding")
        if len(pairs) > self._limits.header_count:
            raise ProtocolError(f"more than {self._limits.header_count} header fields")
        headers = Headers.of_lower(pairs)
        self.has_answered = True
        self._keep_alive = self._parser.should_keep_alive()
        self._until_eof = self._has_no_length(status, headers)
        self._body_buffer = BodyBuffer(self._limits.buffer_bytes, self._pause, self._resume)
        self._response = ClientResponse(
            status,
            headers,
            body_buffer=self._body_buffer,
            source=self,
            body_limit=self._limits.body_bytes,
            reason=reason,
        )
        self._waiter = None
        waiter.set_result(self._response)
        if self._is_head:
            self._body_buffer.finish()
            self._parser = HttpResponseParser(self)  # llhttp would wait for the body
            self._complete()

    def on_body(self, data: bytes) -> None:
        """Part of the body."""
        self._unparsed = 0
        if self._body_buffer is None:
            raise ProtocolError("unexpected body in a response that must not have one")
        self._body_buffer.feed(data)

    def on_message_complete(self) -> None:
        """The response is complete, trailers included, which are dropped."""
        self._unparsed = 0
        self._pairs.clear()
        if self._is_interim:
            self._is_interim = False
        elif self._body_buffer is not None:
            self._body_buffer.finish()
            self._complete()

    def _lower(self, name: bytes) -> str:
        lower = name.decode("latin-1").lower()
        if len(self._names) < _NAMES_KEPT and len(name) < 64:
            self._names[name] = lower
        return lower

    def _has_no_length(self, status: int, headers: Headers) -> bool:
        if self._is_head or status in (204, 304) or headers.get("content-length") is not None:
            return False
        coding = headers.get("transfer-encoding")
        if coding is not None and coding.lower() != "chunked":
            raise ProtocolError("unsupported Transfer-Encoding: only chunked is supported")
        return coding is None

    def _complete(self) -> None:
        """The response is complete: return to the pool if the connection can be used again."""
        if self._pump is not None:
            if self._response is None or self._response.status < 400:
                return  # the rest of the body is still wanted
            self._pump.cancel()
            self._keep_alive = False
        if self._body_buffer is not None and self._body_buffer.is_full:
            self._resume()  # nobody may ever read this body, but the next response must arrive
        self._response = None
        self._body_buffer = None
        self._total_at = _NEVER
        if self.is_gone or not self._keep_alive or self._until_eof:
            self.close()
            return
        self.served += 1
        self.idle_since = self._heard_at
        self._on_free(self)

    def _pause(self) -> None:
        if self._transport is not None and not self.is_gone:
            self._transport.pause_reading()

    def _resume(self) -> None:
        self._heard_at = self._time()
        if self._transport is not None and not self.is_gone:
            self._transport.resume_reading()

    # --- time -----------------------------------------------------------------------------------

    def _next_deadline(self) -> float:
        if self._read_timeout_s is None:
            return self._total_at
        return min(self._total_at, self._heard_at + self._read_timeout_s)

    def _on_timer(self) -> None:
        if self._waiter is None and self._response is None:
            return
        now = self._time()
        if self._body_buffer is not None and self._body_buffer.is_full:
            self._heard_at = now  # it is our side that is slow
        if (due := self._next_deadline()) > now:
            self._timer.arm(due)
            return
        if self._total_at <= now:
            self._fail(ReadTimeout("request timed out: the total timeout has expired"))
        else:
            self._fail(ReadTimeout(f"no data from the server for {self._read_timeout_s:g} s"))
        self.abort()

    # --- ends -----------------------------------------------------------------------------------

    @property
    def is_usable(self) -> bool:
        """Another request can be sent."""
        return not self.is_gone and self._transport is not None and not self._transport.is_closing()

    def _fail_protocol(self, problem: str) -> None:
        self._fail(ProtocolError(problem))
        self.abort()

    def _fail(self, error: Exception) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        if self._body_buffer is not None:
            self._body_buffer.fail(
                error
                if isinstance(error, HttpError)
                else ConnectionClosed(f"the request body failed: {error}")
            )
        self._response = None
        self._body_buffer = None

    def close(self) -> None:
        """Close after what is being written has been sent."""
        self._timer.disarm()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Cut the connection."""
        self._timer.disarm()
        self._fail(ConnectionClosed("the connection was closed before the response was complete"))
        if self._pump is not None:
            self._pump.cancel()
        if self._transport is None:
            self.is_gone = True
            if not self._lost.done():
                self._lost.set_result(None)
        elif not self.is_gone:
            self._transport.abort()

    async def wait_closed(self) -> None:
        """Wait until the transport has closed the connection."""
        await self._lost
