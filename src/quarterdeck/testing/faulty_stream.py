"""Streams of an embedded server that are torn, frozen or expired after a number of lines."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NoReturn, cast

from quarterdeck.kit import http
from quarterdeck.kit.clock import settle
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.wire.frame import EventType, encode_event
from quarterdeck.wire.status import Expired


def close_connection() -> NoReturn:
    """Close the connection without a response, as a server does that is killed."""
    raise asyncio.CancelledError("cut by a fault rule")


def break_stream(reply: http.StreamResponse, after_lines: int, fault: str) -> http.StreamResponse:
    """A streamed answer with a fault after a number of lines."""
    run = reply.run

    async def faulty(writer: http.BodyWriter) -> None:
        tap = FaultyWriter(writer, after_lines, fault)
        async with Supervisor("faulty-watch") as tasks:
            stream = tasks.spawn(_run_stream(run, cast("http.BodyWriter", tap)), name="watch")
            ending = tasks.spawn(tap.over.wait(), name="fault")
            await asyncio.wait({stream, ending}, return_when=asyncio.FIRST_COMPLETED)
            await settle(3)  # what was written before goes out
        if tap.over.is_set() and fault == FaultyWriter.TEAR:
            close_connection()

    return http.StreamResponse(reply.status, reply.headers, faulty)


async def _run_stream(
    run: Callable[[http.BodyWriter], Awaitable[None]], writer: http.BodyWriter
) -> None:
    await run(writer)


class FaultyWriter:
    """A writer with a fault after a number of lines: torn, frozen or expired."""

    TEAR, FREEZE, EXPIRE = "tear", "freeze", "expire"

    def __init__(self, writer: http.BodyWriter, lines: int, fault: str) -> None:
        self._writer = writer
        self._lines = lines
        self._fault = fault
        self._is_faulty = False
        self.over = asyncio.Event()
        self.closing = writer.closing

    @property
    def buffered(self) -> int:
        """Bytes that are not sent yet."""
        return self._writer.buffered

    def write_nowait(self, data: bytes) -> int:
        """Write what the fault lets through, without waiting."""
        return self._writer.write_nowait(self._filter(data))

    async def write(self, data: bytes) -> None:
        """Write what the fault lets through."""
        await self._writer.write(self._filter(data))

    def _filter(self, data: bytes) -> bytes:
        if self._is_faulty or not data:
            return b""
        lines = data.splitlines(keepends=True)
        if len(lines) <= self._lines:
            self._lines -= len(lines)
            return data
        self._is_faulty = True
        passed, torn = b"".join(lines[: self._lines]), lines[self._lines]
        match self._fault:
            case self.FREEZE:
                return passed
            case self.EXPIRE:
                self.over.set()
                gone = Expired("too old resource version (injected)")
                return passed + encode_event(EventType.ERROR, gone.encode())
            case _:
                self.over.set()
                return passed + torn[: len(torn) // 2]
