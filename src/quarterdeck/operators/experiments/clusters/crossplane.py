"""Clusters claimed from Crossplane: gke, talos and vcluster.

A claim is ready when its condition Ready is True. Its kubeconfig is in the connection Secret of the
composite resource, whose name Crossplane writes into the claim.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from quarterdeck.apis.experiments.targets import ClusterSpec, Target
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.meta.identity import Key
from quarterdeck.operators.experiments import naming
from quarterdeck.operators.experiments.cluster_types import ClusterTypeConfig
from quarterdeck.operators.experiments.clusters.adapter import (
    Observed,
    Shape,
    Trouble,
    find_condition,
)
from quarterdeck.operators.experiments.foreign import (
    ClusterRequest,
    GKECluster,
    TalosCluster,
    VCluster,
    XGKECluster,
    XTalosCluster,
    XVCluster,
)

_SECRET_NAME = "{composite}-cluster-conn"
_MAX_CLAIM = naming.MAX_LABEL - naming.XR_SUFFIX


class _Claim:
    """The base of the three adapters."""

    kind: type[ClusterRequest]
    composite: type[ClusterRequest] | None
    max_name: int = _MAX_CLAIM
    default_nodes: ClassVar[int] = 1

    def __init__(self, secret_namespace: str, config: ClusterTypeConfig | None = None) -> None:
        """`config` replaces the kind and the Secret of its kubeconfig."""
        self._secret_namespace = secret_namespace
        self._secret_name = _SECRET_NAME
        if config is None:
            return
        self.kind = config.build_kind()
        self.composite = None
        self.max_name = config.max_name
        self._secret_name = config.secret_name
        if config.secret_namespace is not None:
            self._secret_namespace = config.secret_namespace

    def get_namespace(self, experiment: Experiment) -> str:
        """The namespace of the experiment."""
        return experiment.metadata.namespace

    def build(self, experiment: Experiment, target: Target, name: str) -> Mapping[str, Any]:
        """Build the claim; its composite resource is deleted before the claim is."""
        return {
            "apiVersion": self.kind.KIND.api_version,
            "kind": self.kind.KIND.kind,
            "metadata": {"name": name, "namespace": self.get_namespace(experiment)},
            "spec": {
                **({"compositeDeletePolicy": "Foreground"} if self.composite else {}),
                **self.build_spec(experiment, target.cluster),
            },
        }

    def build_spec(self, experiment: Experiment, cluster: ClusterSpec) -> Mapping[str, Any]:
        """The parameters of the claim."""
        raise NotImplementedError

    def observe(self, request: ClusterRequest) -> Observed:
        """Read readiness, errors, and the key of the kubeconfig Secret."""
        ready, reason, message, since = find_condition(request, "Ready")
        synced, why, detail, synced_since = find_condition(request, "Synced")
        reference = request.spec.resource_ref
        composite = reference.name if reference is not None else ""
        trouble = None
        if synced == "False" and why == "ReconcileError":
            trouble = Trouble(f"{why}: {detail}", synced_since)
        elif ready == "False" and reason == "Unavailable":
            trouble = Trouble(f"{reason}: {message}", since)
        return Observed(
            is_ready=ready == "True",
            message=": ".join(filter(None, (reason, message))) or "waiting for Crossplane",
            endpoint=request.status.endpoint,
            resource_name=composite,
            connection_secret=self._find_secret(request, composite),
            trouble=trouble,
        )

    def _find_secret(self, request: ClusterRequest, composite: str) -> Key | None:
        if "{composite}" in self._secret_name and not composite:
            return None
        name = self._secret_name.format(name=request.metadata.name, composite=composite)
        return Key(self._secret_namespace or request.metadata.namespace, name)

    def get_shape(self, cluster: ClusterSpec) -> Shape:
        """Number of nodes, with the type's default."""
        return Shape("", cluster.node_count or self.default_nodes)


class GKE(_Claim):
    """A GKE cluster."""

    kind = GKECluster
    composite = XGKECluster
    max_name = naming.MAX_GKE - len(naming.GKE_PREFIX) - naming.XR_SUFFIX

    def build_spec(self, experiment: Experiment, cluster: ClusterSpec) -> Mapping[str, Any]:
        """Zone, machines and disks."""
        spec: dict[str, Any] = {
            "zone": cluster.zone or "us-central1-a",
            "nodeCount": cluster.node_count or self.default_nodes,
            "machineType": cluster.machine_type or "e2-medium",
            "diskSizeGb": cluster.disk_size_gb or 50,
            "preemptible": cluster.preemptible,
        }
        if cluster.kubernetes_version:
            spec["kubernetesVersion"] = cluster.kubernetes_version
        return spec

    def get_shape(self, cluster: ClusterSpec) -> Shape:
        """Machine type and number of nodes."""
        return Shape(cluster.machine_type or "e2-medium", cluster.node_count or self.default_nodes)


class Talos(_Claim):
    """A Talos cluster: one control plane, or three from three workers on."""

    kind = TalosCluster
    composite = XTalosCluster
    default_nodes = 3

    def build_spec(self, experiment: Experiment, cluster: ClusterSpec) -> Mapping[str, Any]:
        """Workers and control planes."""
        nodes = cluster.node_count or self.default_nodes
        spec: dict[str, Any] = {"nodeCount": nodes, "controlPlaneReplicas": 3 if nodes >= 3 else 1}
        if cluster.kubernetes_version:
            spec["kubernetesVersion"] = cluster.kubernetes_version
        return spec


class VirtualCluster(_Claim):
    """A virtual cluster inside the hub."""

    kind = VCluster
    composite = XVCluster

    def build_spec(self, experiment: Experiment, cluster: ClusterSpec) -> Mapping[str, Any]:
        """Chart, size and the host namespace."""
        nodes = cluster.node_count or self.default_nodes
        size = "small" if nodes == 1 else "medium" if nodes <= 3 else "large"
        spec: dict[str, Any] = {
            "chartVersion": "0.20.0",
            "size": size,
            "storage": "5Gi",
            "hostNamespace": naming.build_base_name(experiment),
        }
        if cluster.kubernetes_version:
            spec["kubernetesVersion"] = cluster.kubernetes_version
        return spec
