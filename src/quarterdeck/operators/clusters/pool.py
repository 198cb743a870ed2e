"""Clients of clusters, one for each connection, kept while its address and credentials stay.

Each client has a circuit breaker. It is kept across failures, and replaced when the address or the
credentials change.
"""

from collections.abc import Callable

from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.hubstate.collect.cluster import ClusterCollector
from quarterdeck.kit.breaker import CircuitBreaker
from quarterdeck.kit.clock import Clock
from quarterdeck.operators.clusters.credentials import hash_identity

IDLE_S = 1800.0
SWEEP_S = 300.0

MakeClient = Callable[[ClusterConfig], Client]


class ClusterAccess:
    """The client of one cluster with its circuit breaker."""

    def __init__(self, client: Client, identity: str, *, clock: Clock) -> None:
        self.client = client
        self.identity = identity
        self.breaker = CircuitBreaker(clock=clock)
        self.collector = ClusterCollector(client, clock=clock)
        self.used_at = clock.monotonic()


class ClientPool:
    """Clients by the uid of their connection."""

    def __init__(self, *, clock: Clock, make_client: MakeClient | None = None) -> None:
        self._clock = clock
        self._make = make_client or (lambda config: Client(config, clock=clock))
        self._entries: dict[str, ClusterAccess] = {}
        self._swept_at = clock.monotonic()

    def find(self, uid: str) -> ClusterAccess | None:
        """The client of a connection that has been used before."""
        return self._entries.get(uid)

    async def get(self, uid: str, config: ClusterConfig) -> ClusterAccess:
        """The client of a connection; a new one if its address or credentials changed."""
        identity = hash_identity(config)
        found = self._entries.get(uid)
        if found is None or found.identity != identity:
            if found is not None:
                await found.client.aclose()
            found = ClusterAccess(self._make(config), identity, clock=self._clock)
            self._entries[uid] = found
        found.used_at = self._clock.monotonic()
        await self._sweep()
        return found

    async def remove(self, uid: str) -> None:
        """Close the client of a connection, if it has one."""
        found = self._entries.pop(uid, None)
        if found is not None:
            await found.client.aclose()

    async def aclose(self) -> None:
        """Close every client."""
        for uid in list(self._entries):
            await self.remove(uid)

    def statistics(self) -> dict[str, int]:
        """How many clients there are."""
        return {"clients": len(self._entries)}

    async def _sweep(self) -> None:
        """Close clients that were not used for half an hour."""
        now = self._clock.monotonic()
        if now - self._swept_at < SWEEP_S:
            return
        self._swept_at = now
        for uid, each in list(self._entries.items()):
            if now - each.used_at > IDLE_S:
                await self.remove(uid)
