"""The server: listeners, the ticker behind every time-out, drain and close."""

import asyncio
import logging
import socket
import ssl
from types import TracebackType
from typing import Self

from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.http.acceptor import Acceptor, open_sockets, open_unix_socket
from quarterdeck.kit.http.limits import Limits
from quarterdeck.kit.http.message import Handler, Request
from quarterdeck.kit.http.server_connection import ServerConnection
from quarterdeck.kit.http.state import ErrorCallback, ServerState
from quarterdeck.kit.http.statistics import ServerStatistics

_log = logging.getLogger(__name__)
_CLOSING_TURNS = 100


class Listener:
    """An address a server listens on."""

    __slots__ = ("_acceptor", "host", "port", "secure")

    def __init__(self, host: str, port: int, *, secure: bool, acceptor: Acceptor) -> None:
        self.host = host
        self.port = port
        self.secure = secure
        self._acceptor = acceptor

    @property
    def url(self) -> str:
        """The address as the start of a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}"

    def stop(self) -> None:
        """Stop accepting, without waiting for it; connections stay."""
        self._acceptor.stop()

    async def close(self) -> None:
        """Stop accepting; connections stay."""
        await self._acceptor.close()


class Server:
    """Answers HTTP/1.1 requests by a handler, on any number of listeners."""

    def __init__(
        self,
        handler: Handler,
        *,
        limits: Limits | None = None,
        clock: Clock | None = None,
        on_error: ErrorCallback | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._state = ServerState(
            handler, limits or Limits(), clock=self._clock, on_error=on_error or _log_error
        )
        self._connected = asyncio.Event()
        self._state.on_change = self._on_change
        self._state.on_first = self._connected.set
        self._listeners: list[Listener] = []
        self._ticker: asyncio.Task[None] | None = None
        self._changed: asyncio.Event | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def listen(self, host: str, port: int, *, tls: ssl.SSLContext | None = None) -> Listener:
        """Listen on every address of `host`; port 0 takes a free one.

        Raises:
            OSError: the address is taken or not ours; `errno` tells which.
        """
        sockets = await open_sockets(host, port)
        return self._accept_on(sockets, tls=tls, host=host, port=sockets[0].getsockname()[1])

    async def listen_unix(self, path: str) -> Listener:
        """Listen on a Unix socket that only its owner may use.

        Raises:
            OSError: the path cannot be bound.
        """
        return self._accept_on([open_unix_socket(path)], tls=None, host=path, port=0)

    def _accept_on(
        self, sockets: list[socket.socket], *, tls: ssl.SSLContext | None, host: str, port: int
    ) -> Listener:
        self.start()
        acceptor = Acceptor(sockets, self._state, protocol=self.connect, tls=tls)
        listener = Listener(host, port, secure=tls is not None, acceptor=acceptor)
        self._listeners.append(listener)
        return listener

    def start(self) -> None:
        """Start the ticker; `listen` calls this too."""
        if self._ticker is None:
            self._ticker = asyncio.get_running_loop().create_task(self._tick(), name="http-ticker")

    def connect(self) -> ServerConnection:
        """A protocol for one accepted connection."""
        return ServerConnection(self._state)

    async def drain(self, timeout_s: float) -> None:
        """Stop accepting, wait for running requests, ask streams to end; cut off the rest.

        Streams cut off here still end with a proper last chunk. The server is closed afterwards,
        also if the caller is cancelled while it waits.
        """
        self._state.draining = True
        try:
            await self._stop_accepting()
            for connection in list(self._state.connections):
                connection.drain()
            if self._is_busy():
                await self._wait_quiet(timeout_s)
            await self._cancel_running()
            await self._wait_quiet(min(timeout_s, self._state.limits.linger_timeout_s))
        finally:
            await self.close()

    async def close(self) -> None:
        """Close everything at once; nothing stays open if the caller is cancelled meanwhile."""
        ticker, self._ticker = self._ticker, None
        try:
            await self._stop_accepting()
            await self._cancel_running()
        finally:
            for connection in list(self._state.connections):
                connection.abort()
            if ticker is not None:
                ticker.cancel()
        if ticker is not None:
            await asyncio.wait({ticker})
        for _ in range(_CLOSING_TURNS):  # the transports call connection_lost
            if not self._state.connections:
                break
            await asyncio.sleep(0)

    def statistics(self) -> ServerStatistics:
        """What is open now, and what happened since the start."""
        state = self._state
        return ServerStatistics(
            connections=len(state.connections),
            requests_running=len(state.running),
            streams_running=sum(connection.is_streaming for connection in state.running),
            connections_total=state.connections_total,
            requests_total=state.requests_total,
            responses_5xx_total=state.responses_5xx_total,
            handler_errors_total=state.handler_errors_total,
            malformed_total=state.malformed_total,
            timeouts_total=state.timeouts_total,
            handshake_failures_total=state.handshake_failures_total,
            evicted_total=state.evicted_total,
            bytes_written_total=state.bytes_written_total,
        )

    async def _stop_accepting(self) -> None:
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener.stop()
        for listener in listeners:
            await listener.close()

    async def _cancel_running(self) -> None:
        current = asyncio.current_task()
        tasks = [connection.task for connection in self._state.running]
        pending = {task for task in tasks if task is not None and task is not current}
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending)

    def _is_busy(self) -> bool:
        return bool(self._state.connections or self._state.running)

    async def _wait_quiet(self, timeout_s: float) -> None:
        """Wait until every connection is closed, at most `timeout_s` on the server's clock."""
        loop = asyncio.get_running_loop()
        alarm = loop.create_task(self._clock.sleep(timeout_s), name="http-drain-timeout")
        try:
            while self._is_busy() and not alarm.done():
                self._changed = asyncio.Event()
                change = loop.create_task(self._changed.wait(), name="http-drain")
                try:
                    await asyncio.wait({alarm, change}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    change.cancel()
        finally:
            self._changed = None
            alarm.cancel()

    def _on_change(self) -> None:
        if self._changed is not None:
            self._changed.set()

    async def _tick(self) -> None:
        """Apply time-outs for as long as there are connections; else wait for the first one."""
        state = self._state
        while True:
            if not state.connections:
                self._connected.clear()
                await self._connected.wait()
            await self._clock.sleep(state.limits.tick_s)
            state.read_clock()
            for connection in list(state.connections):
                connection.tick(state.now)


def _log_error(request: Request, error: BaseException) -> None:
    _log.error(
        "handler failed", exc_info=error, extra={"method": request.method, "path": request.path}
    )
