"""Reads without an event loop, for commands that run for a tenth of a second.

Loading asyncio and its dependents takes longer than three requests. `BlockingTransport` sends
the plain request of a plain configuration on one blocking connection. Whatever needs more (watches,
writes, proxies, exec plugins, retries, anything but 200) it refuses with `EventLoopRequired`: the
command is then run again on a loop with `Transport`, which alone decides what a failure means.
"""

import socket
import ssl
import time
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NoReturn

from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.client.errors import RequestTimeout
from quarterdeck.client.interfaces import Observer
from quarterdeck.client.tls import build_client_context
from quarterdeck.kit.http.encode import format_headers
from quarterdeck.kit.http.origin import Origin, parse_origin, split_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from quarterdeck.client.requests import ApiRequest

_CHUNK = 256 * 1024
_LONGEST_HEAD = 64 * 1024
_CONNECT_S = 10.0


class EventLoopRequired(Exception):
    """Raised when a request needs an event loop; nothing was changed, so it can be repeated."""


class BlockingTransport:
    """One server, one identity, one connection; implements `sender.Sender`.

    Its coroutines never wait for a loop: they block.

    Raises:
        EventLoopRequired: if the configuration asks for more than this can do.
    """

    def __init__(self, config: ClusterConfig) -> None:
        if config.exec or config.token_file or config.proxy_url or config.requests_per_s:
            raise EventLoopRequired
        self.config = config
        self._socket: socket.socket | None = None

    def observe(self, observer: Observer) -> NoReturn:
        """Refuse an observer: only long-running programs have them."""
        raise EventLoopRequired

    async def aclose(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def send(self, request: "ApiRequest") -> bytes:
        """The body of a successful answer to a read.

        Raises:
            EventLoopRequired: for everything else.
            RequestTimeout: if the server takes too long.
        """
        if request.method != "GET" or request.is_stream:
            raise EventLoopRequired
        deadline = time.monotonic() + self.config.timeout_s
        try:
            return self._exchange(request, deadline)
        except TimeoutError as error:
            raise RequestTimeout(
                f"{request.method} {self.config.server}{request.target}: no answer within"
                f" {self.config.timeout_s:g} s"
            ) from error
        except (OSError, ValueError) as error:
            raise EventLoopRequired from error

    def stream(self, request: "ApiRequest") -> "AbstractAsyncContextManager[AsyncIterator[bytes]]":
        """Refuse to stream: that takes an event loop."""
        raise EventLoopRequired

    async def open(self, request: "ApiRequest") -> Any:
        """Refuse to open a response without reading it: that takes an event loop."""
        raise EventLoopRequired

    def _exchange(self, request: "ApiRequest", deadline: float) -> bytes:
        origin_text, target = split_url(self.config.server + request.target)
        origin = parse_origin(origin_text)
        headers = [("Host", origin.authority), *request.headers]
        headers += [
            ("User-Agent", self.config.user_agent),
            *self.config.impersonate.build_headers(),
        ]
        if authorization := self.config.build_authorization():
            headers.append(("Authorization", authorization))
        head = f"GET {target} HTTP/1.1\r\n{format_headers(headers)}\r\n".encode("latin-1")
        if self._socket is None:
            self._socket = self._connect(origin)
        self._socket.sendall(head)
        return _Answer(self._socket, deadline, self.config.max_body_bytes).read()

    def _connect(self, origin: Origin) -> socket.socket:
        if origin.scheme not in ("http", "https"):
            raise EventLoopRequired
        # as text, Python would load its tables of Unicode names
        host: Any = origin.host.encode("ascii")
        context = build_client_context(self.config)
        timeout = min(_CONNECT_S, self.config.timeout_s)
        connection = socket.create_connection((host, origin.port), timeout=timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is None:
            return connection
        name = self.config.tls_server_name.encode("ascii") or host
        return context.wrap_socket(connection, server_hostname=name)


class _Answer:
    """One answer, as it arrives.

    Raises:
        EventLoopRequired: if its status is not 200, or its form is unusual.
    """

    def __init__(self, connection: socket.socket, deadline: float, limit: int) -> None:
        self._connection = connection
        self._deadline = deadline
        self._limit = limit
        self._data = bytearray()

    def read(self) -> bytes:
        """The body."""
        head = self._take_until(b"\r\n\r\n", _LONGEST_HEAD).decode("latin-1").lower()
        status, *lines = head.split("\r\n")
        fields = dict(line.split(":", 1) for line in lines)
        if status.split()[:2] != ["http/1.1", "200"] or "content-encoding" in fields:
            raise EventLoopRequired
        if fields.get("connection", "").strip() == "close":
            raise EventLoopRequired
        if fields.get("transfer-encoding", "").strip() == "chunked":
            return self._read_chunks()
        return self._take(int(fields.get("content-length", "")))

    def _read_chunks(self) -> bytes:
        body = bytearray()
        while size := int(self._take_until(b"\r\n", _LONGEST_HEAD).partition(b";")[0], 16):
            body += self._take(size)
            if len(body) > self._limit or self._take(2) != b"\r\n":
                raise EventLoopRequired
        if self._take_until(b"\r\n", _LONGEST_HEAD):
            raise EventLoopRequired
        return bytes(body)

    def _take_until(self, end: bytes, limit: int) -> bytes:
        while (found := self._data.find(end)) < 0:
            if len(self._data) > limit:
                raise EventLoopRequired
            self._receive()
        taken = bytes(self._data[:found])
        del self._data[: found + len(end)]
        return taken

    def _take(self, size: int) -> bytes:
        if not 0 <= size <= self._limit:
            raise EventLoopRequired
        while len(self._data) < size:
            self._receive()
        taken = bytes(self._data[:size])
        del self._data[:size]
        return taken

    def _receive(self) -> None:
        self._connection.settimeout(max(self._deadline - time.monotonic(), 0.001))
        received = self._connection.recv(_CHUNK)
        if not received:
            raise ssl.SSLEOFError("the server closed the connection")
        self._data += received
