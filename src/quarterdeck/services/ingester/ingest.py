"""Stores complete batches; a batch is acknowledged only after it is stored.

The history is written first, because writing a sample twice changes nothing. State and checkpoint
are committed together: a hub that is killed between the two writes stores the batch again when it
is sent again, and one that is killed after the commit recognizes it.

Another replica of the hub may have the collector's new stream while this one still serves the old
one. A history that is slow would make the old batch the last one, so the checkpoint is read again
just before the commit.

The current state never waits for the history: while that does not answer, samples wait in memory,
up to a limit, and batches are acknowledged without it.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from weakref import WeakValueDictionary

import msgspec

from quarterdeck.hubstate import cluster_records, collection_records, keys, series
from quarterdeck.hubstate.cluster_writes import ClusterTtls
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.history_writer import HistoryWriter
from quarterdeck.hubstate.notices import plan_notice
from quarterdeck.hubstate.ports import History, Sample, StateStore
from quarterdeck.hubstate.push import tokens
from quarterdeck.hubstate.push.batches import InvalidBatch, read_cluster, read_source
from quarterdeck.hubstate.writes import Write
from quarterdeck.inventory.push.messages import Ack, MetricsBatch
from quarterdeck.kit import json
from quarterdeck.kit.budget import Budget
from quarterdeck.kit.clock import Clock
from quarterdeck.services.ingester import checkpoints
from quarterdeck.services.ingester.checkpoints import Checkpoint
from quarterdeck.services.ingester.errors import CheckpointChanged, TokenRefused
from quarterdeck.services.ingester.metrics import IngesterMetrics
from quarterdeck.services.ingester.options import IngesterOptions


class Ingest:
    """Stores batches."""

    def __init__(
        self,
        state: StateStore,
        history: History,
        *,
        options: IngesterOptions,
        clock: Clock,
        metrics: IngesterMetrics | None = None,
    ) -> None:
        self._state = state
        self._options = options
        self._clock = clock
        self.metrics = metrics or IngesterMetrics()
        self.slots = asyncio.Semaphore(options.max_parallel_batches)
        """Limits how many batches are decoded at once: decoded ones take ten times their bytes."""
        self.held = Budget(options.max_held_bytes)
        """Budget for the incomplete batches of all streams."""
        self.backlog = HistoryWriter(history, clock=clock, max_waiting=options.max_waiting_samples)
        """Samples that wait until the history answers again; its `run` must run meanwhile."""
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Locks of clusters: a stream that was replaced may still store its last batch, and each
        batch is judged by the checkpoint of the one before."""
        self.intervals: Mapping[str, int] = {}
        """Seconds between two collections of each source."""
        self.stored = 0
        self.duplicates = 0
        self.refused = 0

    async def ingest(self, cluster: str, token_hash: str, batch: MetricsBatch) -> Ack:
        """Store a batch of a cluster, unless it is stored already.

        Raises:
            TokenRefused: if the token has been replaced since the stream began.
        """
        turn = self._turns.setdefault(cluster, asyncio.Lock())
        async with turn:
            try:
                await self._ingest(cluster, token_hash, batch)
            except InvalidBatch as error:
                return self.refuse(batch.batch_id, str(error))
            except (HubStateError, CheckpointChanged) as error:
                self.metrics.count_batch("failed")
                return Ack(batch_id=batch.batch_id, error=str(error))
        return Ack(batch_id=batch.batch_id, success=True)

    def refuse(self, batch_id: str, reason: str) -> Ack:
        """Build the answer to a batch that can never be stored."""
        self.refused += 1
        self.metrics.count_batch("refused")
        return Ack(batch_id=batch_id, error=reason, is_permanent=True)

    async def _ingest(self, cluster: str, token_hash: str, batch: MetricsBatch) -> None:
        if batch.cluster_name not in ("", cluster):
            raise InvalidBatch(
                f"the batch names cluster {batch.cluster_name[:80]!r}, but the collector is "
                f"registered as {cluster!r}"
            )
        names = (
            tokens.get_key(cluster),
            checkpoints.get_key(cluster),
            keys.cluster(cluster, "spec"),
        )
        record, stored, spec = await self._state.get_many(names)
        if not tokens.matches(record, token_hash):
            raise TokenRefused(cluster)
        checkpoint = checkpoints.decode_checkpoint(stored)
        if checkpoint.has_stored(batch):
            if stored is not None:  # the first try may have failed after the store had it
                await self._state.commit([checkpoints.plan_checkpoint(cluster, stored)])
            self.duplicates += 1
            self.metrics.count_batch("duplicate")
            return
        sources = await self._state.get_members(keys.ENABLED_SOURCES)
        plan = _BatchPlan(cluster, batch, checkpoint, sources=sources, now=self._clock.now())
        plan.read(self._find_ttl)
        nodes = await self._state.get_members(keys.cluster(cluster, "nodes"))
        writes = plan.build_writes(nodes, self._options.build_ttls(_read_interval(spec)))
        is_recorded = await self._record(plan.samples)
        if await self._state.get(checkpoints.get_key(cluster)) != stored:
            raise CheckpointChanged(cluster)
        after = checkpoint.advance(batch, plan.at.timestamp(), sources=sources)
        await self._state.commit(
            [*writes, checkpoints.plan_checkpoint(cluster, json.encode(after))]
        )
        if not is_recorded:
            self.backlog.add(plan.samples)
        self.stored += 1
        self.metrics.count_batch("stored")

    async def _record(self, samples: Sequence[Sample]) -> bool:
        """Write samples to the history; False if they have to wait.

        It is asked only when nothing waits: each try may take as long as an answer to a collector.
        """
        if self.backlog.waiting:
            return False
        return await self.backlog.write_now(samples)

    def _find_ttl(self, source: str) -> int:
        """How long rows of a source are kept: at least three of its own intervals."""
        interval_s = self.intervals.get(source, self._options.interval_s)
        return self._options.lifetimes.compute_cache_ttl(interval_s)


