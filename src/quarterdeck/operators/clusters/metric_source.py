"""The reconciler of MetricSource: compile, collect from every connected cluster, keep, report.

Each cluster has its own schedule: a reconcile collects from those that are due. A collection that
takes longer than the interval continues in the background, and no second one starts meanwhile, so
a slow cluster does not delay the others.
"""

import asyncio
import contextlib
from collections.abc import Collection, Sequence

from quarterdeck import engine
from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.apis.clusterpulse.metric_source import MetricSource
from quarterdeck.engine.target import guess_resource
from quarterdeck.hubstate import keys, series, source_writes
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.readers import read_summaries
from quarterdeck.hubstate.source_writes import SourceHead
from quarterdeck.kit import rfc3339
from quarterdeck.kit.deadline import run_within
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.identity import Key
from quarterdeck.operators.clusters import report, source_report
from quarterdeck.operators.clusters.conditions import Reason
from quarterdeck.operators.clusters.failures import describe
from quarterdeck.operators.clusters.hub import PUSH, Hub, StoreProblem
from quarterdeck.operators.clusters.source_collection import Collections, SourceCollection
from quarterdeck.operators.clusters.source_report import Outcome
from quarterdeck.runtime import Context, RequeueAfter, Stalled, Waiting, get_logger
from quarterdeck.runtime.sharding.ownership import ShardLost

_RETRY_S = 30.0
_RETRY_DELETION_S = 10.0
_SLACK_S = 1.0
"""A cluster that is due within this time is collected now."""

SourceContext = Context[MetricSource]


