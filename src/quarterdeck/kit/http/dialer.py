"""Making connections: TCP, TLS, Unix sockets and proxies."""

import asyncio
import base64
import os
import re
import ssl
from typing import Protocol

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http.errors import (
    ConnectError,
    ConnectTimeout,
    HttpError,
    ProxyError,
    TlsError,
)
from quarterdeck.kit.http.origin import Origin
from quarterdeck.kit.timer import choose_timers, timeout_at

_ERROR_NUMBER = re.compile(r"\[Errno (\d+)\]")
_REPLY_LIMIT = 16 * 1024
_SHUTDOWN_S = 2.0
"""How long a server may take to agree to the end of a TLS connection."""


class Dialer(Protocol):
    """Connects a protocol to an origin."""

    async def dial(self, origin: Origin, protocol: asyncio.Protocol) -> None:
        """Connect and call the protocol's `connection_made`.

        Raises:
            ConnectError: no connection came about.
        """
        ...

    def proxy_headers(self, origin: Origin) -> list[tuple[str, str]] | None:
        """Fields for a proxy that forwards requests; None if requests go straight there."""
        ...


class Proxy:
    """An HTTP proxy and how to log in to it."""

    __slots__ = ("authorization", "host", "port")

    def __init__(self, url: str) -> None:
        from urllib.parse import unquote, urlsplit  # few programs have a proxy

        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError("a proxy must be given as http://[user:password@]host:port")
        self.host = parts.hostname
        self.port = parts.port or 80  # as in Go, whose programs read the same variables
        self.authorization: str | None = None
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self.authorization = f"Basic {base64.b64encode(login.encode()).decode()}"

    def headers(self) -> list[tuple[str, str]]:
        """Fields a request to the proxy needs."""
        return [("proxy-authorization", self.authorization)] if self.authorization else []


class SocketDialer:
    """Connects over the network."""

    def __init__(
        self,
        *,
        tls: ssl.SSLContext | None,
        proxy: str | None,
        server_name: str | None,
        timeout_s: float,
        clock: Clock | None = None,
    ) -> None:
        self._tls = tls
        self._proxy = None if proxy is None else Proxy(proxy)
        self._server_name = server_name
        self._timeout_s = timeout_s
        self._clock = clock

    async def dial(self, origin: Origin, protocol: asyncio.Protocol) -> None:
        """Connect, through the proxy if there is one.

        Raises:
            ConnectError: no connection came about.
        """
        try:
            timers = choose_timers(self._clock)
            async with timeout_at(timers, timers.time() + self._timeout_s):
                await self._dial(origin, protocol)
        except TimeoutError:
            raise ConnectTimeout(
                f"no connection to {_format_origin(origin)} within {self._timeout_s:g} s"
            ) from None
        except ssl.SSLCertVerificationError as error:
            raise TlsError(
                f"untrusted certificate of {_format_origin(origin)}: {error.verify_message}"
            ) from error
        except ssl.SSLError as error:
            raise TlsError(
                f"the TLS handshake with {_format_origin(origin)} failed: {error.reason or error}"
            ) from error
        except (OSError, UnicodeError) as error:
            raise ConnectError(
                f"cannot connect to {_format_origin(origin)}: {_describe(error)}"
            ) from error

    def proxy_headers(self, origin: Origin) -> list[tuple[str, str]] | None:
        """Fields for a proxy that forwards plain requests."""
        if self._proxy is None or origin.scheme != "http":
            return None
        return self._proxy.headers()

    async def _dial(self, origin: Origin, protocol: asyncio.Protocol) -> None:
        loop = asyncio.get_running_loop()
        if origin.scheme == "http+unix":
            await loop.create_unix_connection(lambda: protocol, origin.host)
        elif self._proxy is None:
            tls = self._get_context() if origin.is_secure else None
            name = (self._server_name or origin.host) if tls else None
            await loop.create_connection(
                lambda: protocol,
                origin.host,
                origin.port,
                ssl=tls,
                server_hostname=name,
                ssl_shutdown_timeout=_SHUTDOWN_S if tls else None,
            )
        elif not origin.is_secure:
            await self._connect_proxy(self._proxy, protocol)
        else:
            await self._open_tunnel(self._proxy, origin, protocol)

    async def _connect_proxy(self, proxy: Proxy, protocol: asyncio.Protocol) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.create_connection(lambda: protocol, proxy.host, proxy.port)
        except (OSError, UnicodeError) as error:
            raise ProxyError(
                f"cannot connect to the proxy {proxy.host}:{proxy.port}: {_describe(error)}"
            ) from error
        return transport

    async def _open_tunnel(self, proxy: Proxy, origin: Origin, protocol: asyncio.Protocol) -> None:
        loop = asyncio.get_running_loop()
        reply = _ConnectReply()
        transport = await self._connect_proxy(proxy, reply)
        try:
            await reply.request_tunnel(transport, origin, proxy.headers())
            secured = await loop.start_tls(
                transport,
                protocol,
                self._get_context(),
                server_hostname=self._server_name or origin.host,
            )
        except BaseException:
            transport.abort()
            raise
        if secured is None:
            raise ProxyError(
                f"the tunnel to {_format_origin(origin)} closed during the TLS handshake"
            )
        protocol.connection_made(secured)

    def _get_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


class _ConnectReply(asyncio.Protocol):
    """Requests a tunnel of a proxy and reads the response."""

    def __init__(self) -> None:
        self._received = b""
        self._answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def request_tunnel(
        self, transport: asyncio.Transport, origin: Origin, headers: list[tuple[str, str]]
    ) -> None:
        """Send CONNECT and wait for success.

        Raises:
            ProxyError: the proxy refused.
        """
        host = f"[{origin.host}]" if ":" in origin.host else origin.host
        goal = f"{host}:{origin.port}"
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        transport.write(f"CONNECT {goal} HTTP/1.1\r\nHost: {goal}\r\n{lines}\r\n".encode("latin-1"))
        words = (await self._answer).split(b"\r\n", 1)[0].split(b" ", 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise ProxyError("the response of the proxy is not HTTP/1.1")
        if not words[1].startswith(b"2"):
            reason = words[2].decode("latin-1") if len(words) > 2 else ""
            raise ProxyError(f"the proxy refused a tunnel to {goal}: {words[1].decode()} {reason}")

    def data_received(self, data: bytes) -> None:
        """Collect the head of the answer."""
        if self._answer.done():
            return
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end >= 0:
            self._settle(None)
        elif len(self._received) > _REPLY_LIMIT:
            self._settle(ProxyError("the response of the proxy is too long"))

    def connection_lost(self, exc: Exception | None) -> None:
        """The proxy hung up."""
        if not self._answer.done():
            self._settle(ProxyError("the proxy closed the connection"))

    def _settle(self, error: HttpError | None) -> None:
        if error is None:
            self._answer.set_result(self._received)
        else:
            self._answer.set_exception(error)


def _describe(error: OSError | UnicodeError) -> str:
    """The system's message, which asyncio replaces by its own with the address.

    If several addresses failed, the error has no number, but its text contains all numbers. A name
    with an empty or a long label is refused by Python's codec, before anything is resolved.
    """
    if isinstance(error, UnicodeError):
        return f"not a host name: {error.__cause__ or error}"
    numbers = [error.errno] if error.errno else _ERROR_NUMBER.findall(str(error))
    texts = dict.fromkeys(os.strerror(int(each)).lower() for each in numbers if int(each) > 0)
    return ", ".join(texts) or error.strerror or str(error)


def _format_origin(origin: Origin) -> str:
    return origin.host if origin.scheme == "http+unix" else f"{origin.host}:{origin.port}"
