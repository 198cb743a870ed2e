"""A response as its receiver sees it: head at once, body as it arrives."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from types import TracebackType
from typing import Protocol, Self

from quarterdeck.kit.http.body_buffer import BodyBuffer
from quarterdeck.kit.http.errors import BodyTooLarge
from quarterdeck.kit.http.headers import Headers


class Source(Protocol):
    """The connection of a response."""

    def abandon(self, response: "ClientResponse") -> None:
        """Give up the rest of the body; closes the connection if the body is incomplete."""
        ...


class ClientResponse:
    """A response. Read its body to the end or close it: the pool needs the connection."""

    __slots__ = ("_body_buffer", "_body_limit", "_source", "headers", "reason", "status")

    def __init__(
        self,
        status: int,
        headers: Headers,
        *,
        body_buffer: BodyBuffer,
        source: Source,
        body_limit: int,
        reason: str = "",
    ) -> None:
        self.status = status
        self.reason = reason
        """The text after the status; some servers put the cause of a failure there."""
        self.headers = headers
        self._body_buffer = body_buffer
        self._source = source
        self._body_limit = body_limit

    async def read(self, limit: int | None = None) -> bytes:
        """The whole body.

        Raises:
            BodyTooLarge: it is longer than `limit`, or than the client's own limit.
            ConnectionClosed: the connection ended before the body did.
            ReadTimeout: no more of it arrived in time.
        """
        try:
            return await self._body_buffer.take_all(self._body_limit if limit is None else limit)
        except BaseException:
            self._source.abandon(self)
            raise

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives; the socket is read no faster than this is.

        Raises:
            ConnectionClosed: the connection ended before the body did.
            ReadTimeout: no more of it arrived in time.
        """
        try:
            while data := await self._body_buffer.take():
                yield data
        finally:
            self._source.abandon(self)

    async def lines(self, limit: int | None = None) -> AsyncGenerator[bytes, None]:
        """The body's lines without their ends, however long they are.

        Raises:
            BodyTooLarge: a line is longer than `limit`.
            ConnectionClosed: the connection ended before the body did.
            ReadTimeout: no more of it arrived in time.
        """
        async with aclosing(self.line_batches(limit)) as batches:
            async for batch in batches:
                for line in batch:
                    yield line

    async def line_batches(self, limit: int | None = None) -> AsyncGenerator[list[bytes], None]:
        """The same as lists of the lines that arrived together, for readers of very many."""
        try:
            splitter = LineSplitter(limit)
            while data := await self._body_buffer.take_held():
                yield splitter.feed(data)
            yield splitter.end()
        finally:
            self._source.abandon(self)

    async def aclose(self) -> None:
        """Drop the rest of the body; a connection that still carries it is closed."""
        if not self._body_buffer.is_ended:
            self._source.abandon(self)
            await asyncio.sleep(0)  # so that the transport can close the connection

    @property
    def is_complete(self) -> bool:
        """The whole body has arrived."""
        return self._body_buffer.is_ended

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<ClientResponse {self.status}>"


class LineSplitter:
    """Cuts a byte stream into lines; the cost of a long line grows linearly with its length."""

    __slots__ = ("_limit", "_size", "_tail")

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._tail: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete with these bytes.

        Raises:
            BodyTooLarge: a line is longer than the limit.
        """
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and self._tail:
            self._tail.append(lines[0])
            lines[0] = b"".join(self._tail)
            self._tail.clear()
            self._size = 0
        if rest:
            self._tail.append(rest)
            self._size += len(rest)
        limit = self._limit
        if limit is not None and (self._size > limit or any(len(line) > limit for line in lines)):
            raise BodyTooLarge(limit)
        return lines

    def end(self) -> list[bytes]:
        """What follows the last line end, if anything does."""
        rest = b"".join(self._tail)
        self._tail.clear()
        return [rest] if rest else []
