"""Clusters that exist already: the hub, and others by kubeconfig. Neither is ever deleted."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.apis.experiments.targets import ClusterSpec, Target
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.operators.experiments import naming
from quarterdeck.operators.experiments.clusters.adapter import Observed, Shape
from quarterdeck.operators.experiments.foreign import ClusterRequest


class Hub:
    """The cluster the operator runs on: always ready, without kubeconfig."""

    kind: type[ClusterRequest] | None = None
    composite: type[ClusterRequest] | None = None
    max_name = naming.MAX_LABEL

    def get_namespace(self, experiment: Experiment) -> str:
        """Empty: nothing is created."""
        return ""

    def build(self, experiment: Experiment, target: Target, name: str) -> Mapping[str, Any]:
        """Raises `TypeError`: the cluster exists already."""
        raise TypeError(f"target {target.name} needs no request: its cluster exists")

    def observe(self, request: ClusterRequest) -> Observed:
        """Always ready."""
        return Observed(is_ready=True)

    def get_shape(self, cluster: ClusterSpec) -> Shape:
        """Empty: the size is not known."""
        return Shape()


class Existing(Hub):
    """A cluster that is reached by the kubeconfig in a Secret."""
