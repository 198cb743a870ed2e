"""What the reconcilers share: the store, the history, the clients, and what was last seen."""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.hubstate.collect.collected import Collected
from quarterdeck.hubstate.errors import StoreRefused, StoreUnavailable
from quarterdeck.hubstate.history_writer import HistoryWriter
from quarterdeck.hubstate.ports import Sample, StateStore
from quarterdeck.hubstate.push.leases import CollectorLease
from quarterdeck.hubstate.writes import Write
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.identity import Key
from quarterdeck.operators.clusters.conditions import Reason
from quarterdeck.operators.clusters.metrics import HubMetrics
from quarterdeck.operators.clusters.options import HubOptions
from quarterdeck.operators.clusters.plan import Since
from quarterdeck.operators.clusters.pool import ClientPool
from quarterdeck.runtime import Lookup
from quarterdeck.runtime.sharding.ownership import Ownership, OwnsAll

PUSH = "push"
"""The collection mode of clusters whose collector sends what it finds."""


class Problem(msgspec.Struct, frozen=True):
    """Why something is not as it should be, for a condition."""

    reason: Reason
    message: str


class Seen(msgspec.Struct):
    """What is remembered of one cluster between two visits."""

    name: str = ""
    key: Key | None = None
    collected: Collected | None = None
    """The last complete reading."""
    nodes: frozenset[str] | None = None
    """Nodes that the store has; None until it was asked."""
    stored_at: float = 0.0
    scanned_at: float | None = None
    """When operators were last read, on the monotonic clock."""
    due_at: float | None = None
    since: dict[str, Since] = msgspec.field(default_factory=dict)
    """By condition: from when on it has had its health."""
    failure: str = ""
    """Why the last visit failed; empty if it did not."""
    failure_reason: Reason = Reason.CONNECTED
    read_secret_version: str = ""
    lease: CollectorLease | None = None
    """The collector that is connected, in push mode."""
    is_pushed: bool = False
    """Whether the last reading came from the collector."""
    deployed_hash: str = ""
    """What was last deployed as its collector."""
    deployed_image: str = ""
    deployed_at: float | None = None
    """When that was last tried, on the monotonic clock."""
    collector_problem: Problem | None = None
    """Why the collector could not be deployed."""
    pod_problem: str = ""
    """Why the pod of a collector that is deployed does not run."""
    is_token_revoked: bool = False
    """In pull mode: whether the store is known to have no token."""


StoreProblem = Problem
"""Why something is not in the store."""


class Hub:
    """Everything one hub process has."""

    def __init__(
        self,
        *,
        state: StateStore,
        history: HistoryWriter,
        pool: ClientPool,
        options: HubOptions,
        metrics: HubMetrics,
        clock: Clock,
    ) -> None:
        self.state = state
        self.history = history
        self.pool = pool
        self.options = options
        self.metrics = metrics
        self.clock = clock
        self.ownership: Ownership = OwnsAll()
        """Which clusters, registries, sources and policies this replica works on."""
        self.is_shared = False
        self.push_wanted = asyncio.Event()
        """Set when the first ClusterConnection in push mode is met."""
        self.ingester_problem = ""
        """Why the ingester of this process cannot listen; empty if it can."""
        self.seen: dict[str, Seen] = {}
        """By uid of the ClusterConnection."""

    def share(self, ownership: Ownership) -> None:
        """Share the clusters with other replicas."""
        self.ownership, self.is_shared = ownership, True

    def find_ownership(self) -> Ownership | None:
        """What limits the controllers; None in a hub that shares with nobody."""
        return self.ownership if self.is_shared else None

    def note_push(self, connection: ClusterConnection, _: Lookup) -> tuple[Key, ...]:
        """Let every replica serve collectors once a cluster pushes, whoever has the cluster."""
        if self.is_shared and connection.spec.collection_mode == PUSH:
            self.push_wanted.set()
        return ()

    async def store(self, writes: Iterable[Write]) -> StoreProblem | None:
        """Commit; what went wrong if something did: a store that is gone stops nobody."""
        wanted: Sequence[Write] = list(writes)
        try:
            await self.state.commit(wanted)
        except StoreUnavailable as error:
            self.metrics.count_store_failure(Reason.STORE_UNAVAILABLE)
            return StoreProblem(Reason.STORE_UNAVAILABLE, str(error))
        except StoreRefused as error:
            self.metrics.count_store_failure(Reason.STORE_REFUSED)
            return StoreProblem(Reason.STORE_REFUSED, str(error))
        return None

    def record(self, samples: Iterable[Sample]) -> None:
        """Hand samples to the history."""
        self.history.add(samples)
