"""Reads one cycle: everything that is due now, with the readers of the hub."""

import secrets
import uuid
from datetime import datetime

import msgspec

from quarterdeck.agents.collector.chunks import describe_source_failure
from quarterdeck.agents.collector.settings import CollectorSettings
from quarterdeck.agents.collector.sources import Scheduled, SourceSchedule
from quarterdeck.client.client import Client
from quarterdeck.client.errors import ClientError
from quarterdeck.hubstate.collect.cluster import ClusterCollector
from quarterdeck.hubstate.collect.collected import Collected, CollectionRequest, fill_unread
from quarterdeck.hubstate.collect.source import SourceCollector
from quarterdeck.hubstate.push.batches import build_cluster_batch, build_source_batch
from quarterdeck.inventory.push.messages import CustomResourceBatch, MetricsBatch
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.deadline import run_within
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.wire.status import ApiError

_log = get_logger("agents.collector")
_LIMIT_S = 120.0


class CycleReader:
    """Reads one cluster in cycles; numbers the batches of this process."""

    def __init__(self, client: Client, settings: CollectorSettings, *, clock: Clock) -> None:
        self._client = client
        self._settings = settings
        self._clock = clock
        self._cluster = ClusterCollector(client, clock=clock)
        self._last: Collected | None = None
        """The last reading of the cluster, for numbers and facts that the next one cannot read."""
        self._cluster_due = clock.monotonic()
        self._scan_due = clock.monotonic()
        self.agent_id = secrets.token_hex(8)
        self._sequence = 0
        self.schedule = SourceSchedule()
        self.last_duration_ms = 0

    def next_due(self) -> float:
        """Monotonic time of the next cycle."""
        return self.schedule.next_due([self._cluster_due])

    async def read(self) -> MetricsBatch | None:
        """Read what is due; None if nothing was due or could be read."""
        began, at = self._clock.monotonic(), self._clock.now()
        batch = MetricsBatch()
        if began >= self._cluster_due - 1.0:
            self._cluster_due = began + self._settings.interval_s
            batch = await self._read_cluster(began) or batch
        sources = [await self._read_source(each) for each in self.schedule.take_due(began)]
        self.last_duration_ms = int((self._clock.monotonic() - began) * 1000)
        if batch.cluster_metrics is None and not sources:
            return None
        return self._finish(batch, sources, at)

    def _finish(
        self, batch: MetricsBatch, sources: list[CustomResourceBatch], at: datetime
    ) -> MetricsBatch:
        self._sequence += 1
        return msgspec.structs.replace(
            batch,
            cluster_name=self._settings.cluster_name,
            batch_id=str(uuid.uuid4()),
            collected_at=at,
            custom_resources=tuple(sources),
            sequence=self._sequence,
            agent_id=self.agent_id,
        )

    async def _read_cluster(self, now: float) -> MetricsBatch | None:
        is_scan = now >= self._scan_due
        wanted = CollectionRequest(endpoint=self._client.config.server, scans_operators=is_scan)
        try:
            collected = await run_within(self._clock, _LIMIT_S, self._cluster.collect(wanted))
        except (ApiError, ClientError, TimeoutError) as error:
            _log.warning("the cluster could not be read", reason=str(error))
            return None
        if is_scan:
            self._scan_due = now + self._settings.scan_interval_s
        if collected.problems:
            _log.debug("parts of the cluster could not be read", detail=str(collected.problems))
        return build_cluster_batch(self._fill(collected))

    def _fill(self, collected: Collected) -> Collected:
        """Fill totals, facts and short lists that could not be read.

        Other lists are left out of the batch, so that the hub keeps those that it has.
        """
        filled = fill_unread(collected, self._last) if self._last is not None else collected
        self._last = msgspec.structs.replace(filled, nodes=())  # thousands, and never filled in
        return msgspec.structs.replace(
            collected, totals=filled.totals, info=filled.info, resources=filled.resources
        )

    async def _read_source(self, each: Scheduled) -> CustomResourceBatch:
        limit_s = float(each.source.spec.collection.timeout_seconds)
        collector = SourceCollector(self._client.raw, each.source, clock=self._clock)
        try:
            result = await run_within(self._clock, limit_s, collector.collect())
        except TimeoutError:
            return describe_source_failure(each.identity, f"not read within {limit_s:g} s")
        except (ApiError, ClientError) as error:
            return describe_source_failure(each.identity, str(error))
        return build_source_batch(each.identity, result)
