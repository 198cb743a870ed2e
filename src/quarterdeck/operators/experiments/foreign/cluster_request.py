"""Claims of Crossplane and objects of Cluster API that request clusters."""

from typing import Annotated

from quarterdeck.meta.kinds import KindInfo, Scope
from quarterdeck.meta.markers import Schema
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.operators.experiments.foreign.condition import OPEN, ForeignCondition


class ResourceRef(Struct, frozen=True, kw_only=True):
    """The composite resource of a claim."""

    name: str = ""


class Endpoint(Struct, frozen=True, kw_only=True):
    """The address of a control plane."""

    host: str = ""
    port: int = 0


class ClusterRequestSpec(Struct, frozen=True, kw_only=True):
    """The fields of a request's spec that are read."""

    resource_ref: Annotated[ResourceRef, OPEN] | None = None
    control_plane_endpoint: Annotated[Endpoint, OPEN] | None = None


class ClusterRequestStatus(Struct, frozen=True, kw_only=True):
    """The fields of a request's status that are read; each kind sets some of them."""

    conditions: Annotated[tuple[ForeignCondition, ...], Schema(items=OPEN)] = ()
    endpoint: str = ""
    phase: str = ""
    ready: bool = False
    control_plane_ready: bool = False
    reason: str = ""
    message: str = ""
    failure_reason: str = ""
    failure_message: str = ""


class ClusterRequest(Object, frozen=True, kw_only=True):
    """The base class of every kind that requests a cluster."""

    KIND = KindInfo(group="", version="", kind="", plural="")
    spec: Annotated[ClusterRequestSpec, OPEN] = ClusterRequestSpec()
    status: Annotated[ClusterRequestStatus, OPEN] = ClusterRequestStatus()


def _claim(kind: str, plural: str, *, scope: Scope = Scope.NAMESPACED) -> KindInfo:
    return KindInfo(
        group="illm.io",
        version="v1alpha1",
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        scope=scope,
    )


class GKECluster(ClusterRequest, frozen=True, kw_only=True):
    """A claim for a GKE cluster."""

    KIND = _claim("GKECluster", "gkeclusters")


class TalosCluster(ClusterRequest, frozen=True, kw_only=True):
    """A claim for a Talos cluster."""

    KIND = _claim("TalosCluster", "talosclusters")


class VCluster(ClusterRequest, frozen=True, kw_only=True):
    """A claim for a virtual cluster."""

    KIND = _claim("VCluster", "vclusters")


class XGKECluster(ClusterRequest, frozen=True, kw_only=True):
    """The composite resource behind a GKECluster."""

    KIND = _claim("XGKECluster", "xgkeclusters", scope=Scope.CLUSTER)


class XTalosCluster(ClusterRequest, frozen=True, kw_only=True):
    """The composite resource behind a TalosCluster."""

    KIND = _claim("XTalosCluster", "xtalosclusters", scope=Scope.CLUSTER)


class XVCluster(ClusterRequest, frozen=True, kw_only=True):
    """The composite resource behind a VCluster."""

    KIND = _claim("XVCluster", "xvclusters", scope=Scope.CLUSTER)


class CapiCluster(ClusterRequest, frozen=True, kw_only=True):
    """A Cluster of Cluster API."""

    KIND = KindInfo(
        group="cluster.x-k8s.io",
        version="v1beta1",
        kind="Cluster",
        plural="clusters",
        singular="cluster",
    )


class CapiVCluster(ClusterRequest, frozen=True, kw_only=True):
    """A VCluster of Cluster API's provider for virtual clusters."""

    KIND = KindInfo(
        group="infrastructure.cluster.x-k8s.io",
        version="v1alpha1",
        kind="VCluster",
        plural="vclusters",
        singular="vcluster",
    )


CLAIMS: tuple[type[ClusterRequest], ...] = (
    GKECluster,
    TalosCluster,
    VCluster,
    CapiCluster,
    CapiVCluster,
)
COMPOSITES: tuple[type[ClusterRequest], ...] = (XGKECluster, XTalosCluster, XVCluster)
