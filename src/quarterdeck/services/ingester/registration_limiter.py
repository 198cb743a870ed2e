"""Limits how many streams register at a time, per peer and in total.

gRPC accepts messages of full size also from peers that are not authenticated. Nothing is read from
a stream that waits, so that flow control keeps its data at the sender, except a small window.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

_PORT = ":"


class RegistrationLimiter:
    """Limits streams that register at the same time; nothing is read from those that wait."""

    def __init__(self, *, per_peer: int, in_total: int) -> None:
        self._per_peer = per_peer
        self._all = asyncio.Semaphore(in_total)
        self._peers: dict[str, tuple[asyncio.Semaphore, int]] = {}
        self.registering = 0
        """Streams that are registering now."""

    @contextlib.asynccontextmanager
    async def acquire(self, peer: str) -> AsyncIterator[None]:
        """Wait until the stream of a peer may register, and count it within the block."""
        host = peer.rpartition(_PORT)[0] or peer
        async with self._acquire_for_peer(host), self._all:
            self.registering += 1
            try:
                yield
            finally:
                self.registering -= 1

    @contextlib.asynccontextmanager
    async def _acquire_for_peer(self, host: str) -> AsyncIterator[None]:
        """Wait for the limit of the peer; its last stream removes the semaphore."""
        semaphore, count = self._peers.get(host) or (asyncio.Semaphore(self._per_peer), 0)
        self._peers[host] = (semaphore, count + 1)
        try:
            async with semaphore:
                yield
        finally:
            semaphore, count = self._peers[host]
            if count > 1:
                self._peers[host] = (semaphore, count - 1)
            else:
                del self._peers[host]

    def __len__(self) -> int:
        """Number of peers with streams that register or wait."""
        return len(self._peers)
