"""A constant load that could go on for ever: objects come, change, are read, and go.

As many objects are deleted as are created, so that whatever grows with time is the server's.
"""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from bench.openloop import drive, percentile
from bench.peers.widgets import widget

_MERGE = "application/merge-patch+json"
_REOPEN_S = 2.0
_LIST_S = 2.0


class Sender(Protocol):
    """What soaking needs of a load generator."""

    async def send(
        self, method: str, path: str, body: bytes | None = None, *, media: str = ...
    ) -> bytes:
        """The body of a successful answer."""
        ...

    async def lines(
        self, path: str, each: Callable[[bytes], None], *, opened: Callable[[], None] | None = None
    ) -> None:
        """Read a stream until it is cancelled."""
        ...


class Soak:
    """The load of one server; it remembers where it was between the parts of a run."""

    def __init__(
        self, sender: Sender, path: str, encode: Callable[[object], bytes], *, objects: int
    ) -> None:
        self._sender = sender
        self._path = path
        self._encode = encode
        self._objects = objects
        self._turns = itertools.count()
        self._made = objects
        self._seed = 0

    async def part(self, seconds: float, rate_hz: float) -> dict[str, Any]:
        """Go on for some time; latencies are from the moment a request was due."""
        writes = self._made
        self._seed += 1
        count = max(1, int(rate_hz * seconds))
        beside = [asyncio.ensure_future(work()) for work in (self._listing, self._reopening)]
        try:
            latencies, late = await drive(self._one, rate_hz=rate_hz, count=count, seed=self._seed)
        except ExceptionGroup as group:
            raise group.exceptions[0] from group
        for each in beside:
            each.cancel()
        for result in await asyncio.gather(*beside, return_exceptions=True):
            if isinstance(result, Exception):
                raise result
        return {
            "requests": len(latencies),
            "made": self._made - writes,
            "p50_ms": percentile(latencies, 0.5) * 1e3,
            "p99_ms": percentile(latencies, 0.99) * 1e3,
            "late_ms": late * 1e3,
        }

    async def _one(self, _: int) -> None:
        """Create, change twice, read twice, delete: six requests for each object that passes."""
        turn = next(self._turns)
        match turn % 6:
            case 0:
                number, self._made = self._made, self._made + 1
                await self._write("POST", "", widget(f"w{number}", number))
            case 1 | 2:
                await self._write("PATCH", f"/{self._some(turn)}", {"spec": {"size": turn}})
            case 3 | 4:
                await self._sender.send("GET", f"{self._path}/{self._some(turn)}")
            case _:
                gone = self._made - self._objects - 1
                await self._sender.send("DELETE", f"{self._path}/w{gone}")

    async def _write(self, method: str, target: str, value: dict[str, Any]) -> None:
        media = _MERGE if method == "PATCH" else "application/json"
        await self._sender.send(method, self._path + target, self._encode(value), media=media)

    def _some(self, turn: int) -> str:
        """One of middle age: created for certain, and deleted by nobody meanwhile."""
        quarter = self._objects // 4
        return f"w{self._made - quarter - turn * 7919 % quarter}"

    async def _listing(self) -> None:
        await _every(_LIST_S, lambda: self._sender.send("GET", self._path))

    async def _reopening(self) -> None:
        """Watchers come and go, as clients that restart do."""

        async def watch() -> None:
            stream = self._sender.lines(f"{self._path}?watch=1", lambda _: None)
            try:
                await asyncio.wait_for(stream, _REOPEN_S)
            except TimeoutError:
                pass

        await _every(0.0, watch)


async def _every(seconds: float, work: Callable[[], Awaitable[object]]) -> None:
    while True:
        began = time.monotonic()
        await work()
        await asyncio.sleep(max(0.0, seconds - (time.monotonic() - began)))
