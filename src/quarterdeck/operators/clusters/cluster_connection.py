"""The reconciler of ClusterConnection: one visit to one cluster, as a short list of steps.

Failures of the cluster do not make a visit raise: they become conditions, and the next visit is
planned. The last successful reading is kept, with its age.
"""

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.apis.clusterpulse.metric_source import MetricSource
from quarterdeck.client.client import Client
from quarterdeck.client.errors import ClientError
from quarterdeck.hubstate import cluster_writes
from quarterdeck.hubstate.collect.cluster import ping
from quarterdeck.hubstate.collect.collected import CollectionRequest, fill_unread
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.push.leases import find_lease
from quarterdeck.hubstate.push.readings import read_pushed
from quarterdeck.inventory.health import Observation, Verdict, assess_health
from quarterdeck.kit import rfc3339
from quarterdeck.kit.breaker import CircuitOpen, State
from quarterdeck.kit.deadline import run_within
from quarterdeck.meta.identity import Key
from quarterdeck.operators.clusters import collector, plan, report
from quarterdeck.operators.clusters.alerts import Alerts
from quarterdeck.operators.clusters.conditions import Reason
from quarterdeck.operators.clusters.connector import ClusterConnector
from quarterdeck.operators.clusters.deployment import Deployments
from quarterdeck.operators.clusters.failures import (
    CredentialsUnavailable,
    describe,
    find_reason,
)
from quarterdeck.operators.clusters.hub import PUSH, Hub, Seen, StoreProblem
from quarterdeck.operators.clusters.namesakes import ensure_only_one, has_rival
from quarterdeck.operators.clusters.options import build_namespace_predicate
from quarterdeck.operators.clusters.pool import ClusterAccess
from quarterdeck.operators.clusters.visit_store import VisitStore, build_ttls
from quarterdeck.runtime import Context, RequeueAfter, Waiting
from quarterdeck.wire.status import ApiError

_SLOW_S = 5.0
_RETRY_DELETION_S = 10.0

ClusterContext = Context[ClusterConnection]


