"""What is kept of a visit: the declared spec, everything that was read, and samples of it. Pure."""

from collections.abc import Iterator

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.hubstate import cluster_writes, series
from quarterdeck.hubstate.cluster_writes import ClusterSpec, Stay
from quarterdeck.hubstate.collect.collected import Collected
from quarterdeck.hubstate.ports import Sample
from quarterdeck.hubstate.writes import Write
from quarterdeck.kit import rfc3339
from quarterdeck.operators.clusters import plan


def get_display_name(connection: ClusterConnection) -> str:
    """What people call the cluster."""
    return connection.spec.display_name or connection.metadata.name


def build_spec(connection: ClusterConnection, default_interval_s: int) -> ClusterSpec:
    """What a user declared, as the store keeps it."""
    reference, monitoring = connection.spec.credentials_ref, connection.spec.monitoring
    return ClusterSpec(
        display_name=get_display_name(connection),
        endpoint=connection.spec.endpoint,
        credentials_ref={
            "name": reference.name,
            "namespace": reference.namespace or connection.metadata.namespace,
        },
        labels=connection.spec.labels,
        monitoring={
            "interval": plan.get_interval(monitoring.interval, default_interval_s),
            "timeout": monitoring.timeout or 0,
        },
    )


def plan_collected(
    name: str, collected: Collected, before: frozenset[str], stay: Stay
) -> Iterator[Write]:
    """Everything that was read, as writes."""
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
    """Everything that was read, as samples."""
    at = collected.at
    yield from series.build_cluster_samples(name, collected.totals, at)
    yield from series.build_node_samples(name, collected.nodes, at)
    yield from series.build_operator_samples(
        name, collected.operators or (), collected.cluster_operators or (), at
    )
