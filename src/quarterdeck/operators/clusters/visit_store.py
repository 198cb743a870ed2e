"""Writes the result of a visit to a cluster to the store and the history."""

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.hubstate import cluster_writes, keys
from quarterdeck.hubstate.cluster_records import build_samples, plan_collected
from quarterdeck.hubstate.cluster_writes import ClusterTtls
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.notices import plan_notice
from quarterdeck.hubstate.push.leases import get_key as get_lease_key
from quarterdeck.hubstate.writes import ExtendTtl, Write
from quarterdeck.inventory.health import Verdict
from quarterdeck.kit import rfc3339
from quarterdeck.operators.clusters import plan
from quarterdeck.operators.clusters.cluster_records import build_spec, get_display_name
from quarterdeck.operators.clusters.deployment import Deployments
from quarterdeck.operators.clusters.hub import PUSH, Hub, Seen, StoreProblem
from quarterdeck.operators.clusters.options import HubOptions


class VisitStore:
    """Stores the results of visits."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def store(
        self, connection: ClusterConnection, seen: Seen, verdict: Verdict, *, failed: bool
    ) -> StoreProblem | None:
        """Store the result of a visit; after a failure, extend the TTLs of what is stored."""
        hub, name, now = self._hub, connection.metadata.name, self._hub.clock.now()
        writes = list(
            cluster_writes.plan_spec(name, build_spec(connection, hub.options.interval_s))
        )
        ttls = build_ttls(hub.options, connection)
        if failed:
            writes += await self._plan_extension(seen, name, ttls)
        elif seen.collected is not None and not seen.is_pushed:
            if seen.nodes is None:
                seen.nodes = await self._read_nodes(name)
            writes += plan_collected(name, seen.collected, seen.nodes, ttls)
        writes += cluster_writes.plan_status(
            name, health=verdict.health, message=verdict.message, at=now
        )
        seen.since = plan.find_since(
            verdict, seen.since, connection.status.conditions, rfc3339.format_time(now)
        )
        since = {type_: each.time for type_, each in seen.since.items()}
        writes += cluster_writes.plan_conditions(name, verdict, ttls, since)
        is_pull = connection.spec.collection_mode != PUSH
        if is_pull and not seen.is_token_revoked:
            writes += Deployments.plan_revocation(name)
        data = {"health": str(verdict.health), "display_name": get_display_name(connection)}
        writes += plan_notice("cluster.reconciled", name, now, data)
        problem = await hub.store(writes)
        seen.is_token_revoked = is_pull and problem is None
        if not failed and seen.collected is not None and not seen.is_pushed:
            if problem is None:
                seen.stored_at = hub.clock.monotonic()
                seen.nodes = frozenset(each.name for each in seen.collected.nodes)
            hub.record(build_samples(name, seen.collected))
        return problem

    async def _read_nodes(self, name: str) -> frozenset[str]:
        """Read the stored nodes, to delete those that are gone."""
        try:
            return await self._hub.state.get_members(keys.cluster(name, "nodes"))
        except HubStateError:
            return frozenset()

    async def _plan_extension(self, seen: Seen, name: str, ttls: ClusterTtls) -> list[Write]:
        """Extend the TTLs of a cluster that could not be read; the values have their own times."""
        now = self._hub.clock.monotonic()
        if seen.stored_at is not None and now - seen.stored_at < ttls.cache_s / 3:
            return []
        seen.stored_at = now
        try:
            found = await self._hub.state.list_keys(f"cluster:{name}:")
        except HubStateError:
            return []
        lease = get_lease_key(name)  # whether a collector is connected is never extended
        return [ExtendTtl(tuple(key for key in found if key != lease), ttls.cache_s)]


def build_ttls(options: HubOptions, connection: ClusterConnection) -> ClusterTtls:
    """Build the TTLs of the keys of a cluster."""
    interval_s = plan.get_interval(connection.spec.monitoring.interval, options.interval_s)
    return ClusterTtls(
        interval_s=interval_s,
        cache_s=options.lifetimes.compute_cache_ttl(interval_s),
        scan_s=options.lifetimes.compute_cache_ttl(max(interval_s, options.scan_interval_s)),
        retention_s=options.lifetimes.retention_s,
    )
