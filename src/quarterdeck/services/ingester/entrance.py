"""Limits how many streams register at a time, per peer and in total.

gRPC accepts messages of full size also from peers that are not authenticated. Nothing is read from
a stream before its turn, so that flow control keeps its data at the sender, except a small window.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

_PORT = ":"


class Entrance:
    """Grants turns to streams that want to register."""

    def __init__(self, *, of_peer: int, of_all: int) -> None:
        self._of_peer = of_peer
        self._all = asyncio.Semaphore(of_all)
        self._peers: dict[str, tuple[asyncio.Semaphore, int]] = {}
        self.inside = 0
        """Streams that are registering now."""

    @contextlib.asynccontextmanager
    async def enter(self, peer: str) -> AsyncIterator[None]:
        """Wait for a turn, and hold it within the block; nothing is read from waiting streams."""
        host = peer.rpartition(_PORT)[0] or peer
        async with self._take_turn(host), self._all:
            self.inside += 1
            try:
                yield
            finally:
                self.inside -= 1

    @contextlib.asynccontextmanager
    async def _take_turn(self, host: str) -> AsyncIterator[None]:
        """Wait for a turn among the streams of a peer; the last one removes its semaphore."""
        turns, count = self._peers.get(host) or (asyncio.Semaphore(self._of_peer), 0)
        self._peers[host] = (turns, count + 1)
        try:
            async with turns:
                yield
        finally:
            turns, count = self._peers[host]
            if count > 1:
                self._peers[host] = (turns, count - 1)
            else:
                del self._peers[host]

    def __len__(self) -> int:
        """Number of peers with streams that register or wait."""
        return len(self._peers)
