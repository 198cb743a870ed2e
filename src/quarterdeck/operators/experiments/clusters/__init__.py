"""Clusters of targets: one adapter per way to get a cluster, all behind one Protocol.

Adapters are pure: they build the object that requests a cluster and read what it says. The
reconciler creates, watches and deletes. Start at `adapter`.
"""

from collections.abc import Mapping

from quarterdeck.operators.experiments.clusters.adapter import Adapter
from quarterdeck.operators.experiments.clusters.capi import TalosCapi, VClusterCapi
from quarterdeck.operators.experiments.clusters.crossplane import GKE, Talos, VirtualCluster
from quarterdeck.operators.experiments.clusters.given import Existing, Hub
from quarterdeck.operators.experiments.settings import Settings

__all__ = ["Adapter", "adapters"]


def adapters(settings: Settings) -> Mapping[str, Adapter]:
    """The adapter of each cluster type."""
    namespace = settings.crossplane_namespace
    return {
        "gke": GKE(namespace),
        "talos": TalosCapi() if settings.talos_mode == "capi" else Talos(namespace),
        "vcluster": VClusterCapi()
        if settings.vcluster_mode == "capi"
        else VirtualCluster(namespace),
        "hub": Hub(),
        "existing": Existing(),
    }
