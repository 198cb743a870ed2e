"""Computes the health of a cluster from four conditions: the worst one decides.

Unhealthy when the API does not answer or too many nodes are not ready. Degraded with any node not
ready, CPU or memory over its critical threshold, a ClusterOperator degraded or unavailable, or data
older than three intervals. Unknown before the first complete reading. Healthy otherwise.
"""

import enum
from collections.abc import Sequence

import msgspec

from quarterdeck.inventory.cluster_operators import ClusterOperatorFacts
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.meta.conditions import FALSE, TRUE, UNKNOWN, Status

STALE_INTERVALS = 3


class Health(enum.StrEnum):
    """The health of a cluster, a condition or a registry."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """The requested CPU and memory, in percent, that are a warning or critical."""

    cpu_warning: float = 85.0
    cpu_critical: float = 90.0
    memory_warning: float = 85.0
    memory_critical: float = 90.0
    nodes_unhealthy: float = 0.5
    """The share of nodes not ready that makes a cluster unhealthy."""


class Finding(msgspec.Struct, frozen=True):
    """The status, reason and message of one condition, and the health it implies."""

    status: Status
    reason: str
    message: str
    health: Health


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a verdict."""

    failure: str = ""
    """Why the cluster could not be read; empty if it could."""
    failure_reason: str = "Unreachable"
    nodes: Sequence[NodeFacts] | None = None
    """None until they were read."""
    cluster_operators: Sequence[ClusterOperatorFacts] = ()
    age_s: float | None = None
    """How old the data is; None if there is none."""
    interval_s: float = 30.0


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The health of a cluster and the four conditions it follows from."""

    health: Health
    message: str
    reachable: Finding
    nodes_ready: Finding
    operators_healthy: Finding
    data_fresh: Finding

    @property
    def findings(self) -> tuple[tuple[str, Finding], ...]:
        """The four conditions with their types."""
        return (
            ("Reachable", self.reachable),
            ("NodesReady", self.nodes_ready),
            ("OperatorsHealthy", self.operators_healthy),
            ("DataFresh", self.data_fresh),
        )


_WORST = (Health.UNHEALTHY, Health.DEGRADED, Health.UNKNOWN, Health.HEALTHY)


def assess_health(seen: Observation, thresholds: Thresholds) -> Verdict:
    """Compute the four conditions of a cluster and its health."""
    reachable = _assess_reachability(seen)
    nodes, operators = (
        _assess_nodes(seen.nodes, thresholds),
        _assess_operators(seen),
    )
    fresh = _assess_freshness(seen)
    findings = (reachable, nodes, operators, fresh)
    health = min((each.health for each in findings), key=_WORST.index)
    if health is Health.HEALTHY:
        message = "Cluster is reachable"
    else:
        message = next(each.message for each in findings if each.health is health)
    return Verdict(
        health=health,
        message=message,
        reachable=reachable,
        nodes_ready=nodes,
        operators_healthy=operators,
        data_fresh=fresh,
    )


def _assess_reachability(seen: Observation) -> Finding:
    if seen.failure:
        return Finding(FALSE, seen.failure_reason, seen.failure, Health.UNHEALTHY)
    return Finding(TRUE, "Connected", "the API server answers", Health.HEALTHY)


def _assess_nodes(nodes: Sequence[NodeFacts] | None, thresholds: Thresholds) -> Finding:
    if nodes is None:
        return Finding(UNKNOWN, "NotCollected", "nodes were not read yet", Health.HEALTHY)
    down = [each.name for each in nodes if not each.is_ready]
    if down:
        share = len(down) / len(nodes)
        text = f"{len(down)} of {len(nodes)} nodes are not ready: {_join_some(down)}"
        is_bad = share >= thresholds.nodes_unhealthy
        return Finding(
            FALSE, "NodesNotReady", text, Health.UNHEALTHY if is_bad else Health.DEGRADED
        )
    if problem := _find_pressure(nodes, thresholds):
        return Finding(TRUE, "CapacityCritical", problem, Health.DEGRADED)
    return Finding(TRUE, "AllNodesReady", _describe_ready_nodes(nodes, thresholds), Health.HEALTHY)


def _find_pressure(nodes: Sequence[NodeFacts], thresholds: Thresholds) -> str:
    for what, share, limit in _compute_shares(nodes, thresholds):
        if share > limit[1]:
            return f"{what} requests are {share:.0f}% of what is allocatable, over {limit[1]:g}%"
    return ""


def _describe_ready_nodes(nodes: Sequence[NodeFacts], thresholds: Thresholds) -> str:
    text = f"{len(nodes)} nodes are ready"
    for what, share, limit in _compute_shares(nodes, thresholds):
        if share > limit[0]:
            text += f"; {what} requests are over {limit[0]:g}% of what is allocatable"
    return text


def _compute_shares(
    nodes: Sequence[NodeFacts], thresholds: Thresholds
) -> tuple[tuple[str, float, tuple[float, float]], ...]:
    cpu = sum(each.cpu_allocatable for each in nodes)
    memory = sum(each.memory_allocatable for each in nodes)
    cpu_share = sum(each.cpu_requested for each in nodes) / cpu * 100 if cpu else 0.0
    memory_share = sum(each.memory_requested for each in nodes) / memory * 100 if memory else 0.0
    return (
        ("CPU", cpu_share, (thresholds.cpu_warning, thresholds.cpu_critical)),
        ("memory", memory_share, (thresholds.memory_warning, thresholds.memory_critical)),
    )


def _assess_operators(seen: Observation) -> Finding:
    operators = seen.cluster_operators
    if seen.nodes is None and not operators:
        text = "ClusterOperators were not read yet"
        return Finding(UNKNOWN, "NotCollected", text, Health.HEALTHY)
    if not operators:
        return Finding(
            TRUE, "NoClusterOperators", "the cluster has no ClusterOperators", Health.HEALTHY
        )
    issues = [each.issue for each in operators if each.issue]
    if issues:
        return Finding(FALSE, "OperatorsDegraded", _join_some(issues, "; "), Health.DEGRADED)
    return Finding(TRUE, "AllHealthy", f"{len(operators)} operators are available", Health.HEALTHY)


def _assess_freshness(seen: Observation) -> Finding:
    if seen.age_s is None:
        return Finding(UNKNOWN, "NoData", "the cluster was never read completely", Health.UNKNOWN)
    if seen.age_s > STALE_INTERVALS * seen.interval_s:
        # Whole minutes: the status must not change with every second that passes.
        text = f"the data is older than {int(seen.age_s // 60)} minutes"
        if seen.age_s < 120:
            text = f"the data is older than {STALE_INTERVALS} intervals"
        return Finding(FALSE, "Stale", text, Health.DEGRADED)
    text = f"the data is not older than {STALE_INTERVALS} intervals"
    return Finding(TRUE, "Fresh", text, Health.HEALTHY)


def _join_some(names: Sequence[str], join: str = ", ") -> str:
    shown = join.join(names[:5])
    return shown if len(names) <= 5 else f"{shown}{join}and {len(names) - 5} more"
