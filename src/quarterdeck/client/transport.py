"""Sends requests to one server: connections, credentials, time limits, retries, observers.

The HTTP client is replaced when the client certificate changes. A 401 makes the credentials
refresh and the request go out once more.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterable
from contextlib import aclosing, asynccontextmanager
from typing import Any

from quarterdeck.client import retry
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.client.credentials import Credentials, Provider, build_provider
from quarterdeck.client.errors import (
    ClientError,
    ConnectionFailed,
    InvalidResponse,
    RequestTimeout,
    UntrustedServer,
)
from quarterdeck.client.interfaces import Exchange, Observer
from quarterdeck.client.rate_limiter import RateLimiter
from quarterdeck.client.requests import ApiRequest, Headers
from quarterdeck.client.tls import build_client_context
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.redaction import build_masker
from quarterdeck.wire.frame import is_error_event
from quarterdeck.wire.status import from_response

_MAX_ERROR_BODY = 1024 * 1024
_MAX_STREAMS = 4096
_MAX_HEADERS = 32
_CONNECT_TIMEOUT_S = 30.0
"""Limit for connecting, as in client-go, and for waiting for a free connection."""


class Transport:
    """One server, one identity, one pool of connections."""

    def __init__(
        self,
        config: ClusterConfig,
        *,
        clock: Clock | None = None,
        credentials: Provider | None = None,
        network: "http.MemoryNetwork | None" = None,
    ) -> None:
        self.config = config
        self.clock = clock or SystemClock()
        self.host = config.server.partition("://")[2].partition("/")[0]
        self._provider = credentials or build_provider(config, self.clock)
        self._network = network
        self._http: http.Client | None = None
        self._streams: http.Client | None = None
        self._closings = 0
        """How often it was closed; later requests open connections again."""
        self._certificate = self._latest = Credentials()
        self._refreshing = asyncio.Lock()
        self._refreshes = 0
        self._rate_limiter = (
            RateLimiter(config.requests_per_s, config.burst, self.clock)
            if config.requests_per_s
            else None
        )
        self._observers: list[Observer] = []
        self._headers: dict[tuple[Headers, str], http.EncodedHeaders] = {}
        self._common = [("User-Agent", config.user_agent), *config.impersonate.build_headers()]

    def observe(self, observer: Observer) -> None:
        """Add an observer of all later requests."""
        self._observers.append(observer)

    async def aclose(self) -> None:
        """Close every connection; requests under way fail, and are not tried again."""
        self._closings += 1
        stale = (self._http, self._streams)
        self._http = self._streams = None
        await _close(stale)

    async def send(self, request: ApiRequest) -> bytes:
        """The body of a successful answer.

        Raises:
            ApiError: what the server answered.
            ClientError: if it did not.
        """
        response = await self._respond(request)
        if response.status >= 300:
            await self._refuse_redirect(request, response)
        try:
            return await response.read(self.config.max_body_bytes)
        except (TimeoutError, http.HttpError, OSError) as error:
            raise _translate(error, request, self.config) from error

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        """Stream the lines of an answer, until the server or the caller ends it."""
        response = await self._respond(request)
        if response.status >= 300:
            await self._refuse_redirect(request, response)
        async with response, aclosing(self._iterate_lines(request, response)) as lines:
            yield lines

    async def open(self, request: ApiRequest) -> http.ClientResponse:
        """Open the answer itself, for a proxy; the caller closes it."""
        return await self._respond(request)

    async def _refuse_redirect(self, request: ApiRequest, response: http.ClientResponse) -> None:
        """Refuse redirects: credentials are not sent to another address.

        Raises:
            InvalidResponse: always.
        """
        location = response.headers.get("location", "").partition("?")[0]
        async with response:
            where = f" to {location}" if location else ""
            raise InvalidResponse(
                f"{request.method} {self.config.server}{request.target}: the server redirects"
                f"{where} (HTTP {response.status}), but Kubernetes API servers never redirect; "
                "check the address"
            )

    async def _iterate_lines(
        self, request: ApiRequest, response: http.ClientResponse
    ) -> AsyncGenerator[bytes, None]:
        authorization = self._latest.authorization
        with _translated(request, self.config):
            async with aclosing(response.line_batches()) as batches:
                async for batch in batches:
                    for line in batch:
                        if authorization and is_error_event(
                            line
                        ):  # else there is no secret to mask
                            line = build_masker(authorization).mask_bytes(line)
                        yield line

    async def _respond(self, request: ApiRequest) -> http.ClientResponse:
        """The head of a successful answer, after whatever retries are safe."""
        tries, closings = 0, self._closings
        refreshed = False
        while True:
            tries += 1
            credentials = await self._provider.get_credentials()
            try:
                response = await self._send_once(request, credentials, closings)
            except ConnectionFailed:
                outcome = retry.Outcome(code=0, broken=True)
                wait = retry.compute_retry_delay(outcome, tries=tries, is_read=request.is_read)
                if wait is None or self._closings != closings:
                    raise
                await self.clock.sleep(wait)
                continue
            if response.status < 400:
                return response
            async with response:
                if response.status == 401 and not refreshed:
                    refreshed = True
                    if await self._refresh_credentials(credentials):
                        continue
                outcome = retry.Outcome(
                    code=response.status,
                    retry_after_s=retry.parse_retry_after(response.headers.get("retry-after")),
                )
                wait = retry.compute_retry_delay(outcome, tries=tries, is_read=request.is_read)
                if wait is None:
                    with _translated(request, self.config):
                        body = await response.read(_MAX_ERROR_BODY)
                        masker = build_masker(credentials.authorization)
                        raise from_response(response.status, masker.mask_bytes(body))
            await self.clock.sleep(wait)

    async def _refresh_credentials(self, refused: Credentials) -> bool:
        """Whether there are new credentials; requests that are refused together refresh once."""
        refreshes = self._refreshes
        async with self._refreshing:
            if await self._provider.get_credentials() != refused:
                return True
            if self._refreshes != refreshes:
                return False  # another request refreshed them meanwhile, and got the same
            try:
                return await self._provider.refresh()
            finally:
                self._refreshes += 1

    async def _send_once(
        self, request: ApiRequest, credentials: Credentials, closings: int
    ) -> http.ClientResponse:
        if self._rate_limiter is not None:
            await self._rate_limiter.wait()
        if self._closings != closings:
            raise ConnectionFailed(
                f"{request.method} {self.config.server}{request.target}: the client was closed"
            )
        if self._http is None or credentials is not self._latest:
            await self._open_for(credentials)
        headers = self._build_headers(request, credentials)
        started = time.perf_counter()
        code, size = 0, -1
        try:
            response = await self._dispatch(request, headers)
            code = response.status
            size = int(response.headers.get("content-length") or -1)
            return response
        except (TimeoutError, http.HttpError, OSError) as error:
            raise _translate(error, request, self.config) from error
        finally:
            if self._observers:
                self._report(request, code, time.perf_counter() - started, size)

    def _build_headers(self, request: ApiRequest, credentials: Credentials) -> http.EncodedHeaders:
        """The encoded header fields; cached, as most requests have the same ones."""
        added: list[tuple[str, str]] = []
        for observer in self._observers:
            added.extend(observer.before(request.verb, request.path))
        is_usual = isinstance(request.headers, tuple) and not added
        key = request.headers, credentials.authorization
        if is_usual and (known := self._headers.get(key)) is not None:
            return known
        fields = [*request.headers, *self._common]
        if credentials.authorization:
            fields.append(("Authorization", credentials.authorization))
        headers = http.EncodedHeaders([*fields, *added])
        if is_usual and len(self._headers) < _MAX_HEADERS:
            self._headers[key] = headers
        return headers

    def _report(self, request: ApiRequest, code: int, duration_s: float, size: int) -> None:
        exchange = Exchange(
            verb=request.verb,
            method=request.method,
            host=self.host,
            path=request.path,
            code=code,
            duration_s=duration_s,
            request_bytes=len(request.body or b""),
            response_bytes=size,
        )
        for observer in self._observers:
            observer.after(exchange)

    def _dispatch(
        self, request: ApiRequest, headers: http.EncodedHeaders
    ) -> Coroutine[Any, Any, http.ClientResponse]:
        """Send a request; the time limit covers a stream until its head, others as a whole."""
        if request.is_stream:
            return self._dispatch_stream(request, headers)
        assert self._http is not None
        return self._http.request(
            request.method,
            self.config.server + request.target,
            headers=headers,
            body=request.body,
            timeout_s=self.config.timeout_s,
        )

    async def _dispatch_stream(
        self, request: ApiRequest, headers: http.EncodedHeaders
    ) -> http.ClientResponse:
        assert self._streams is not None
        url = self.config.server + request.target
        async with asyncio.timeout(self.config.timeout_s):
            return await self._streams.request(
                request.method, url, headers=headers, read_timeout_s=None
            )

    async def _open_for(self, credentials: Credentials) -> None:
        """Open connections with the certificate of the credentials, unless it is unchanged."""
        self._latest = credentials
        self._headers.clear()
        certificate = Credentials(certificate=credentials.certificate, key=credentials.key)
        if self._http is not None and certificate == self._certificate:
            return
        context = build_client_context(
            self.config, certificate=certificate.certificate, key=certificate.key
        )
        stale = (self._http, self._streams)
        self._http = self._open(context, self.config.connections)
        self._streams = self._open(context, _MAX_STREAMS)
        self._certificate = certificate
        await _close(stale)

    def _open(self, context: ssl.SSLContext | None, connections: int) -> http.Client:
        if self._network is not None:
            return self._network.client()
        return http.Client(
            tls=context,
            proxy=self.config.proxy_url or None,
            server_name=self.config.tls_server_name or None,
            pool=connections,
            limits=http.ClientLimits(idle_timeout_s=self.config.idle_s),
            connect_timeout_s=min(_CONNECT_TIMEOUT_S, self.config.timeout_s),
            read_timeout_s=None,
        )


async def _close(clients: Iterable[http.Client | None]) -> None:
    for client in clients:
        if client is not None:
            await client.aclose()


class _translated:
    """Turns what HTTP raises into this package's errors."""

    def __init__(self, request: ApiRequest, config: ClusterConfig) -> None:
        self._request = request
        self._config = config

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TimeoutError | http.HttpError | OSError):
            raise _translate(error, self._request, self._config) from error


def _translate(error: Exception, request: ApiRequest, config: ClusterConfig) -> ClientError:
    """The error of this package for one of HTTP's; names the server, not the identity."""
    what = f"{request.method} {config.server}{request.target}"
    match error:
        case http.ConnectTimeout() | http.PoolTimeout():
            return RequestTimeout(f"{what}: {error}")
        case TimeoutError() | http.ReadTimeout():
            return RequestTimeout(f"{what}: no answer within {config.timeout_s:g} s")
        case http.BodyTooLarge():
            return InvalidResponse(f"{what}: {error}")
        case http.TlsError():
            return UntrustedServer(f"{what}: {error}")
        case _:
            return ConnectionFailed(f"{what}: {error}")
