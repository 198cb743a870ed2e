"""The cluster as a whole: its version, its console, and its totals."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from quarterdeck.inventory.forms import Document
from quarterdeck.inventory.nodes import READY, NodeFacts, PodTally

UNKNOWN = "unknown"
OPENSHIFT = "OpenShift"
_CONDITION_FIELDS = ("type", "status", "reason", "message", "lastTransitionTime")


class ClusterTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of a cluster, in the shape of `cluster:{c}:metrics`."""

    timestamp: str
    nodes: int = 0
    nodes_ready: int = 0
    namespaces: int = 0
    pods: int = 0
    pods_running: int = 0
    cpu_capacity: float = 0.0
    memory_capacity: int = 0
    deployments: int = 0


def sum_nodes(
    nodes: Sequence[NodeFacts], tally: PodTally, *, namespaces: int, deployments: int, now: str
) -> ClusterTotals:
    """Build the totals of a cluster."""
    return ClusterTotals(
        timestamp=now,
        nodes=len(nodes),
        nodes_ready=sum(each.status == READY for each in nodes),
        namespaces=namespaces,
        pods=tally.total,
        pods_running=tally.running,
        cpu_capacity=sum(each.cpu_capacity for each in nodes),
        memory_capacity=sum(each.memory_capacity for each in nodes),
        deployments=deployments,
    )


def read_info(
    *,
    endpoint: str,
    server_version: Document | None = None,
    cluster_version: Document | None = None,
    console_route: Document | None = None,
) -> dict[str, Any]:
    """Build `cluster:{c}:info` from OpenShift's ClusterVersion, or else the server's version."""
    info: dict[str, Any] = {"api_url": endpoint, "version": UNKNOWN, "platform": "Kubernetes"}
    if server_version is not None:
        info["version"] = str(server_version.get("gitVersion") or UNKNOWN)
    if cluster_version is not None:
        info.update(_describe_openshift(cluster_version))
        info["console_url"] = _find_console(endpoint, console_route)
    return info


def _describe_openshift(version: Document) -> dict[str, Any]:
    spec, status = _to_map(version.get("spec")), _to_map(version.get("status"))
    desired = _to_map(status.get("desired"))
    history = [_to_map(each) for each in status.get("history") or ()]
    newest = history[0] if history else {}
    updates = [_to_map(each) for each in status.get("availableUpdates") or ()]
    conditions = [
        {_to_snake_case(name): each.get(name, "") for name in _CONDITION_FIELDS}
        for each in map(_to_map, status.get("conditions") or ())
    ]
    truths = {each["type"]: each["status"] == "True" for each in conditions}
    return {
        "platform": OPENSHIFT,
        "version": str(desired.get("version") or newest.get("version") or UNKNOWN),
        "channel": str(spec.get("channel") or ""),
        "cluster_id": str(spec.get("clusterID") or ""),
        "image": str(desired.get("image") or ""),
        "update_available": bool(updates),
        "available_update_version": str(updates[0].get("version") or "") if updates else "",
        "version_state": str(newest.get("state") or ""),
        "version_started_time": str(newest.get("startedTime") or ""),
        "version_completion_time": str(newest.get("completionTime") or ""),
        "conditions": conditions,
        "is_progressing": truths.get("Progressing", False),
        "is_degraded": truths.get("Degraded", truths.get("Failing", False)),
        "is_available": truths.get("Available", False),
    }


def _find_console(endpoint: str, route: Document | None) -> str:
    """The URL of the console: from its Route, or guessed from the API server's host name."""
    spec = _to_map((route or {}).get("spec"))
    if host := str(spec.get("host") or ""):
        return f"{'https' if spec.get('tls') else 'http'}://{host}"
    name = urlsplit(endpoint).hostname or ""
    if name.startswith("api."):
        return f"https://console-openshift-console.apps.{name.removeprefix('api.')}"
    return endpoint


def _to_map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _to_snake_case(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)
