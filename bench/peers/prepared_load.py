"""Clients that send requests made beforehand, each over a connection of its own.

A generator that shares the processor with servers takes part in what it measures: whatever it costs
is missing to a server that uses every core. So requests are bytes before the clock starts, answers
are parsed by llhttp and dropped, and between the two there is neither a task nor a future.
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

from httptools import HttpResponseParser

Take = Callable[[], bytes | None]
"""The next request, or nothing when time is up."""


def build_request(
    method: str, path: str, headers: Sequence[tuple[str, str]], body: bytes = b""
) -> bytes:
    """A request as it is sent; `host` must be among the headers."""
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


class _Client(asyncio.Protocol):
    """One connection that sends its next request when the last one is answered."""

    def __init__(self, take: Take) -> None:
        self.answered = 0
        self.done = asyncio.get_running_loop().create_future()
        self._take = take
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def send(self) -> None:
        """Send the next request, if there is time for one."""
        request = self._take()
        if request is not None:
            self._transport.write(request)
        elif not self.done.done():
            self.done.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        """Called by the parser."""
        status = self._parser.get_status_code()
        if status >= 300:
            self._fail(RuntimeError(f"a request was answered with {status}"))
            return
        self.answered += 1
        self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or RuntimeError("the server closed a connection"))

    def _fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)

    def close(self) -> None:
        """Hang up."""
        self._transport.close()


async def send_for_a_time(
    url: str,
    tls: ssl.SSLContext | None,
    requests: Iterator[bytes],
    *,
    seconds: float,
    clients: int,
) -> dict[str, Any]:
    """Send requests by so many clients until time is up: how many were answered, and the cost."""
    clock, end = time.perf_counter, 0.0

    def take() -> bytes | None:
        return next(requests) if clock() < end else None

    connections = [await _connect(url, tls, take) for _ in range(clients)]
    try:
        cpu, start = time.process_time(), clock()
        end = start + seconds
        for each in connections:
            each.send()
        await asyncio.gather(*(each.done for each in connections))
        return {
            "count": sum(each.answered for each in connections),
            "seconds": clock() - start,
            "generator_cpu_s": time.process_time() - cpu,
        }
    finally:
        for each in connections:
            each.close()


async def _connect(url: str, tls: ssl.SSLContext | None, take: Take) -> _Client:
    split = urlsplit(url)
    _, client = await asyncio.get_running_loop().create_connection(
        lambda: _Client(take),
        split.hostname or "127.0.0.1",
        split.port or 443,
        ssl=tls,
        server_hostname=split.hostname if tls is not None else None,
    )
    return client
