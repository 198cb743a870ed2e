"""Plans the writes of a cluster's data, with the keys, types and shapes that readers expect."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.lifetimes import INFO_S, METRICS_S, compute_ttl
from quarterdeck.hubstate.notices import build_deletion_notice
from quarterdeck.hubstate.writes import (
    AddMembers,
    AddScored,
    DeleteKeys,
    RemoveMembers,
    ReplaceMembers,
    SetFields,
    SetValue,
    Write,
)
from quarterdeck.inventory import cluster_operators, nodes, operators
from quarterdeck.inventory.cluster import ClusterTotals
from quarterdeck.inventory.cluster_operators import ClusterOperatorFacts
from quarterdeck.inventory.health import Verdict
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.inventory.operators import OperatorFacts
from quarterdeck.inventory.resources import ResourceLists
from quarterdeck.kit import json, rfc3339

LISTS = (
    "pods",
    "deployments",
    "services",
    "statefulsets",
    "daemonsets",
    "configmaps",
    "ingresses",
)


class ClusterSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The declared spec, in the shape of `cluster:{c}:spec`."""

    display_name: str
    endpoint: str
    credentials_ref: Mapping[str, str]
    labels: Mapping[str, str]
    monitoring: Mapping[str, int]


class ClusterTtls(msgspec.Struct, frozen=True, kw_only=True):
    """The interval of one cluster, and the TTLs of its keys, in seconds."""

    interval_s: float
    cache_s: int
    """CACHE_TTL, or longer for a long interval."""
    scan_s: int
    """TTL of what is read every OPERATOR_SCAN_INTERVAL."""
    retention_s: int


def plan_spec(name: str, spec: ClusterSpec) -> Iterator[Write]:
    """Plan the writes of the declared spec and its labels."""
    yield SetValue(keys.cluster(name, "spec"), json.encode(spec))
    labels = keys.cluster(name, "labels")
    yield SetValue(labels, json.encode(spec.labels)) if spec.labels else DeleteKeys((labels,))


def plan_status(name: str, *, health: str, message: str, at: datetime) -> Iterator[Write]:
    """Plan the writes of health and message; they also add the cluster to the set of all."""
    now = rfc3339.format_time(at)
    status = {"health": health, "message": message, "last_check": now}
    yield AddMembers(keys.CLUSTERS, (name,))
    yield SetValue(keys.cluster(name, "status"), json.encode(status))
    yield SetFields(keys.cluster(name, "meta"), {"last_update": now})


def plan_conditions(
    name: str, verdict: Verdict, ttls: ClusterTtls, since: Mapping[str, str]
) -> Iterator[Write]:
    """Plan the write of the four conditions of a cluster, from which alerts are derived.

    `since` has the time since which each condition has had its health.
    """
    found = [
        {
            "type": type_,
            "status": each.status,
            "reason": each.reason,
            "message": each.message,
            "health": each.health,
            "last_transition_time": since[type_],
        }
        for type_, each in verdict.findings
    ]
    yield SetValue(keys.cluster(name, "conditions"), json.encode(found), ttls.cache_s)


def plan_info(name: str, info: Mapping[str, Any], ttls: ClusterTtls) -> Iterator[Write]:
    """Plan the write of version, platform and console."""
    ttl_s = compute_ttl(INFO_S, ttls.interval_s)
    yield SetValue(keys.cluster(name, "info"), json.encode(info), ttl_s)


def plan_totals(name: str, totals: ClusterTotals, ttls: ClusterTtls) -> Iterator[Write]:
    """Plan the write of the totals of a cluster."""
    ttl_s = compute_ttl(METRICS_S, ttls.interval_s)
    yield SetValue(keys.cluster(name, "metrics"), json.encode(totals), ttl_s)


def plan_namespaces(
    name: str, namespaces: Sequence[str], *, now: str, ttls: ClusterTtls
) -> Iterator[Write]:
    """Plan the writes of the names of all namespaces, as a list and as a set."""
    names = sorted(namespaces)
    shape = {"namespaces": names, "count": len(names), "timestamp": now}
    yield SetValue(keys.cluster(name, "namespaces"), json.encode(shape), ttls.cache_s)
    yield ReplaceMembers(keys.cluster(name, "namespaces:set"), tuple(names), ttls.cache_s)


