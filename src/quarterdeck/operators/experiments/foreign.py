"""Kinds of other projects, as far as the operator reads them; what it writes are plain documents.

Only the members that decide something are declared. Everything else passes through untouched,
because objects are written by server-side apply of exactly the fields we set.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from quarterdeck.apis.batch import Job
from quarterdeck.apis.core.config import ConfigMap, Namespace, Secret
from quarterdeck.meta.kinds import KindInfo, Scope
from quarterdeck.meta.markers import Schema
from quarterdeck.meta.objects import Object, Struct

_OPEN = Schema(preserve_unknown=True)


class ForeignCondition(Struct, frozen=True, kw_only=True):
    """A condition as Crossplane, Cluster API and Argo CD write them."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""


class ResourceRef(Struct, frozen=True, kw_only=True):
    """The composite resource of a claim."""

    name: str = ""


class Endpoint(Struct, frozen=True, kw_only=True):
    """The address of a control plane."""

    host: str = ""
    port: int = 0


class ClusterRequestSpec(Struct, frozen=True, kw_only=True):
    """What is read of a claim's spec."""

    resource_ref: Annotated[ResourceRef, _OPEN] | None = None
    control_plane_endpoint: Annotated[Endpoint, _OPEN] | None = None


class ClusterRequestStatus(Struct, frozen=True, kw_only=True):
    """What claims and Cluster API objects say of themselves; each kind fills some of it."""

    conditions: Annotated[
        tuple[ForeignCondition, ...], Schema(items=Schema(preserve_unknown=True))
    ] = ()
    endpoint: str = ""
    phase: str = ""
    ready: bool = False
    control_plane_ready: bool = False
    reason: str = ""
    message: str = ""
    failure_reason: str = ""
    failure_message: str = ""


class ClusterRequest(Object, frozen=True, kw_only=True):
    """The root of everything that stands for a requested cluster."""

    KIND = KindInfo(group="", version="", kind="", plural="")
    spec: Annotated[ClusterRequestSpec, _OPEN] = ClusterRequestSpec()
    status: Annotated[ClusterRequestStatus, _OPEN] = ClusterRequestStatus()


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


class Health(Struct, frozen=True, kw_only=True):
    """The health of an Application or of one of its resources."""

    status: str = ""
    message: str = ""
    last_transition_time: str = ""


class Sync(Struct, frozen=True, kw_only=True):
    """Whether the cluster is as the sources say."""

    status: str = ""


class OperationState(Struct, frozen=True, kw_only=True):
    """The last sync."""

    phase: str = ""
    message: str = ""
    finished_at: str = ""


class AppResource(Struct, frozen=True, kw_only=True):
    """One object that an Application installs."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class ArgoApplicationStatus(Struct, frozen=True, kw_only=True):
    """What is read of an Application's status."""

    health: Annotated[Health, _OPEN] = Health()
    sync: Annotated[Sync, _OPEN] = Sync()
    operation_state: Annotated[OperationState, _OPEN] = OperationState()
    conditions: Annotated[
        tuple[ForeignCondition, ...], Schema(items=Schema(preserve_unknown=True))
    ] = ()
    resources: Annotated[tuple[AppResource, ...], Schema(items=Schema(preserve_unknown=True))] = ()


class Destination(Struct, frozen=True, kw_only=True):
    """Where an Application installs."""

    server: str = ""
    namespace: str = ""


class ArgoApplicationSpec(Struct, frozen=True, kw_only=True):
    """What is read of an Application's spec."""

    destination: Annotated[Destination, _OPEN] = Destination()


class ArgoApplication(Object, frozen=True, kw_only=True):
    """An Application of Argo CD; it has no status subresource."""

    KIND = KindInfo(
        group="argoproj.io",
        version="v1alpha1",
        kind="Application",
        plural="applications",
        singular="application",
        subresource_status=False,
    )
    spec: Annotated[ArgoApplicationSpec, _OPEN] = ArgoApplicationSpec()
    status: Annotated[ArgoApplicationStatus, _OPEN] = ArgoApplicationStatus()


class OutputParameter(Struct, frozen=True, kw_only=True):
    """An output of a workflow."""

    name: str = ""
    value: Any = ""


class Outputs(Struct, frozen=True, kw_only=True):
    """What a workflow exports."""

    parameters: Annotated[
        tuple[OutputParameter, ...], Schema(items=Schema(preserve_unknown=True))
    ] = ()


class Node(Struct, frozen=True, kw_only=True):
    """One step of a workflow."""

    id: str = ""
    display_name: str = ""
    type: str = ""
    template_name: str = ""
    phase: str = ""
    message: str = ""