class Clusters:
    """Reconciles ClusterConnections."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._keeps = build_namespace_predicate(hub.options.namespace_filter)
        self._uids: dict[Key, str] = {}
        self._connector = ClusterConnector(hub)
        self._store = VisitStore(hub)
        self._deployments = Deployments(hub)
        self._alerts = Alerts(hub)

    async def reconcile(self, connection: ClusterConnection, ctx: ClusterContext) -> RequeueAfter:
        """Read the cluster, store the result, and set its health in the status."""
        await ensure_only_one(connection, ctx)
        uid = connection.metadata.uid
        self._uids[connection.key] = uid
        seen = self._hub.seen.setdefault(uid, Seen(name=connection.metadata.name))
        seen.key = connection.key
        self._note_lag(seen)
        interval_s = plan.get_interval(
            connection.spec.monitoring.interval, self._hub.options.interval_s
        )
        failure = await self._visit(connection, seen, ctx)
        await self._keep_collector(connection, seen, ctx)
        verdict = self._assess(connection, seen, interval_s)
        problem = await self._store.store(connection, seen, verdict, failed=failure is not None)
        await self._alerts.update(
            seen.name,
            await ctx.list(MetricSource),
            ttl_s=build_ttls(self._hub.options, connection).cache_s,
        )
        self._report(connection, seen, verdict, problem=problem, ctx=ctx)
        delay_s = plan.plan_visit(interval_s, verdict.health, failed=failure is not None)
        if problem is not None:
            delay_s = min(delay_s, plan.MAX_ERROR_S / 2)
        seen.due_at = self._hub.clock.monotonic() + delay_s
        return RequeueAfter(delay_s)

    async def delete(self, connection: ClusterConnection, ctx: ClusterContext) -> None:
        """The finalizer: remove every key of the cluster, and its client."""
        name, uid = connection.metadata.name, connection.metadata.uid
        if (seen := self._hub.seen.get(uid)) is not None:
            seen.is_deleting = True
        if seen is not None or not await has_rival(connection, ctx):
            try:
                found = await self._hub.state.list_keys(f"cluster:{name}:")
                await self._hub.state.commit(
                    list(cluster_writes.plan_deletion(name, found, ctx.now()))
                )
            except HubStateError as error:
                reason = Reason.STORE_UNAVAILABLE
                raise Waiting(reason, str(error), after_s=_RETRY_DELETION_S) from error
            self._hub.metrics.forget_cluster(name)
            await self._remove_collector(connection, ctx)
        self._hub.seen.pop(uid, None)
        await self._hub.pool.remove(uid)

    async def forget(self, key: Key) -> None:
        """Drop the state of an object that was deleted, or that another replica owns now."""
        uid = self._uids.pop(key, "")
        if self._hub.seen.pop(uid, None) is not None:
            self._hub.metrics.forget_cluster(key.name)
        await self._hub.pool.remove(uid)

    # --- the steps

    async def _visit(
        self, connection: ClusterConnection, seen: Seen, ctx: ClusterContext
    ) -> Exception | None:
        """Read the cluster; returns the error if it could not be read."""
        if await self._use_pushed(connection, seen):
            return None
        try:
            access = await self._connector.connect(connection, seen, ctx)
        except CredentialsUnavailable as error:
            return self._note_failure(seen, error)
        limit_s = float(connection.spec.monitoring.timeout or self._hub.options.connect_timeout_s)
        try:
            async with access.breaker.guard():
                await run_within(self._hub.clock, limit_s, ping(access.client))
                limit_s = float(self._hub.options.collect_timeout_s)
                await self._collect(connection, access, seen, ctx, limit_s=limit_s)
        except CircuitOpen as error:
            return error  # what was said of the last try still holds
        except (ApiError, ClientError, TimeoutError) as error:
            failure = self._note_failure(seen, error, limit_s=limit_s)
            if access.breaker.state is not State.CLOSED:
                seen.failure_reason = Reason.CIRCUIT_OPEN
                seen.failure = f"circuit breaker is open: {seen.failure}"
            return failure
        seen.failure, seen.failure_reason = "", Reason.CONNECTED
        return None

    async def _use_pushed(self, connection: ClusterConnection, seen: Seen) -> bool:
        """Use what the collector pushed; False if there is nothing, and the hub has to read."""
        seen.lease, seen.is_pushed = None, False
        if connection.spec.collection_mode != PUSH:
            return False
        self._hub.push_wanted.set()
        name = connection.metadata.name
        try:
            await collector.store_token_hash(self._hub.state, connection)
            seen.lease = await find_lease(self._hub.state, name)
            pushed = await read_pushed(self._hub.state, name) if seen.lease else None
        except HubStateError:
            return False  # pulling does not need the store
        if pushed is None:
            return False
        seen.collected, seen.nodes, seen.is_pushed = pushed, None, True
        seen.failure, seen.failure_reason = "", Reason.CONNECTED
        return True

    async def _keep_collector(
        self, connection: ClusterConnection, seen: Seen, ctx: ClusterContext
    ) -> None:
        """Deploy the collector of push mode; remove it in pull mode."""

        async def connect() -> Client:
            return (await self._connector.connect(connection, seen, ctx)).client

        if connection.spec.collection_mode == PUSH:
            await self._deployments.ensure(connection, seen, ctx, connect)
        else:
            await self._deployments.leave(connection, seen, ctx, connect)

    async def _remove_collector(self, connection: ClusterConnection, ctx: ClusterContext) -> None:
        seen = self._hub.seen.setdefault(connection.metadata.uid, Seen(is_deleting=True))

        async def connect() -> Client:
            known = self._hub.pool.find(connection.metadata.uid)
            return (known or await self._connector.connect(connection, seen, ctx)).client

        await self._deployments.remove(connection, ctx, connect)

    def _note_failure(self, seen: Seen, error: Exception, limit_s: float = 0.0) -> Exception:
        seen.failure, seen.failure_reason = (
            describe(error, time_limit_s=limit_s),
            find_reason(error),
        )
        self._hub.metrics.count_failure("cluster", seen.failure_reason)
        return error

    async def _collect(
        self,
        connection: ClusterConnection,
        access: ClusterAccess,
        seen: Seen,
        ctx: ClusterContext,
        *,
        limit_s: float,
    ) -> None:
        hub, began = self._hub, self._hub.clock.monotonic()
        is_scan = seen.scanned_at is None or began - seen.scanned_at >= hub.options.scan_interval_s
        wanted = CollectionRequest(
            endpoint=connection.spec.endpoint,
            limits=hub.options.limits,
            keeps_namespace=self._keeps,
            scans_operators=is_scan,
        )
        collected = await run_within(hub.clock, limit_s, access.collector.collect(wanted))
        took_s = hub.clock.monotonic() - began
        if is_scan:
            seen.scanned_at = began
        if seen.collected is not None:
            collected = fill_unread(collected, seen.collected)
        seen.collected = collected
        hub.metrics.observe_collection("cluster", took_s)
        if took_s > _SLOW_S:
            ctx.log.info("reading a cluster took long", duration_s=round(took_s, 3))

    def _assess(self, connection: ClusterConnection, seen: Seen, interval_s: int) -> Verdict:
        last = seen.collected
        age_s = self._compute_age_s(connection, seen)
        return assess_health(
            Observation(
                failure=seen.failure,
                failure_reason=seen.failure_reason,
                nodes=last.nodes if last is not None else None,
                cluster_operators=(last.cluster_operators or ()) if last is not None else (),
                age_s=age_s,
                interval_s=interval_s,
            ),
            self._hub.options.thresholds,
        )

    def _report(
        self,
        connection: ClusterConnection,
        seen: Seen,
        verdict: Verdict,
        *,
        problem: StoreProblem | None,
        ctx: ClusterContext,
    ) -> None:
        """Set status and conditions, and record events and metrics, after a visit."""
        access = self._hub.pool.find(connection.metadata.uid)
        breaker = access.breaker.state if access is not None else State.CLOSED
        self._hub.metrics.observe_health(connection.metadata.name, verdict.health, breaker)
        report.set_cluster_status(verdict, seen.collected, ctx, failed=bool(seen.failure))
        report.set_stored(problem, ctx)
        if seen.collected is not None and (problems := seen.collected.problems):
            ctx.log.debug("parts of a cluster could not be read", detail=str(dict(problems)))

    # --- smaller things

    def _compute_age_s(self, connection: ClusterConnection, seen: Seen) -> float | None:
        now = self._hub.clock.now()
        if seen.collected is not None:
            return (now - seen.collected.at).total_seconds()
        if connection.status.last_sync_time:
            return (now - rfc3339.parse(connection.status.last_sync_time)).total_seconds()
        return None

    def _note_lag(self, seen: Seen) -> None:
        if seen.due_at is not None:
            self._hub.metrics.observe_lag(self._hub.clock.monotonic() - seen.due_at)
            seen.due_at = None
