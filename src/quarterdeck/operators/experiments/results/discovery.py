"""Finds Services of a target that may be metrics stores, by their names. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_NOT_PROMETHEUS = ("operator", "alertmanager", "node-exporter", "grafana", "kube-state-metrics")
_VICTORIA = ("victoria-metrics", "vmsingle", "vmselect")
_NOT_VICTORIA = ("operator", "agent", "alert")
_MIMIR_READERS = ("query-frontend", "querier", "nginx")
_NAMESPACES = (
    "monitoring",
    "observability",
    "kube-prometheus-stack",
    "victoria-metrics",
    "mimir",
    "default",
)


class Candidate(NamedTuple):
    """A Service that may answer PromQL."""

    namespace: str
    name: str
    port: int

    @property
    def proxy_path(self) -> str:
        """Path of the API server's proxy to the Service."""
        return f"/api/v1/namespaces/{self.namespace}/services/{self.name}:{self.port}/proxy"


def find_candidates(services: Sequence[Mapping[str, Any]], namespace: str) -> list[Candidate]:
    """Find Services to try: in the experiment's namespace first, then in usual ones."""
    order = {name: rank for rank, name in enumerate((namespace, *_NAMESPACES))}
    found = []
    for service in services:
        metadata = service["metadata"]
        if (port := guess_port(metadata["name"])) is not None:
            found.append(Candidate(metadata["namespace"], metadata["name"], port))
    return sorted(found, key=lambda each: (order.get(each.namespace, len(order)), each))


def guess_port(name: str) -> int | None:
    """Guess the PromQL port of a Service by its name; None if it is no metrics store."""
    if "prometheus" in name and not any(word in name for word in _NOT_PROMETHEUS):
        return 9090
    if any(word in name for word in _VICTORIA) and not any(word in name for word in _NOT_VICTORIA):
        return 8428
    if "mimir" in name and any(word in name for word in _MIMIR_READERS):
        return 8080
    return None