class ArgoWorkflowStatus(Struct, frozen=True, kw_only=True):
    """What is read of a Workflow's status."""

    phase: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    progress: str = ""
    message: str = ""
    nodes: Annotated[Mapping[str, Node], Schema(items=Schema(preserve_unknown=True))] = {}
    outputs: Annotated[Outputs, _OPEN] | None = None


class ArgoWorkflowSpec(Struct, frozen=True, kw_only=True):
    """What is read of a Workflow's spec."""

    shutdown: str = ""
    suspend: bool | None = None


class ArgoWorkflow(Object, frozen=True, kw_only=True):
    """A Workflow of Argo Workflows; it has no status subresource."""

    KIND = KindInfo(
        group="argoproj.io",
        version="v1alpha1",
        kind="Workflow",
        plural="workflows",
        singular="workflow",
        subresource_status=False,
    )
    spec: Annotated[ArgoWorkflowSpec, _OPEN] = ArgoWorkflowSpec()
    status: Annotated[ArgoWorkflowStatus, _OPEN] = ArgoWorkflowStatus()


class WorkflowTemplate(Object, frozen=True, kw_only=True):
    """A WorkflowTemplate of Argo Workflows; only whether it exists matters here."""

    KIND = KindInfo(
        group="argoproj.io",
        version="v1alpha1",
        kind="WorkflowTemplate",
        plural="workflowtemplates",
        singular="workflowtemplate",
        subresource_status=False,
    )
    spec: Annotated[msgspec.Raw, _OPEN] = msgspec.Raw(b"{}")


class ClusterWorkflowTemplate(Object, frozen=True, kw_only=True):
    """A ClusterWorkflowTemplate of Argo Workflows."""

    KIND = KindInfo(
        group="argoproj.io",
        version="v1alpha1",
        kind="ClusterWorkflowTemplate",
        plural="clusterworkflowtemplates",
        singular="clusterworkflowtemplate",
        scope=Scope.CLUSTER,
        subresource_status=False,
    )
    spec: Annotated[msgspec.Raw, _OPEN] = msgspec.Raw(b"{}")


class GrafanaDatasource(Object, frozen=True, kw_only=True):
    """A datasource of the Grafana operator."""

    KIND = KindInfo(
        group="grafana.integreatly.org",
        version="v1beta1",
        kind="GrafanaDatasource",
        plural="grafanadatasources",
        singular="grafanadatasource",
    )
    spec: Annotated[msgspec.Raw, _OPEN] = msgspec.Raw(b"{}")
    status: Annotated[msgspec.Raw, _OPEN] = msgspec.Raw(b"{}")


class _Head(Object, frozen=True, kw_only=True):
    """Metadata alone, which comes under the name of another kind."""

    KIND = ConfigMap.KIND

    def __post_init__(self) -> None:
        """Accept any kind."""


class OwnSecretHead(_Head, frozen=True, kw_only=True):
    """The metadata of a Secret that we wrote."""

    KIND = Secret.KIND


class CrossplaneSecretHead(_Head, frozen=True, kw_only=True):
    """The metadata of a connection Secret of Crossplane."""

    KIND = Secret.KIND


class CapiSecretHead(_Head, frozen=True, kw_only=True):
    """The metadata of a kubeconfig Secret of Cluster API."""

    KIND = Secret.KIND


class OwnConfigMapHead(_Head, frozen=True, kw_only=True):
    """The metadata of a ConfigMap that we wrote."""

    KIND = ConfigMap.KIND


class OwnNamespaceHead(_Head, frozen=True, kw_only=True):
    """The metadata of a namespace that was made for an experiment."""

    KIND = Namespace.KIND


class JobCounts(Struct, frozen=True, kw_only=True):
    """What is read of a Job's status."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[ForeignCondition, ...] = ()


class PostRunJob(Object, frozen=True, kw_only=True):
    """The Job after a run."""

    KIND = Job.KIND
    status: JobCounts = JobCounts()


CROSSPLANE_SECRET_TYPE: Final = "connection.crossplane.io/v1alpha1"
CAPI_SECRET_TYPE: Final = "cluster.x-k8s.io/secret"

CLAIMS: tuple[type[ClusterRequest], ...] = (
    GKECluster,
    TalosCluster,
    VCluster,
    CapiCluster,
    CapiVCluster,
)
COMPOSITES: tuple[type[ClusterRequest], ...] = (XGKECluster, XTalosCluster, XVCluster)
FOREIGN: tuple[type[Object], ...] = (
    *CLAIMS,
    *COMPOSITES,
    ArgoApplication,
    ArgoWorkflow,
    WorkflowTemplate,
    ClusterWorkflowTemplate,
    GrafanaDatasource,
)
"""The kinds an embedded server gets minimal definitions of."""
