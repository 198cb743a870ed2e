"""The records of one reading of a cluster, by pull or push: writes and samples. Pure."""

from collections.abc import Iterator

from quarterdeck.hubstate import cluster_writes, series
from quarterdeck.hubstate.cluster_writes import ClusterTtls
from quarterdeck.hubstate.collect.collected import Collected
from quarterdeck.hubstate.ports import Sample
from quarterdeck.hubstate.writes import Write
from quarterdeck.kit import rfc3339


def plan_collected(
    name: str, collected: Collected, before: frozenset[str], ttls: ClusterTtls
) -> Iterator[Write]:
    """Plan the writes of everything that was read."""
    at, now = collected.at, rfc3339.format_time(collected.at)
    yield from cluster_writes.plan_nodes(name, collected.nodes, before=before, at=at, ttls=ttls)
    yield from cluster_writes.plan_info(name, collected.info, ttls)
    yield from cluster_writes.plan_totals(name, collected.totals, ttls)
    if collected.namespaces is not None:
        yield from cluster_writes.plan_namespaces(name, collected.namespaces, now=now, ttls=ttls)
    if collected.resources is not None:
        yield from cluster_writes.plan_resources(name, collected.resources, now=now, ttls=ttls)
    if collected.operators is not None:
        yield from cluster_writes.plan_operators(name, collected.operators, ttls)
    if collected.cluster_operators is not None:
        yield from cluster_writes.plan_cluster_operators(
            name, collected.cluster_operators, now=now, ttls=ttls
        )


def build_samples(name: str, collected: Collected) -> Iterator[Sample]:
    """Build the samples of everything that was read."""
    at = collected.at
    yield from series.build_cluster_samples(name, collected.totals, at)
    yield from series.build_node_samples(name, collected.nodes, at)
    yield from series.build_operator_samples(
        name, collected.operators or (), collected.cluster_operators or (), at
    )
