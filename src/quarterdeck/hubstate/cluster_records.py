"""The records of one reading of a cluster, by pull or push: writes and samples. Pure."""

from collections.abc import Iterator

from quarterdeck.hubstate import cluster_writes, series
from quarterdeck.hubstate.cluster_writes import Stay
from quarterdeck.hubstate.collect.collected import Collected
from quarterdeck.hubstate.ports import Sample
from quarterdeck.hubstate.writes import Write
from quarterdeck.kit import rfc3339


def plan_collected(
    name: str, collected: Collected, before: frozenset[str], stay: Stay
) -> Iterator[Write]:
    """Plan the writes of everything that was read."""
    at, now = collected.at, rfc3339.format_time(collected.at)
    yield from cluster_writes.plan_nodes(name, collected.nodes, before=before, at=at, stay=stay)
    yield from cluster_writes.plan_info(name, collected.info, stay)
    yield from cluster_writes.plan_totals(name, collected.totals, stay)
    if collected.namespaces is not None:
        yield from cluster_writes.plan_namespaces(name, collected.namespaces, now=now, stay=stay)
    if collected.resources is not None:
        yield from cluster_writes.plan_resources(name, collected.resources, now=now, stay=stay)
    if collected.operators is not None:
        yield from cluster_writes.plan_operators(name, collected.operators, stay)
    if collected.cluster_operators is not None:
        yield from cluster_writes.plan_cluster_operators(
            name, collected.cluster_operators, now=now, stay=stay
        )


def build_samples(name: str, collected: Collected) -> Iterator[Sample]:
    """Build the samples of everything that was read."""
    at = collected.at
    yield from series.build_cluster_samples(name, collected.totals, at)
    yield from series.build_node_samples(name, collected.nodes, at)
    yield from series.build_operator_samples(
        name, collected.operators or (), collected.cluster_operators or (), at
    )
