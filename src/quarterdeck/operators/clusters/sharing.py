"""Shares clusters, registries and policies among the replicas of the hub.

Every replica runs the controllers for the names it owns. A MetricSource is collected by every
replica from the clusters it has; the owner of the source's name writes its status.
"""

from typing import NamedTuple

from quarterdeck.apis.clusterpulse.v1alpha1 import (
    ClusterConnection,
    MetricSource,
    MonitorAccessPolicy,
    RegistryConnection,
)
from quarterdeck.meta.objects import Object
from quarterdeck.runtime import Manager, get_logger
from quarterdeck.runtime.sharding.sharder import Group, Sharder

_OWNED: tuple[type[Object], ...] = (ClusterConnection, RegistryConnection, MonitorAccessPolicy)


class Shared(NamedTuple):
    """The group of replicas that share the clusters, and the identity of this replica."""

    group: Group
    identity: str
    """Unique to each process: a restart gets a new one."""


def add_sharder(manager: Manager, group: Group, *, identity: str) -> Sharder:
    """Take part in the group as long as the manager runs."""

    def wake(changed: frozenset[int]) -> None:
        """Enqueue the objects of changed shards, and every MetricSource.

        New objects are visited at once, and lost ones are dropped; others are not read again.
        """
        for kind in _OWNED:
            for key in list(manager.informers.ensure(kind).cache):
                if sharder.find_shard(key.name) in changed:
                    manager.enqueue(kind.KIND.kind.lower(), key)
        for key in list(manager.informers.ensure(MetricSource).cache):
            manager.enqueue(MetricSource.KIND.kind.lower(), key)

    sharder = Sharder(
        manager.api,
        group,
        identity=identity,
        clock=manager.clock,
        rng=manager.random,
        log=get_logger("clusters"),
        on_change=wake,
    )
    manager.add_runnable("shards", sharder.run, needs_leader_election=False)
    manager.add_readyz_check("shards", sharder.check)
    registry = manager.metrics.registry
    shards = registry.gauge("clusterpulse_hub_shards", "Shards of clusters owned by this replica")
    members = registry.gauge("clusterpulse_hub_members", "Replicas that share the clusters")

    def read() -> None:
        counts = sharder.statistics()
        shards.labels().value = float(counts["shards"])
        members.labels().value = float(counts["members"])

    registry.add_collector(read)
    return sharder
