"""Cluster types of an installation whose Crossplane has other kinds than the usual ones.

A file says, for each type, which kind requests a cluster and where its kubeconfig will be:

    gke:
      apiVersion: platform.example.com/v1
      kind: KubernetesCluster
      plural: kubernetesclusters
      secretNamespace: ""          # empty: next to the request
      secretName: "{name}-kubeconfig"

`{name}` is the request, `{composite}` the composite resource that a claim names. Without
`{composite}` nothing but the request is waited for, as with Crossplane 2, which has no claims.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from quarterdeck.kit import yaml
from quarterdeck.meta.identity import GVK
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.operators.experiments.foreign import ClusterRequest

ClaimType = Literal["gke", "talos", "vcluster"]


class ClusterTypesError(ValueError):
    """Raised when the file of cluster types cannot be used; names the member."""


class ClusterTypeConfig(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """One cluster type."""

    api_version: str
    kind: str
    plural: str
    secret_name: str = "{composite}-cluster-conn"
    secret_namespace: str | None = None
    """None means the namespace of Crossplane; empty means that of the request."""
    max_name: int = 57

    def build_kind(self) -> type[ClusterRequest]:
        """Build a type for the kind; it differs from other requests only in its names."""
        gvk = GVK.of(self.api_version, self.kind)
        info = KindInfo(
            group=gvk.group,
            version=gvk.version,
            kind=self.kind,
            plural=self.plural,
            singular=self.kind.lower(),
        )
        namespace = {"KIND": info, "__module__": __name__, "__doc__": f"A {self.kind}."}
        made: Any = msgspec.defstruct(
            self.kind, [], bases=(ClusterRequest,), namespace=namespace, frozen=True, kw_only=True
        )
        kind: type[ClusterRequest] = made
        return kind


def load_cluster_types(text: str | bytes) -> Mapping[ClaimType, ClusterTypeConfig]:
    """Parse the file of cluster types.

    Raises:
        ClusterTypesError: if it is not YAML, or a member is missing, unknown or of a wrong type.
    """
    try:
        document = yaml.load(text)
    except yaml.YamlError as error:
        raise ClusterTypesError(f"the cluster types are not YAML: {error}") from error
    try:
        found = msgspec.convert(document or {}, dict[ClaimType, ClusterTypeConfig])
    except msgspec.ValidationError as error:
        raise ClusterTypesError(f"invalid cluster types: {error}") from error
    for name, config in found.items():
        try:
            config.secret_name.format(name="x", composite="y")
        except (KeyError, IndexError, ValueError) as error:
            raise ClusterTypesError(
                f"{name}.secretName: {config.secret_name!r} may contain {{name}} and {{composite}}"
            ) from error
    return found
