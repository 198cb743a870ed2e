"""Connections kept open for one origin."""

import asyncio
import contextlib
from collections import deque
from contextlib import AbstractAsyncContextManager

from quarterdeck.kit.http.client_connection import ClientConnection
from quarterdeck.kit.http.dialer import Dialer
from quarterdeck.kit.http.errors import ConnectionClosed, PoolTimeout
from quarterdeck.kit.http.limits import ClientLimits
from quarterdeck.kit.http.origin import Origin
from quarterdeck.kit.timer import Handle, Timers, timeout_at


class Pool:
    """At most `size` connections to an origin; the one used last is used next.

    When all are busy, callers wait in order. A connection that ends makes room for the first.
    """

    def __init__(
        self,
        origin: Origin,
        dialer: Dialer,
        *,
        size: int,
        limits: ClientLimits,
        wait_s: float,
        timers: Timers,
    ) -> None:
        self.origin = origin
        self.dialed = 0
        self._dialer = dialer
        self._size = size
        self._limits = limits
        self._wait_s = wait_s
        self._idle: list[ClientConnection] = []
        self._open: set[ClientConnection] = set()
        self._waiting: deque[asyncio.Future[ClientConnection | None]] = deque()
        self._loop = asyncio.get_running_loop()
        self._timers = timers
        self.time = timers.time
        self._sweeper: Handle | None = None

    def timeout_at(self, when: float) -> AbstractAsyncContextManager[None]:
        """Cancel a block at a time of this pool's timers."""
        return timeout_at(self._timers, when)

    def take_idle(self) -> ClientConnection | None:
        """A connection that is open and unused."""
        idle = self._idle
        while idle:
            connection = idle.pop()
            if connection.is_usable:
                return connection
        return None

    async def acquire(self, *, fresh: bool = False) -> ClientConnection:
        """An unused connection, or a new one, or the next that becomes free.

        Raises:
            ConnectError: a new connection was needed and failed.
            PoolTimeout: all connections stayed busy.
        """
        if fresh:
            self._drop_idle()
        while True:
            if not fresh and (connection := self.take_idle()) is not None:
                return connection
            if len(self._open) < self._size:
                return await self._dial()
            handed = await self._wait()
            if handed is not None and handed.is_usable:
                return handed

    async def _dial(self) -> ClientConnection:
        connection = ClientConnection(
            self._limits, on_free=self._on_free, on_gone=self._on_gone, timers=self._timers
        )
        self._open.add(connection)
        try:
            await self._dialer.dial(self.origin, connection)
        except BaseException:
            connection.abort()
            self._on_gone(connection)
            raise
        self.dialed += 1
        return connection

    async def _wait(self) -> ClientConnection | None:
        turn: asyncio.Future[ClientConnection | None] = self._loop.create_future()
        self._waiting.append(turn)
        try:
            async with timeout_at(self._timers, self.time() + self._wait_s):
                return await turn
        except TimeoutError:
            self._give_up(turn)
            raise PoolTimeout(
                f"all {self._size} connections to {self.origin.authority} stayed busy"
                f" for {self._wait_s:g} s"
            ) from None
        except asyncio.CancelledError:
            self._give_up(turn)
            raise

    def _give_up(self, turn: "asyncio.Future[ClientConnection | None]") -> None:
        """Leave the queue; what the caller was given at the last moment goes to the next one."""
        if turn.cancelled():
            with contextlib.suppress(ValueError):  # skipped by others meanwhile
                self._waiting.remove(turn)
        elif turn.done() and turn.exception() is None:
            self._return_unused(turn.result())

    def _return_unused(self, handed: ClientConnection | None) -> None:
        """Take back what was given to a caller that has been cancelled or timed out."""
        if handed is None or not handed.is_usable:
            self._give_to_waiter(None)
        else:
            self._on_free(handed)

    def _on_free(self, connection: ClientConnection) -> None:
        if not self._give_to_waiter(connection):
            self._idle.append(connection)
            if self._sweeper is None:
                self._sweeper = self._timers.call_at(
                    self.time() + self._limits.idle_timeout_s, self._close_idle
                )

    def _on_gone(self, connection: ClientConnection) -> None:
        if connection in self._open:
            self._open.discard(connection)
            self._give_to_waiter(None)

    def _give_to_waiter(self, connection: ClientConnection | None) -> bool:
        """Give a connection, or permission to open one, to the caller that has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(connection)
                return True
        return False

    def _close_idle(self) -> None:
        """Close connections that have been idle for too long.

        The same sum decides which are due and when the timer fires next: with another formula a
        rounding error could set the timer to a time that has passed, again and again.
        """
        self._sweeper = None
        now, timeout_s = self.time(), self._limits.idle_timeout_s
        expired = [each for each in self._idle if each.idle_since + timeout_s <= now]
        self._idle = [each for each in self._idle if each.idle_since + timeout_s > now]
        for connection in expired:
            connection.close()
        if self._idle:
            due = min(each.idle_since for each in self._idle) + timeout_s
            self._sweeper = self._timers.call_at(due, self._close_idle)

    def _drop_idle(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    async def close(self) -> None:
        """Cut every connection and wait until they are gone."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        self._idle.clear()
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(ConnectionClosed("the client was closed"))
        connections = list(self._open)
        for connection in connections:
            connection.abort()
        for connection in connections:
            await connection.wait_closed()

    @property
    def counts(self) -> tuple[int, int, int]:
        """Open connections, idle ones, and callers that wait."""
        return len(self._open), len(self._idle), len(self._waiting)
