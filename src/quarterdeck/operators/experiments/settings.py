"""Settings of the operator: namespaces of other systems, grace periods, and back ends."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from quarterdeck.operators.experiments.cluster_types import ClaimType, ClusterTypeConfig

GrafanaBackend = Literal["none", "http", "operator", "sidecar"]
ClusterMode = Literal["claim", "capi"]


class Settings(NamedTuple):
    """The settings of an installation, the same for all its experiments."""

    argocd_namespace: str = "argocd"
    workflow_namespace: str = "argo-workflows"
    crossplane_namespace: str = "crossplane-system"
    observability_namespace: str = "observability"
    argocd_project: str = "default"
    workflow_service_account: str = "argo-workflow"
    talos_mode: ClusterMode = "claim"
    vcluster_mode: ClusterMode = "claim"
    cluster_types: Mapping[ClaimType, ClusterTypeConfig] = {}
    """Kinds that request clusters, where they differ from the defaults."""
    grace_s: float = 60.0
    """How long a provider or Argo CD may report an error before the target fails."""
    retry_s: float = 1.0
    """First delay after a target refused or did not answer; it doubles, up to 30 times this."""
    missing_grace_s: float = 30.0
    """How long a Component or WorkflowTemplate may be missing before the experiment fails."""
    resync_s: float = 60.0
    """Seconds between reconciles of an active experiment without events."""
    app_deletion_s: float = 300.0
    """How long Argo CD may take to delete an Application before its finalizers are removed."""
    workflow_stop_s: float = 60.0
    """How long a workflow may take to stop before it is deleted."""
    default_ttl_s: float = 24 * 3600.0
    """Time to live of experiments whose spec sets none."""
    metrics_url: str = "http://victoria-metrics-server.observability.svc:8428"
    """URL of the hub's metrics store, for Grafana and for results."""
    remote_write_url: str = ""
    """URL that targets with transport direct send metrics to; empty for the metrics store."""
    grafana: GrafanaBackend = "none"
    analyzer_image: str = ""
    """Image of the Job after the run of experiments with publish; none if empty."""