class Sources:
    """Reconciles MetricSources."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._collection = SourceCollection(hub)
        self._known: dict[Key, Collections] = {}
        self._tasks: Supervisor | None = None
        self._log = get_logger("clusters")

    async def run(self) -> None:
        """Supervise the collections that run in the background, until cancelled."""
        async with Supervisor("collections") as tasks:
            self._tasks = tasks
            try:
                await tasks.wait_failed()
            finally:
                self._tasks = None

    async def reconcile(self, source: MetricSource, ctx: SourceContext) -> RequeueAfter:
        """Collect from the clusters that are due, and report the outcomes in the status."""
        is_ours = self._is_ours(source, ctx)
        known = self._compile(source, ctx)
        known.problem = await self._store_definition(source, known, ctx) if is_ours else None
        clusters = self._find_connected(await ctx.list(ClusterConnection))
        connected = {name: c for name, c in clusters.items() if self._hub.ownership.owns(name)}
        await self._drop_gone(source, known, connected)
        began = self._hub.clock.monotonic()
        pushed = {name for name, each in connected.items() if _is_pushed(each)}
        await self._take_pushed(source, known, sorted(pushed))
        pulled = {name: each for name, each in connected.items() if name not in pushed}
        await self._collect_due(source, known, pulled)
        took_s = self._hub.clock.monotonic() - began
        if is_ours:
            others = clusters.keys() - connected.keys()
            outcomes = [*known.outcomes.values(), *await self._read_outcomes(source, others)]
            everyone = await ctx.list(MetricSource)
            source_report.set_source_status(source, outcomes, ctx, took_s=took_s, others=everyone)
            report.set_stored(known.problem, ctx)
        return RequeueAfter(self._compute_delay_s(source, known))

    async def delete(self, source: MetricSource, ctx: SourceContext) -> None:
        """The finalizer: remove the definition and everything it collected."""
        known = self._known.pop(source.key, None)
        if known is not None:
            known.cancel()
        if not self._is_ours(source, ctx):
            text = "another replica removes what the source collected"
            raise Waiting(Reason.DELETING, text, after_s=_RETRY_DELETION_S)
        namespace, name = source.key
        identity = keys.source_id(namespace, name)
        try:
            found = await self._hub.state.list_keys("cluster:")
            writes = source_writes.plan_deletion(
                namespace,
                name,
                found=source_writes.find_collections(found, identity),
                resource_type=source.spec.rbac.resource_type_name,
                at=ctx.now(),
            )
            await self._hub.state.commit(list(writes))
        except HubStateError as error:
            reason = Reason.STORE_UNAVAILABLE
            raise Waiting(reason, str(error), after_s=_RETRY_DELETION_S) from error
        self._hub.metrics.unexport(identity)

    async def forget(self, key: Key) -> None:
        """Drop the state and the series of a deleted object, and cancel its collections."""
        known = self._known.pop(key, None)
        if known is not None:
            known.cancel()
        self._hub.metrics.unexport(keys.source_id(*key))

    # --- the steps

    def _is_ours(self, source: MetricSource, ctx: SourceContext) -> bool:
        """Whether this replica stores the definition and writes the status of a source.

        Every replica collects it from the clusters that it has.
        """
        is_ours = self._hub.ownership.owns(str(source.key))
        if not is_ours:
            ctx.status.discard()
        return is_ours

    async def _read_outcomes(
        self, source: MetricSource, clusters: Collection[str]
    ) -> list[Outcome]:
        """Outcomes of collections by other replicas, read from the store."""
        if not clusters:
            return []
        identity = keys.source_id(*source.key)
        try:
            found = await self._hub.state.get_many(
                [keys.custom(name, identity, "meta") for name in sorted(clusters)]
            )
        except HubStateError:
            return []
        return [source_report.read_outcome(data) for data in found if data is not None]

    def _compile(self, source: MetricSource, ctx: SourceContext) -> Collections:
        """The compiled source; compiled again only when the spec changed.

        Raises:
            Stalled: with every problem of the spec, which the status lists field by field.
        """
        known = self._known.get(source.key)
        if known is not None and known.source.spec == source.spec:
            return known
        if known is not None:
            del self._known[source.key]
            known.cancel()
        try:
            compiled = engine.compile_source(source.spec)
        except engine.SourceError as error:
            ctx.status.set(phase="Error", field_validation=engine.validate_fields(source.spec))
            raise Stalled(Reason.INVALID, str(error)) from error
        fresh = self._known[source.key] = Collections(compiled)
        fresh.compiled_at = rfc3339.format_time(ctx.now())
        return fresh

    async def _store_definition(
        self, source: MetricSource, known: Collections, ctx: SourceContext
    ) -> StoreProblem | None:
        """Store the definition, unless this process has stored it and the store still has it."""
        namespace, name = source.key
        target = source.spec.source
        head = SourceHead(
            compiled_at=known.compiled_at,
            hash=known.source.hash,
            kind=target.kind,
            api_version=target.api_version,
            resource_type_name=source.spec.rbac.resource_type_name,
        )
        try:
            before = await self._hub.state.get_fields(f"{keys.source(namespace, name)}:meta")
        except HubStateError as error:
            return StoreProblem(Reason.STORE_UNAVAILABLE, str(error))
        if known.is_stored and before.get("hash") == known.source.hash:
            return None
        definition = known.source.definition(
            name=name,
            namespace=namespace,
            resource=target.resource or guess_resource(target.kind),
            compiled_at=known.compiled_at,
        )
        writes = source_writes.plan_definition(
            namespace,
            name,
            definition=definition,
            spec=source.spec,
            head=head,
            before=before.get("resourceTypeName", ""),
        )
        problem = await self._hub.store(writes)
        known.is_stored = problem is None
        return problem

    def _find_connected(
        self, connections: Sequence[ClusterConnection]
    ) -> dict[str, ClusterConnection]:
        return {
            each.metadata.name: each
            for each in connections
            if each.status.phase == "Connected" and not each.is_deleting
        }

    async def _drop_gone(
        self, source: MetricSource, known: Collections, connected: dict[str, ClusterConnection]
    ) -> None:
        """Drop outcomes and series of clusters that are not connected; stored data stays."""
        identity = keys.source_id(*source.key)
        for name in [name for name in known.outcomes if name not in connected]:
            del known.outcomes[name]
            self._hub.metrics.unexport(identity, name)

    async def _take_pushed(
        self, source: MetricSource, known: Collections, clusters: Sequence[str]
    ) -> None:
        """Export and report what the collectors of clusters in push mode have stored."""
        identity, hub = keys.source_id(*source.key), self._hub
        try:
            found = await read_summaries(hub.state, identity, clusters)
        except HubStateError as error:
            known.problem = StoreProblem(Reason.STORE_UNAVAILABLE, str(error))
            return
        for name, each in found.items():
            values, at = each.aggregations.values, rfc3339.parse(each.aggregations.computed_at)
            samples = series.build_aggregation_samples(name, identity, values, at)
            hub.metrics.export(identity, name, samples)
            known.outcomes[name] = source_report.build_outcome(each.meta)

    async def _collect_due(
        self, source: MetricSource, known: Collections, connected: dict[str, ClusterConnection]
    ) -> None:
        """Collect from clusters that are due; wait for them, but never past the interval."""
        now = self._hub.clock.monotonic()
        gate = asyncio.Semaphore(self._hub.options.source_workers)
        for name, connection in connected.items():
            last = known.outcomes.get(name)
            is_due = last is None or last.due_at <= now + _SLACK_S or last.is_foreign
            if name in known.running or not is_due or self._tasks is None:
                continue
            work = self._collect_gated(source, known, connection, gate)
            known.running[name] = self._tasks.spawn(work, name=f"collect-{source.key}-{name}")
        if known.running:
            limit_s = float(source.spec.collection.interval_seconds)
            waiting = asyncio.wait(list(known.running.values()))
            with contextlib.suppress(TimeoutError):
                await run_within(self._hub.clock, limit_s, waiting)

    async def _collect_gated(
        self,
        source: MetricSource,
        known: Collections,
        connection: ClusterConnection,
        gate: asyncio.Semaphore,
    ) -> None:
        name = connection.metadata.name
        try:
            async with gate, self._hub.ownership.guard(name):
                known.outcomes[name] = await self._collection.collect(source, known, connection)
        except ShardLost:
            known.outcomes.pop(name, None)
        except Exception as error:  # whatever it is, it must not end the hub for the others
            self._log.error("a collection failed", error=error, name=name, source=str(source.key))
            self._hub.metrics.count_failure("source", Reason.ERROR)
            known.outcomes[name] = await self._collection.store_failure(
                source, connection, describe(error)
            )
        finally:
            known.running.pop(name, None)

    def _compute_delay_s(self, source: MetricSource, known: Collections) -> float:
        """Seconds until the next cluster is due."""
        if known.problem is not None:
            return _RETRY_S
        now = self._hub.clock.monotonic()
        interval_s = float(source.spec.collection.interval_seconds)
        due = [each.due_at - now for each in known.outcomes.values()]
        return min(interval_s, max(_SLACK_S, min(due, default=interval_s)))


def _is_pushed(connection: ClusterConnection) -> bool:
    status = connection.status.collector_status
    return connection.spec.collection_mode == PUSH and status is not None and status.connected
