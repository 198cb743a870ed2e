"""Facts as samples: the metric names and labels that dashboards rely on. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from quarterdeck.engine.results import AggregationValue
from quarterdeck.hubstate.ports import Sample
from quarterdeck.inventory.cluster import ClusterTotals
from quarterdeck.inventory.cluster_operators import ClusterOperatorFacts
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.inventory.operators import OperatorFacts

CLUSTER = {
    "nodes_total": "nodes",
    "nodes_ready": "nodes_ready",
    "pods_total": "pods",
    "pods_running": "pods_running",
    "cpu_capacity": "cpu_capacity",
    "memory_capacity_bytes": "memory_capacity",
    "namespaces_total": "namespaces",
    "deployments_total": "deployments",
}
"""Metrics of a cluster, and the facts they come from."""
NODE = {
    "cpu_usage_percent": "cpu_usage_percent",
    "memory_usage_percent": "memory_usage_percent",
    "cpu_capacity": "cpu_capacity",
    "memory_capacity_bytes": "memory_capacity",
    "storage_capacity_bytes": "storage_capacity",
    "pods_capacity": "pods_capacity",
    "cpu_allocatable": "cpu_allocatable",
    "memory_allocatable_bytes": "memory_allocatable",
    "storage_allocatable_bytes": "storage_allocatable",
    "pods_allocatable": "pods_allocatable",
    "cpu_requested": "cpu_requested",
    "memory_requested_bytes": "memory_requested",
    "pods_total": "pods_total",
    "pods_running": "pods_running",
    "pods_pending": "pods_pending",
    "pods_failed": "pods_failed",
    "pods_succeeded": "pods_succeeded",
}
STATES = ("available", "progressing", "degraded", "upgradeable")
GROUP = "group"
"""The label that carries the value of groupBy."""
CUSTOM = "clusterpulse_custom_resource_"


def build_cluster_samples(cluster: str, totals: ClusterTotals, at: datetime) -> Iterator[Sample]:
    """Eight gauges of a cluster."""
    labels = (("cluster", cluster),)
    for metric, fact in CLUSTER.items():
        yield Sample(f"clusterpulse_cluster_{metric}", labels, float(getattr(totals, fact)), at)


def build_node_samples(cluster: str, nodes: Sequence[NodeFacts], at: datetime) -> Iterator[Sample]:
    """Seventeen gauges of every node."""
    for node in nodes:
        labels = (("cluster", cluster), ("node", node.name))
        for metric, fact in NODE.items():
            yield Sample(f"clusterpulse_node_{metric}", labels, float(getattr(node, fact)), at)


def build_operator_samples(
    cluster: str,
    operators: Sequence[OperatorFacts],
    cluster_operators: Sequence[ClusterOperatorFacts],
    at: datetime,
) -> Iterator[Sample]:
    """Gauges of installed operators and of the conditions of ClusterOperators, if there are any."""
    if not operators and not cluster_operators:
        return
    own = (("cluster", cluster),)
    for name in sorted({each.name for each in operators}):
        yield Sample("clusterpulse_operator_installed", (*own, ("operator", name)), 1.0, at)
    for each in cluster_operators:
        labels = (*own, ("operator", each.name))
        for state in STATES:
            value = float(getattr(each, state))
            yield Sample(f"clusterpulse_cluster_operator_{state}", labels, value, at)
    yield Sample("clusterpulse_cluster_operators_total", own, float(len(operators)), at)
    yield Sample("clusterpulse_cluster_operators_count", own, float(len(cluster_operators)), at)


def build_aggregation_samples(
    cluster: str, source_id: str, values: Mapping[str, AggregationValue], at: datetime
) -> Iterator[Sample]:
    """One gauge per aggregation, or one per group; null and non-finite ones are left out."""
    for name, value in values.items():
        metric = CUSTOM + sanitize(name)
        labels = (("cluster", cluster), ("source", source_id))
        if not isinstance(value, Mapping):
            if _is_finite(value):
                yield Sample(metric, labels, float(value or 0), at)
            continue
        for group, number in sorted(value.items()):
            if _is_finite(number):
                grouped = tuple(sorted((*labels, (GROUP, group))))
                yield Sample(metric, grouped, float(number or 0), at)


def sanitize(name: str) -> str:
    """A metric's name from any text: everything but letters, digits and `_` becomes `_`."""
    return "".join(
        each if each.isascii() and (each.isalnum() or each == "_") else "_" for each in name
    )


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
