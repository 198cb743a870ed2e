"""Clusters of targets: one adapter for each type of cluster, all with one Protocol.

Adapters are pure: they build the object that requests a cluster and read its status. The
reconciler creates, watches and deletes. Start at `adapter`.
"""

from collections.abc import Mapping

from quarterdeck.operators.experiments.clusters.adapter import Adapter
from quarterdeck.operators.experiments.clusters.capi import TalosCapi, VClusterCapi
from quarterdeck.operators.experiments.clusters.crossplane import GKE, Talos, VirtualCluster
from quarterdeck.operators.experiments.clusters.existing import Existing, Hub
from quarterdeck.operators.experiments.foreign import CLAIMS, ClusterRequest
from quarterdeck.operators.experiments.settings import Settings

__all__ = ["Adapter", "build_adapters", "list_request_kinds"]


def build_adapters(settings: Settings) -> Mapping[str, Adapter]:
    """The adapter of each cluster type."""
    namespace, types = settings.crossplane_namespace, settings.cluster_types
    return {
        "gke": GKE(namespace, types.get("gke")),
        "talos": TalosCapi()
        if settings.talos_mode == "capi"
        else Talos(namespace, types.get("talos")),
        "vcluster": VClusterCapi()
        if settings.vcluster_mode == "capi"
        else VirtualCluster(namespace, types.get("vcluster")),
        "hub": Hub(),
        "existing": Existing(),
    }


def list_request_kinds(found: Mapping[str, Adapter]) -> tuple[type[ClusterRequest], ...]:
    """Every kind of object that requests a cluster."""
    own = [adapter.kind for adapter in found.values() if adapter.kind is not None]
    return tuple(dict.fromkeys((*CLAIMS, *own)))