class _Monitoring(msgspec.Struct, frozen=True):
    interval: int = 0


class _Spec(msgspec.Struct, frozen=True):
    monitoring: _Monitoring = _Monitoring()


def _read_interval(spec: bytes | None) -> int:
    """The interval of a cluster as the hub has stored it; 0 if it is not known."""
    try:
        return msgspec.json.decode(spec, type=_Spec).monitoring.interval if spec else 0
    except msgspec.DecodeError:
        return 0


class _BatchPlan:
    """The writes and samples of one batch."""

    def __init__(
        self,
        cluster: str,
        batch: MetricsBatch,
        checkpoint: Checkpoint,
        *,
        sources: frozenset[str],
        now: datetime,
    ) -> None:
        self._cluster = cluster
        self._batch = batch
        self._checkpoint = checkpoint
        self._sources = sources
        self._now = now
        # a clock that is ahead must not make later readings look old
        self.at = min(batch.collected_at or now, now)
        self.samples: list[Sample] = []
        self._source_writes: list[Write] = []

    def read(self, find_ttl: Callable[[str], int]) -> None:
        """Decode everything, before anything is written.

        Raises:
            InvalidBatch: if a part cannot be stored.
        """
        self._collected = read_cluster(self._batch, self.at)
        if self._collected is not None:
            self.samples += cluster_records.build_samples(self._cluster, self._collected)
        for each in self._batch.custom_resources:
            if each.source_id not in self._sources:
                continue  # deleted since it was collected
            ttl_s = find_ttl(each.source_id)
            is_new = self._is_newer(self._checkpoint.sources_at.get(each.source_id, 0.0))
            if each.failure:
                if is_new:
                    self._source_writes.append(
                        collection_records.plan_failure(
                            each.source_id, self._cluster, each.failure, at=self.at, ttl_s=ttl_s
                        )
                    )
                continue
            result = read_source(each, self.at)
            self.samples += series.build_aggregation_samples(
                self._cluster, each.source_id, result.values, self.at
            )
            if is_new:
                self._source_writes += collection_records.plan_collection(
                    each.source_id, self._cluster, result, ttl_s
                )

    def build_writes(self, nodes: frozenset[str], ttls: ClusterTtls) -> list[Write]:
        """Build the writes of newer data than is stored; older batches only add to the history."""
        writes = list(self._source_writes)
        if self._collected is None or not self._is_newer(self._checkpoint.cluster_at):
            return writes
        writes += cluster_records.plan_collected(self._cluster, self._collected, nodes, ttls)
        writes += self._plan_notice()
        return writes

    def _is_newer(self, stored: float) -> bool:
        return self._checkpoint.is_continued_by(self._batch) or self.at.timestamp() > stored

    def _plan_notice(self) -> Iterator[Write]:
        data = {"source": "collector-push"}
        yield from plan_notice("cluster.reconciled", self._cluster, self._now, data)
