"""Writes the result of a visit to a cluster to the store and the history."""

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.hubstate import cluster_writes, keys
from quarterdeck.hubstate.cluster_records import build_samples, plan_collected
from quarterdeck.hubstate.cluster_writes import Stay
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.notices import plan_notice
from quarterdeck.hubstate.push.leases import get_key as get_lease_key
from quarterdeck.hubstate.writes import ProlongKeys, Write
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
        """Store the result of a visit; after a failure, prolong what is stored instead."""
        hub, name, now = self._hub, connection.metadata.name, self._hub.clock.now()
        writes = list(
            cluster_writes.plan_spec(name, build_spec(connection, hub.options.interval_s))
        )
        stay = build_stay(hub.options, connection)
        if failed:
            writes += await self._plan_longer(seen, name, stay, now.timestamp())
        elif seen.collected is not None and not seen.is_pushed:
            if seen.nodes is None:
                seen.nodes = await self._read_nodes(name)
            writes += plan_collected(name, seen.collected, seen.nodes, stay)
        writes += cluster_writes.plan_status(
            name, health=verdict.health, message=verdict.message, at=now
        )
        seen.since = plan.find_since(
            verdict, seen.since, connection.status.conditions, rfc3339.format_time(now)
        )
        since = {type_: each.time for type_, each in seen.since.items()}
        writes += cluster_writes.plan_conditions(name, verdict, stay, since)
        is_pull = connection.spec.collection_mode != PUSH
        if is_pull and not seen.is_token_revoked:
            writes += Deployments.plan_revocation(name)
        data = {"health": str(verdict.health), "display_name": get_display_name(connection)}
        writes += plan_notice("cluster.reconciled", name, now, data)
        problem = await hub.store(writes)
        seen.is_token_revoked = is_pull and problem is None
        if not failed and seen.collected is not None and not seen.is_pushed:
            if problem is None:
                seen.stored_at = now.timestamp()
                seen.nodes = frozenset(each.name for each in seen.collected.nodes)
            hub.record(build_samples(name, seen.collected))
        return problem

    async def _read_nodes(self, name: str) -> frozenset[str]:
        """Read the stored nodes, to delete those that are gone."""
        try:
            return await self._hub.state.members(keys.cluster(name, "nodes"))
        except HubStateError:
            return frozenset()

    async def _plan_longer(self, seen: Seen, name: str, stay: Stay, now: float) -> list[Write]:
        """Prolong the keys of a cluster that could not be read; the values show their own age."""
        if now - seen.stored_at < stay.cache_s / 3:
            return []
        seen.stored_at = now
        try:
            found = await self._hub.state.keys(f"cluster:{name}:")
        except HubStateError:
            return []
        lease = get_lease_key(name)  # whether a collector is connected is never prolonged
        return [ProlongKeys(tuple(key for key in found if key != lease), stay.cache_s)]


def build_stay(options: HubOptions, connection: ClusterConnection) -> Stay:
    """The lifetimes of the keys of a cluster in the store."""
    interval_s = plan.get_interval(connection.spec.monitoring.interval, options.interval_s)
    return Stay(
        interval_s=interval_s,
        cache_s=options.lifetimes.cached(interval_s),
        scan_s=options.lifetimes.cached(max(interval_s, options.scan_interval_s)),
        retention_s=options.lifetimes.retention_s,
    )
