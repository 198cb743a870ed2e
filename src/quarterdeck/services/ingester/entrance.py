"""Streams that have not registered yet: few at a time of one peer, and of all.

gRPC takes a message as long as any other from a peer that has proved nothing. Until a stream has
its turn nothing of it is read, so that what it sends stays at its sender, but for a small window.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

_PORT = ":"


class Entrance:
    """Lets streams register."""

    def __init__(self, *, of_peer: int, of_all: int) -> None:
        self._of_peer = of_peer
        self._all = asyncio.Semaphore(of_all)
        self._peers: dict[str, tuple[asyncio.Semaphore, int]] = {}
        self.inside = 0
        """Streams that are registering now."""

    @contextlib.asynccontextmanager
    async def enter(self, peer: str) -> AsyncIterator[None]:
        """Wait for a turn, and keep it within the block; who waits is not read from."""
        host = peer.rpartition(_PORT)[0] or peer
        async with self._take_turn(host), self._all:
            self.inside += 1
            try:
                yield
            finally:
                self.inside -= 1

    @contextlib.asynccontextmanager
    async def _take_turn(self, host: str) -> AsyncIterator[None]:
        """The turns of one peer; forgotten when nobody of it is left."""
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
        """Peers of whom streams register or wait."""
        return len(self._peers)
