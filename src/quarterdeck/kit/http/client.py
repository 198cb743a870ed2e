"""The client: requests over pooled connections."""

import ssl
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import Final, Self

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http.client_connection import ClientConnection
from quarterdeck.kit.http.dialer import Dialer, SocketDialer
from quarterdeck.kit.http.encode import EncodedHeaders, format_headers
from quarterdeck.kit.http.errors import ConnectionClosed, ConnectTimeout
from quarterdeck.kit.http.limits import ClientLimits
from quarterdeck.kit.http.origin import Origin, parse_origin, split_url
from quarterdeck.kit.http.pool import Pool
from quarterdeck.kit.http.response import ClientResponse
from quarterdeck.kit.http.statistics import ClientStatistics
from quarterdeck.kit.timer import ClockTimers, Timers, choose_timers

Body = bytes | AsyncIterator[bytes] | None
Fields = Iterable[tuple[str, str]] | EncodedHeaders

DEFAULT: Final = -1.0
"""An unset time-out: that of the client applies."""

_NEVER = float("inf")
_IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"})
_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})


class Client:
    """Sends requests; keeps connections for the next ones.

    One client serves any number of tasks of one event loop and any number of servers. Redirects
    and cookies are left to the caller.
    """

    def __init__(
        self,
        *,
        tls: ssl.SSLContext | None = None,
        proxy: str | None = None,
        server_name: str | None = None,
        pool: int = 64,
        limits: ClientLimits | None = None,
        connect_timeout_s: float = 10.0,
        read_timeout_s: float | None = 30.0,
        dialer: Dialer | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`clock` measures every time-out; by default it is the event loop's."""
        self._clock = clock
        self._timers: Timers | None = None
        self._dialer = dialer or SocketDialer(
            tls=tls, proxy=proxy, server_name=server_name, timeout_s=connect_timeout_s, clock=clock
        )
        self._size = pool
        self._limits = limits or ClientLimits()
        self._connect_timeout_s = connect_timeout_s
        self._read_timeout_s = read_timeout_s
        self._pools: dict[str, Pool] = {}
        self._by_origin: dict[Origin, Pool] = {}
        self._requests = 0
        self._retries = 0
        self._is_closed = False

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Fields = (),
        body: Body = None,
        timeout_s: float | None = None,
        read_timeout_s: float | None = DEFAULT,
    ) -> ClientResponse:
        """Send a request and return when the head of the response is there.

        `timeout_s` bounds the whole request, connecting and the body included; `read_timeout_s`
        the silence of the server (None for streams that may be quiet). A request that a stale
        pooled connection swallowed is sent again, once, if its method is idempotent and its body
        is not a stream.

        Raises:
            ValueError: the URL or a header field is malformed.
            ConnectError: no connection came about.
            PoolTimeout: all connections to the server stayed busy.
            ReadTimeout: the response did not arrive in time.
            ConnectionClosed: the connection ended before the response did.
            ProtocolError: the server's answer is not HTTP/1.1.
        """
        prefix, target = split_url(url)
        pool = self._pools.get(prefix) or self._add_pool(prefix)
        stream = None if body is None or isinstance(body, bytes) else body
        data = self._encode(pool.origin, method, target=target, headers=headers, body=body)
        silence = self._read_timeout_s if read_timeout_s == DEFAULT else read_timeout_s
        self._requests += 1
        if timeout_s is None:
            total_at = _NEVER
            connection = pool.take_idle() or await pool.acquire()
        else:
            total_at = pool.time() + timeout_s
            connection = pool.take_idle() or await self._acquire_until(pool, total_at)
        is_reused = connection.served > 0
        try:
            return await connection.exchange(
                data, method=method, stream=stream, read_timeout_s=silence, total_at=total_at
            )
        except ConnectionClosed:
            may_retry = is_reused and method in _IDEMPOTENT and stream is None
            if not may_retry or connection.has_answered or self._is_closed:
                raise
        self._retries += 1
        connection = await self._acquire_until(pool, total_at, fresh=True)
        return await connection.exchange(
            data, method=method, stream=None, read_timeout_s=silence, total_at=total_at
        )

    async def aclose(self) -> None:
        """Close every connection; requests under way fail with `ConnectionClosed`."""
        self._is_closed = True
        pools = list(self._by_origin.values())
        self._pools.clear()
        self._by_origin.clear()
        for pool in pools:
            await pool.close()
        if isinstance(self._timers, ClockTimers):
            await self._timers.close()

    def statistics(self) -> ClientStatistics:
        """What is open now, and what happened since the start."""
        pools = list(self._by_origin.values())
        counts = [pool.counts for pool in pools]
        return ClientStatistics(
            connections=sum(count[0] for count in counts),
            idle=sum(count[1] for count in counts),
            waiting=sum(count[2] for count in counts),
            connections_total=sum(pool.dialed for pool in pools),
            requests_total=self._requests,
            retries_total=self._retries,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _add_pool(self, prefix: str) -> Pool:
        """Get or create the pool of an origin; `prefix` is one way to write the origin."""
        if self._is_closed:
            raise RuntimeError("the client is closed")
        origin = parse_origin(prefix)
        pool = self._by_origin.get(origin)
        if pool is None:
            if self._timers is None:
                self._timers = choose_timers(self._clock)
            pool = self._by_origin[origin] = Pool(
                origin,
                self._dialer,
                size=self._size,
                limits=self._limits,
                wait_s=self._connect_timeout_s,
                timers=self._timers,
            )
        self._pools[prefix] = pool
        return pool

    async def _acquire_until(
        self, pool: Pool, total_at: float, *, fresh: bool = False
    ) -> ClientConnection:
        if total_at == _NEVER:
            return await pool.acquire(fresh=fresh)
        try:
            async with pool.timeout_at(total_at):
                return await pool.acquire(fresh=fresh)
        except TimeoutError:
            raise ConnectTimeout(
                f"request timed out before connecting to {pool.origin.authority}"
            ) from None

    def _encode(
        self,
        origin: Origin,
        method: str,
        *,
        target: str,
        headers: Fields,
        body: Body,
    ) -> bytes:
        """Encode the head, and the body if it is bytes, in one piece."""
        if not method.isalpha():
            raise ValueError(f"{method!r} is not an HTTP method")
        through_proxy = self._dialer.proxy_headers(origin)
        extra = ""
        if through_proxy is not None:
            target = f"http://{origin.authority}{target}"
            extra = format_headers(through_proxy)
        text = f"{method} {target} HTTP/1.1\r\nhost: {origin.authority}\r\n"
        fields = headers.text if isinstance(headers, EncodedHeaders) else format_headers(headers)
        text += fields + extra
        if body is None or isinstance(body, bytes):
            if body or method in _WITH_LENGTH:
                text += f"content-length: {len(body or b'')}\r\n"
            return f"{text}\r\n".encode("latin-1") + (body or b"")
        return f"{text}transfer-encoding: chunked\r\n\r\n".encode("latin-1")
