"""What a handler is given and what it returns."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from quarterdeck.kit.http.body_buffer import BodyBuffer
from quarterdeck.kit.http.errors import BodyTimeout, BodyTooLarge, HttpError
from quarterdeck.kit.http.headers import Headers
from quarterdeck.kit.http.target import split_target

if TYPE_CHECKING:
    from quarterdeck.kit.http.writer import BodyWriter


class Peer:
    """The other end of a connection."""

    __slots__ = ("address", "certificate", "is_admitted", "local_address", "secure")

    def __init__(
        self,
        address: str,
        *,
        certificate: bytes | None = None,
        secure: bool = False,
        local_address: str = "",
    ) -> None:
        self.address = address
        """`host:port`, or the name of a Unix socket."""
        self.local_address = local_address
        """The address of our own end of the connection, in the same form."""
        self.is_admitted: bool | None = None
        """Whether `OwnerGuard` admits the connection; None before it has checked."""
        self.certificate = certificate
        """The client's certificate in DER, verified by TLS; None without one."""
        self.secure = secure
        """The connection is encrypted."""

    @property
    def host(self) -> str:
        """The address without its port."""
        return self.address.rpartition(":")[0].strip("[]") or self.address

    def __repr__(self) -> str:
        return f"Peer({self.address!r}, secure={self.secure})"


class Carrier(Protocol):
    """The methods of a connection that its requests use."""

    @property
    def body_limit(self) -> int:
        """The longest body the server accepts at all."""
        ...

    def want_body(self, request: "Request") -> None:
        """The handler is about to read the body: send `100 Continue` if the client waits for it."""
        ...

    def disconnection(self) -> "asyncio.Future[None]":
        """Resolves when the peer is gone."""
        ...


class Request:
    """One request. The body is read at most once, by `read` or by `stream`.

    The parser sets each attribute, because a constructor with so many arguments would cost more
    than the rest of it; `Request.of` builds a request without a parser.
    """

    __slots__ = (
        "body_buffer",
        "carrier",
        "expects_continue",
        "has_body",
        "headers",
        "keep_alive",
        "method",
        "path",
        "peer",
        "query",
        "refusal",
        "target",
        "version",
    )

    method: str
    target: str
    """The raw path and query, as sent."""
    path: str
    """Percent-decoded once; an escaped slash stays `%2F`."""
    query: str
    """What follows the `?`, raw."""
    headers: Headers
    peer: Peer
    version: str
    """`1.1` or `1.0`."""
    keep_alive: bool
    """The client would send more requests on the connection."""
    has_body: bool
    expects_continue: bool
    """The client waits for `100 Continue` before it sends the body."""
    body_buffer: BodyBuffer | None
    """The body as it arrives; for the connection."""
    refusal: int
    """The status that an unhandled failure to read the body becomes; for the connection."""
    carrier: Carrier

    @classmethod
    def of(
        cls,
        method: str,
        target: str,
        *,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes = b"",
        peer: Peer | None = None,
    ) -> "Request":
        """Build a request without a connection and with a complete body: for tests and inner calls.

        Raises:
            ProtocolError: the target is malformed.
        """
        request = cls()
        request.method = method
        request.target = target
        request.path, request.query = split_target(target.encode())
        request.headers = Headers(headers)
        request.peer = peer or Peer("memory:0")
        request.version = "1.1"
        request.keep_alive = True
        request.has_body = bool(body)
        request.expects_continue = False
        request.refusal = 0
        request.body_buffer = BodyBuffer.of(body) if body else None
        request.carrier = _Detached()
        return request

    async def read(self, limit: int) -> bytes:
        """The whole body.

        Raises:
            BodyTooLarge: it is longer than `limit`; unhandled, it becomes a 413.
            ConnectionClosed: the connection ended before the body did.
            BodyTimeout: the body arrives too slowly; unhandled, it becomes a 408.
        """
        body_buffer = self.body_buffer
        if body_buffer is None:
            return b""
        limit = min(limit, self.carrier.body_limit)
        length = self.headers.get("content-length")
        try:
            if length is not None and int(length) > limit:
                raise BodyTooLarge(limit)
            if not body_buffer.is_ended:
                self.carrier.want_body(self)
            return await body_buffer.take_all(limit)
        except HttpError as error:
            self.refusal = _choose_status(error)
            raise

    def read_nowait(self, limit: int) -> bytes | None:
        """The whole body if all of it has arrived; None if `read` has to wait, or to refuse it."""
        body_buffer = self.body_buffer
        if body_buffer is None:
            return b""
        return body_buffer.take_all_nowait(min(limit, self.carrier.body_limit))

    async def stream(self) -> AsyncIterator[bytes]:
        """The body as it arrives; the socket is read no faster than this is.

        Raises:
            BodyTooLarge: it is longer than the server accepts.
            ConnectionClosed: the connection ended before the body did.
            BodyTimeout: the body arrives too slowly.
        """
        body_buffer = self.body_buffer
        if body_buffer is None:
            return
        limit = self.carrier.body_limit
        if not body_buffer.is_ended:
            self.carrier.want_body(self)
        total = 0
        try:
            while data := await body_buffer.take():
                total += len(data)
                if total > limit:
                    raise BodyTooLarge(limit)
                yield data
        except HttpError as error:
            self.refusal = _choose_status(error)
            raise

    async def wait_disconnect(self) -> None:
        """Return when the peer is gone or has closed its sending side."""
        await asyncio.shield(self.carrier.disconnection())

    def __repr__(self) -> str:
        return f"<Request {self.method} {self.path} from {self.peer.address}>"


class Response:
    """A response that is complete when the handler returns it."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: list[tuple[str, str]], body: bytes = b"") -> None:
        self.status = status
        self.headers = headers
        """Without `content-length`, `date` and `connection`, which the server adds."""
        self.body = body


class StreamResponse:
    """A response whose body `run` writes; it ends when `run` returns.

    An exception in `run` cuts the connection, so that the peer cannot mistake the body for a
    complete one. At a drain, `BodyWriter.closing` is set and `run` should return soon.
    """

    __slots__ = ("headers", "run", "status")

    def __init__(
        self,
        status: int,
        headers: list[tuple[str, str]],
        run: "Callable[[BodyWriter], Awaitable[None]]",
    ) -> None:
        self.status = status
        self.headers = headers
        self.run = run


Handler = Callable[[Request], Awaitable[Response | StreamResponse]]


class _Detached:
    """The carrier of a request without a connection: its peer never disconnects."""

    body_limit = sys.maxsize

    def want_body(self, request: Request) -> None:
        """Nothing to do: the body is complete."""

    def disconnection(self) -> "asyncio.Future[None]":
        """Never resolves."""
        return asyncio.get_running_loop().create_future()


def _choose_status(error: HttpError) -> int:
    if isinstance(error, BodyTooLarge):
        return 413
    return 408 if isinstance(error, BodyTimeout) else 400
