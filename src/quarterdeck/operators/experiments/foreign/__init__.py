"""Kinds of other projects, with the fields that the operator reads; it writes plain documents.

Other fields need no declaration: objects are written by server-side apply of exactly the fields
that we set.
"""

from quarterdeck.meta.objects import Object
from quarterdeck.operators.experiments.foreign.argo import (
    ArgoApplication,
    ArgoWorkflow,
    ClusterWorkflowTemplate,
    WorkflowTemplate,
)
from quarterdeck.operators.experiments.foreign.cluster_request import (
    CLAIMS,
    COMPOSITES,
    CapiCluster,
    CapiVCluster,
    ClusterRequest,
    GKECluster,
    TalosCluster,
    VCluster,
    XGKECluster,
    XTalosCluster,
    XVCluster,
)
from quarterdeck.operators.experiments.foreign.condition import ForeignCondition
from quarterdeck.operators.experiments.foreign.grafana import GrafanaDatasource
from quarterdeck.operators.experiments.foreign.head import (
    CAPI_SECRET_TYPE,
    CROSSPLANE_SECRET_TYPE,
    CapiSecretHead,
    CrossplaneSecretHead,
    OwnConfigMapHead,
    OwnNamespaceHead,
    OwnSecretHead,
    PostRunJob,
)

__all__ = [
    "CAPI_SECRET_TYPE",
    "CLAIMS",
    "COMPOSITES",
    "CROSSPLANE_SECRET_TYPE",
    "FOREIGN",
    "ArgoApplication",
    "ArgoWorkflow",
    "CapiCluster",
    "CapiSecretHead",
    "CapiVCluster",
    "ClusterRequest",
    "ClusterWorkflowTemplate",
    "CrossplaneSecretHead",
    "ForeignCondition",
    "GKECluster",
    "GrafanaDatasource",
    "OwnConfigMapHead",
    "OwnNamespaceHead",
    "OwnSecretHead",
    "PostRunJob",
    "TalosCluster",
    "VCluster",
    "WorkflowTemplate",
    "XGKECluster",
    "XTalosCluster",
    "XVCluster",
]

FOREIGN: tuple[type[Object], ...] = (
    *CLAIMS,
    *COMPOSITES,
    ArgoApplication,
    ArgoWorkflow,
    WorkflowTemplate,
    ClusterWorkflowTemplate,
    GrafanaDatasource,
)
"""Kinds for which an embedded server gets minimal CRDs."""
