"""Collects one MetricSource from one cluster, and stores the result."""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.apis.clusterpulse.metric_source import MetricSource
from quarterdeck.client.errors import ClientError
from quarterdeck.hubstate import collection_records, keys, series
from quarterdeck.hubstate.collect.source import SourceCollector, SourceResult
from quarterdeck.kit.breaker import CircuitOpen
from quarterdeck.kit.deadline import run_within
from quarterdeck.operators.clusters import plan
from quarterdeck.operators.clusters.failures import describe, find_reason
from quarterdeck.operators.clusters.hub import Hub, StoreProblem
from quarterdeck.operators.clusters.source_report import Outcome
from quarterdeck.wire.status import ApiError

if TYPE_CHECKING:
    from quarterdeck.engine.source import CompiledSource


class Collections:
    """State of one source that is kept in memory between two reconciles."""

    def __init__(self, source: "CompiledSource") -> None:
        self.source = source
        self.outcomes: dict[str, Outcome] = {}
        """By name of the cluster."""
        self.running: dict[str, asyncio.Task[None]] = {}
        self.compiled_at = ""
        self.is_stored = False
        self.problem: StoreProblem | None = None

    def cancel(self) -> None:
        """End the collections that run: what they would store is no longer wanted."""
        for task in self.running.values():
            task.cancel()


class SourceCollection:
    """Collects MetricSources from clusters."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def collect(
        self, source: MetricSource, known: Collections, connection: ClusterConnection
    ) -> Outcome:
        """Collect from one cluster within the time limit; a failure is returned as an outcome."""
        hub, limits = self._hub, source.spec.collection
        began = hub.clock.monotonic()
        access = hub.pool.find(connection.metadata.uid)
        if access is None:  # not visited yet since the hub began
            return Outcome(due_at=began)
        collector = SourceCollector(access.client.raw, known.source, clock=hub.clock)
        try:
            access.breaker.acquire()
            access.breaker.release()
            result = await run_within(hub.clock, float(limits.timeout_seconds), collector.collect())
        except (ApiError, ClientError, TimeoutError, CircuitOpen) as error:
            hub.metrics.count_failure("source", find_reason(error))
            text = describe(error, time_limit_s=float(limits.timeout_seconds))
            return await self.store_failure(source, connection, text)
        hub.metrics.observe_collection("source", hub.clock.monotonic() - began)
        if self._is_gone(connection):
            return Outcome(due_at=began)
        return await self._keep(source, known, connection.metadata.name, result)

    async def _keep(
        self, source: MetricSource, known: Collections, cluster: str, result: SourceResult
    ) -> Outcome:
        identity = keys.source_id(*source.key)
        interval_s = source.spec.collection.interval_seconds
        writes = collection_records.plan_collection(
            identity, cluster, result, self._compute_ttl_s(source)
        )
        problem = await self._hub.store(writes)
        if problem is not None:
            known.problem = problem
        samples = list(
            series.build_aggregation_samples(cluster, identity, result.values, result.at)
        )
        self._hub.record(samples)
        self._hub.metrics.export(identity, cluster, samples)
        has_errors = bool(result.errors) or problem is not None
        delay_s = plan.plan_collection_delay(interval_s, errors=has_errors)
        return Outcome(
            resources=len(result.resources),
            errors=len(result.errors),
            problem=result.errors[0] if result.errors else "",
            due_at=self._hub.clock.monotonic() + delay_s,
            at=result.at,
            result=msgspec.structs.replace(result, resources=[], values={}),
        )

    async def store_failure(
        self, source: MetricSource, connection: ClusterConnection, text: str
    ) -> Outcome:
        """Record that a cluster could not be read: its rows stay, and its meta has the cause."""
        if self._is_gone(connection):
            return Outcome(due_at=self._hub.clock.monotonic())
        write = collection_records.plan_failure(
            keys.source_id(*source.key),
            connection.metadata.name,
            text,
            at=self._hub.clock.now(),
            ttl_s=self._compute_ttl_s(source),
        )
        await self._hub.store([write])
        delay_s = plan.plan_collection_delay(source.spec.collection.interval_seconds, errors=True)
        due_at = self._hub.clock.monotonic() + delay_s
        problem = f"{connection.metadata.name}: {text}"
        return Outcome(errors=1, problem=problem, due_at=due_at)

    def _is_gone(self, connection: ClusterConnection) -> bool:
        """Whether a cluster was deleted meanwhile: no keys may be left behind."""
        seen = self._hub.seen.get(connection.metadata.uid)
        return seen is None or seen.is_deleting

    def _compute_ttl_s(self, source: MetricSource) -> int:
        return self._hub.options.lifetimes.compute_cache_ttl(
            source.spec.collection.interval_seconds
        )
