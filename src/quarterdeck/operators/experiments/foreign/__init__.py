"""Kinds of other projects, as far as the operator reads them; what it writes are plain documents.

Only the members that decide something are declared. Everything else passes through untouched,
because objects are written by server-side apply of exactly the fields we set.
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
"""The kinds an embedded server gets minimal definitions of."""
