"""How the operator is set up: namespaces of other systems, graces, and back ends."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from quarterdeck.operators.experiments.cluster_types import ClaimType, ClusterTypeConfig

GrafanaBackend = Literal["none", "http", "operator", "sidecar"]
ClusterMode = Literal["claim", "capi"]


class Settings(NamedTuple):
    """What an installation decides once."""

    argocd_namespace: str = "argocd"
    workflow_namespace: str = "argo-workflows"
    crossplane_namespace: str = "crossplane-system"
    observability_namespace: str = "observability"
    argocd_project: str = "default"
    workflow_service_account: str = "argo-workflow"
    talos_mode: ClusterMode = "claim"
    vcluster_mode: ClusterMode = "claim"
    cluster_types: Mapping[ClaimType, ClusterTypeConfig] = {}
    """Kinds that request clusters, where they are not the usual ones."""
    grace_s: float = 60.0
    """How long a provider or Argo CD may report an error before it counts."""
    retry_s: float = 1.0
    """The first delay after a target refused or did not answer; it doubles up to 30 times."""
    missing_grace_s: float = 30.0
    """How long a Component or WorkflowTemplate may be missing before it counts."""
    resync_s: float = 60.0
    """How often an active experiment is looked at even if nothing was heard."""
    app_deletion_s: float = 300.0
    """How long Argo CD may take to delete an Application before its finalizers are removed."""
    workflow_stop_s: float = 60.0
    """How long a workflow may take to stop before it is deleted."""
    default_ttl_s: float = 24 * 3600.0
    """How long an experiment may exist that does not say so itself."""
    metrics_url: str = "http://victoria-metrics-server.observability.svc:8428"
    """The hub's metrics store, as Grafana and the results reach it."""
    remote_write_url: str = ""
    """Where targets with transport direct send metrics; the metrics store if empty."""
    grafana: GrafanaBackend = "none"
    analyzer_image: str = ""
    """Image of the Job after the run of experiments with publish; none if empty."""