def plan_nodes(
    name: str,
    facts: Sequence[NodeFacts],
    *,
    before: frozenset[str],
    at: datetime,
    ttls: ClusterTtls,
) -> Iterator[Write]:
    """Plan the writes of nodes, their history and the summary; `before` are the stored nodes."""
    present = {each.name for each in facts}
    if gone := sorted(before - present):
        yield RemoveMembers(keys.cluster(name, "nodes"), tuple(gone))
        parts = ("", "metrics", "conditions")
        yield DeleteKeys(tuple(keys.node(name, node, part) for node in gone for part in parts))
    if present:
        # expires like the rest: a batch may be stored while its cluster is deleted
        ttl_s = max(ttls.cache_s, ttls.retention_s)
        yield AddMembers(keys.cluster(name, "nodes"), tuple(sorted(present)), ttl_s)
    for each in facts:
        yield from _plan_node(name, each, at, ttls)
    summary = nodes.summarize(facts, now=rfc3339.format_time(at))
    key = keys.cluster(name, "nodes:summary")
    yield SetFields(key, {"data": json.encode(summary).decode()}, ttls.cache_s)


def _plan_node(name: str, facts: NodeFacts, at: datetime, ttls: ClusterTtls) -> Iterator[Write]:
    fields = {
        "current": json.encode(facts).decode(),
        "last_update": facts.timestamp,
        "status": facts.status,
        "cpu_usage": f"{facts.cpu_usage_percent:.2f}",
        "memory_usage": f"{facts.memory_usage_percent:.2f}",
        "pods_total": str(facts.pods_total),
    }
    yield SetFields(keys.node(name, facts.name), fields, ttls.cache_s)
    point = {
        "timestamp": facts.timestamp,
        "cpu_usage": facts.cpu_usage_percent,
        "memory_usage": facts.memory_usage_percent,
        "cpu_requested": facts.cpu_requested,
        "memory_requested": facts.memory_requested,
        "pods_running": facts.pods_running,
        "pods_pending": facts.pods_pending,
        "pods_total": facts.pods_total,
    }
    second = int(at.timestamp())
    yield AddScored(
        keys.node(name, facts.name, "metrics"),
        {json.encode(point).decode(): second},
        second - ttls.retention_s,
        ttls.retention_s,
    )
    if facts.conditions:
        conditions = {each.type: json.encode(each).decode() for each in facts.conditions}
        yield SetFields(keys.node(name, facts.name, "conditions"), conditions, ttls.cache_s)


def plan_operators(name: str, facts: Sequence[OperatorFacts], ttls: ClusterTtls) -> Iterator[Write]:
    """Plan the writes of the operators of OLM; an empty list has no key."""
    yield _plan_list(keys.cluster(name, "operators"), facts, ttls.scan_s)
    summary = operators.summarize(facts)
    yield SetValue(keys.cluster(name, "operators_summary"), json.encode(summary), ttls.scan_s)


def plan_cluster_operators(
    name: str, facts: Sequence[ClusterOperatorFacts], *, now: str, ttls: ClusterTtls
) -> Iterator[Write]:
    """Plan the writes of OpenShift's ClusterOperators: the list, each one, and the summary."""
    yield _plan_list(keys.cluster(name, "cluster_operators"), facts, ttls.cache_s)
    summary = json.encode(cluster_operators.summarize(facts, now=now))
    yield SetValue(keys.cluster(name, "cluster_operators_summary"), summary, ttls.cache_s)
    for each in facts:
        key = keys.cluster(name, f"cluster_operator:{each.name}")
        yield SetValue(key, json.encode(each), ttls.cache_s)


def plan_resources(
    name: str, lists: ResourceLists, *, now: str, ttls: ClusterTtls
) -> Iterator[Write]:
    """Plan the writes of the short lists of resources; an empty list has no key."""
    counts = {kind: len(getattr(lists, kind)) for kind in LISTS}
    for kind in LISTS:
        yield _plan_list(keys.cluster(name, kind), getattr(lists, kind), ttls.cache_s)
    metadata = {
        "timestamp": now,
        "collection_time_ms": lists.collection_time_ms,
        "truncated": lists.truncated,
        "total_resources": sum(counts.values()),
        **{f"{kind}_count": count for kind, count in counts.items()},
    }
    yield SetValue(keys.cluster(name, "resource_metadata"), json.encode(metadata), ttls.cache_s)


def plan_deletion(name: str, found: Sequence[str], at: datetime) -> Iterator[Write]:
    """Plan the deletion of a cluster; `found` are the keys that begin with `cluster:{c}:`."""
    yield DeleteKeys((*found, keys.events(name)))
    yield RemoveMembers(keys.CLUSTERS, (name,))
    yield build_deletion_notice("cluster.deleted", name, at)


def _plan_list(key: str, facts: Sequence[msgspec.Struct], ttl_s: int) -> Write:
    return SetValue(key, json.encode(facts), ttl_s) if facts else DeleteKeys((key,))
