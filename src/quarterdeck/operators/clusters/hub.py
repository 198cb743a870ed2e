"""What the reconcilers share: store, history, clients, and the state of each cluster."""

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
from quarterdeck.runtime import Lister
from quarterdeck.runtime.sharding.ownership import Ownership, OwnsAll

PUSH = "push"
"""The collection mode of clusters whose collector sends what it finds."""


class Problem(msgspec.Struct, frozen=True):
    """Reason and message of a failure, for a condition."""

    reason: Reason
    message: str


class Seen(msgspec.Struct):
    """State of one cluster that is kept in memory between two visits."""

    name: str = ""
    key: Key | None = None
    collected: Collected | None = None
    """The last complete reading."""
    nodes: frozenset[str] | None = None
    """Names of the nodes in the store; None until they were read."""
    stored_at: float | None = None
    """When the last reading was stored, or kept from expiring, on the monotonic clock."""
    scanned_at: float | None = None
    """When operators were last read, on the monotonic clock."""
    due_at: float | None = None
    is_deleting: bool = False
    """Whether the connection is being deleted: nothing of the cluster is stored any more."""
    since: dict[str, Since] = msgspec.field(default_factory=dict)
    """By condition type: its health, and the time since which it has had it."""
    failure: str = ""
    """Why the last visit failed; empty if it did not."""
    failure_reason: Reason = Reason.CONNECTED
    secret_version: str = ""
    lease: CollectorLease | None = None
    """The collector that is connected, in push mode."""
    is_pushed: bool = False
    """Whether the last reading came from the collector."""
    deployed_hash: str = ""
    """Hash of the collector's plan that was deployed last."""
    deployed_image: str = ""
    deployed_at: float | None = None
    """Time of the last attempt to deploy, on the monotonic clock."""
    collector_problem: Problem | None = None
    """Why the collector could not be deployed."""
    pod_problem: str = ""
    """Why the pod of the deployed collector does not run; empty if that is not known."""
    is_token_revoked: bool = False
    """In pull mode: whether the store is known to have no token."""


StoreProblem = Problem
"""Why something is not in the store."""


class Hub:
    """What the reconcilers of one hub process share."""

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
        """Set once there is a ClusterConnection in push mode; the ingester starts then."""
        self.ingester_problem = ""
        """Why the ingester of this process cannot listen; empty if it can."""
        self.seen: dict[str, Seen] = {}
        """By uid of the ClusterConnection."""

    def share(self, ownership: Ownership) -> None:
        """Share the clusters with other replicas."""
        self.ownership, self.is_shared = ownership, True

    def find_ownership(self) -> Ownership | None:
        """The ownership that limits the controllers; None without sharding."""
        return self.ownership if self.is_shared else None

    def note_push(self, connection: ClusterConnection, _: Lister) -> tuple[Key, ...]:
        """Start the ingester for a cluster in push mode, also in replicas that do not own it."""
        if self.is_shared and connection.spec.collection_mode == PUSH:
            self.push_wanted.set()
        return ()

    async def store(self, writes: Iterable[Write]) -> StoreProblem | None:
        """Commit the writes; returns the problem, if any: a failed store stops no reconcile."""
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
        """Queue samples for the history."""
        self.history.add(samples)
