"""Clusters requested from Cluster API: a Talos Cluster, or a VCluster.

For Talos only the Cluster object is ours; it names a control plane and an infrastructure object
that a ClusterClass or the installation provides.
"""

from collections.abc import Mapping
from typing import Any

from quarterdeck.apis.experiments.targets import ClusterSpec, Target
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.meta.identity import Key
from quarterdeck.operators.experiments import naming
from quarterdeck.operators.experiments.clusters.adapter import (
    Observed,
    Shape,
    Trouble,
    find_condition,
    join_endpoint,
)
from quarterdeck.operators.experiments.foreign import CapiCluster, CapiVCluster, ClusterRequest


class _Capi:
    """The base of both adapters: reads readiness, endpoint and kubeconfig of a request."""

    kind: type[ClusterRequest]
    composite: type[ClusterRequest] | None = None
    max_name = naming.MAX_LABEL

    def get_namespace(self, experiment: Experiment) -> str:
        """The namespace of the experiment."""
        return experiment.metadata.namespace

    def observe(self, request: ClusterRequest) -> Observed:
        """Read phase, readiness and the address of the control plane."""
        status, endpoint = request.status, request.spec.control_plane_endpoint
        available = find_condition(request, "Available")[0] == "True"
        is_ready = (
            status.ready
            or available
            or (status.phase == "Provisioned" and status.control_plane_ready)
        )
        trouble = None
        if status.failure_reason or status.failure_message or status.phase == "Failed":
            words = (
                status.failure_reason or status.reason,
                status.failure_message or status.message,
            )
            trouble = Trouble(": ".join(filter(None, words)) or "the provider reports Failed")
        namespace, name = request.key
        return Observed(
            is_ready=is_ready and endpoint is not None and bool(endpoint.host),
            message=f"phase {status.phase or 'unknown'}",
            endpoint=join_endpoint(endpoint.host, endpoint.port) if endpoint else "",
            resource_name=name,
            connection_secret=Key(namespace, f"{name}-kubeconfig"),
            trouble=trouble,
        )


class TalosCapi(_Capi):
    """A Talos cluster by Cluster API."""

    kind = CapiCluster

    def build(self, experiment: Experiment, target: Target, name: str) -> Mapping[str, Any]:
        """Build the Cluster, with a topology of the class talos."""
        nodes = self.get_shape(target.cluster).node_count
        namespace = self.get_namespace(experiment)
        return {
            "apiVersion": "cluster.x-k8s.io/v1beta1",
            "kind": "Cluster",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": {"cluster.x-k8s.io/provider": "talos"},
            },
            "spec": {
                "clusterNetwork": {
                    "pods": {"cidrBlocks": ["10.244.0.0/16"]},
                    "services": {"cidrBlocks": ["10.96.0.0/12"]},
                },
                "topology": {
                    "class": "talos",
                    "version": target.cluster.kubernetes_version or "v1.30.0",
                    "controlPlane": {"replicas": 3 if nodes >= 3 else 1},
                    "workers": {
                        "machineDeployments": [
                            {"class": "default", "name": "workers", "replicas": nodes}
                        ]
                    },
                },
            },
        }

    def get_shape(self, cluster: ClusterSpec) -> Shape:
        """Three workers by default."""
        return Shape("", cluster.node_count or 3)


class VClusterCapi(_Capi):
    """A virtual cluster by Cluster API."""

    kind = CapiVCluster

    def build(self, experiment: Experiment, target: Target, name: str) -> Mapping[str, Any]:
        """Build the VCluster, with the Helm chart of vcluster."""
        return {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
            "kind": "VCluster",
            "metadata": {"name": name, "namespace": self.get_namespace(experiment)},
            "spec": {
                "helmRelease": {
                    "chart": {
                        "name": "vcluster",
                        "repo": "https://charts.loft.sh",
                        "version": "0.20.0",
                    },
                    "values": "",
                }
            },
        }

    def get_shape(self, cluster: ClusterSpec) -> Shape:
        """One node by default."""
        return Shape("", cluster.node_count or 1)
