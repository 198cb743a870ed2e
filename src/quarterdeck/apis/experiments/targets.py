"""Where an experiment runs: its targets, their clusters, and what is installed on them."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from quarterdeck.meta.markers import Int32, Schema
from quarterdeck.meta.objects import Struct
from quarterdeck.meta.schema import Rule

ClusterType = Literal["gke", "talos", "vcluster", "hub", "existing"]
Transport = Literal["direct", "tailscale"]
ApplicationMode = Literal["PerComponent", "PerTarget"]
Readiness = Literal["Strict", "Relaxed"]

LABEL_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
TENANT_PATTERN = r"^[A-Za-z0-9!_.*'()-]{1,150}$"
MAX_TARGETS = 32
MAX_TARGET_NAME = 20

ONE_COMPONENT_KIND = Rule(
    rule="[has(self.app), has(self.workflow), has(self.config)].filter(x, x).size() == 1",
    message="exactly one of app, workflow and config must be set",
)
GKE_FIELDS = Rule(
    rule=(
        "self.type == 'gke' || "
        "!(has(self.zone) || has(self.machineType) || (has(self.preemptible) && self.preemptible))"
    ),
    message="zone, machineType and preemptible are only allowed for type gke",
)
HUB_HAS_NO_NODES = Rule(
    rule="!(self.type in ['hub', 'existing']) || !has(self.nodeCount)",
    message="nodeCount is not allowed for the types hub and existing: their nodes exist already",
    field_path=".nodeCount",
)
EXISTING_NEEDS_SECRET = Rule(
    rule="(self.type == 'existing') == has(self.kubeconfigSecretRef)",
    message="kubeconfigSecretRef must be set for type existing, and only for it",
)


class KubeconfigSecretRef(Struct, frozen=True, kw_only=True):
    """A Secret in the experiment's namespace that holds a kubeconfig."""

    name: Annotated[str, Schema(min_length=1, max_length=253)]
    """Name of the Secret."""
    key: Annotated[str, Schema(max_length=253)] = ""
    """Key of the kubeconfig; the first of kubeconfig, value and config if left out."""


class ClusterSpec(Struct, frozen=True, kw_only=True):
    """The cluster of a target."""

    type: ClusterType
    """Who provides the cluster: gke, talos and vcluster are created for the experiment, hub is the
    cluster the operator runs on, existing is reached by a kubeconfig."""
    zone: Annotated[str, Schema(max_length=63)] = ""
    """GCP zone of a gke cluster; us-central1-a if left out."""
    node_count: Annotated[Int32, Schema(minimum=1, maximum=10)] | None = None
    """Number of nodes; 1 for gke and vcluster, 3 for talos if left out."""
    machine_type: Annotated[str, Schema(max_length=63)] = ""
    """Machine type of a gke cluster; e2-medium if left out."""
    disk_size_gb: Annotated[Int32, Schema(minimum=10, maximum=65536)] | None = None
    """Size of each node's disk in GB; 50 for gke if left out."""
    preemptible: bool = False
    """Whether a gke cluster uses preemptible machines."""
    kubernetes_version: Annotated[str, Schema(max_length=32)] = ""
    """Kubernetes version to install; the provider's default if left out."""
    kubeconfig_secret_ref: KubeconfigSecretRef | None = None
    """The kubeconfig of an existing cluster. The cluster is never deleted."""


class InlineSource(Struct, frozen=True, kw_only=True):
    """A source given in the experiment itself, for components that are not in the catalog."""

    repo_url: Annotated[str, Schema(min_length=1, max_length=2048)] = msgspec.field(name="repoURL")
    """Address of the git or Helm repository."""
    target_revision: Annotated[str, Schema(max_length=253)] = ""
    """Revision, tag or chart version; HEAD if left out."""
    path: Annotated[str, Schema(max_length=1024)] = ""
    """Directory in a git repository."""
    chart: Annotated[str, Schema(max_length=253)] = ""
    """Name of a chart in a Helm repository."""


class ComponentRef(Struct, frozen=True, kw_only=True):
    """One thing to install on a target."""

    app: Annotated[str, Schema(min_length=1, max_length=63)] = ""
    """Name of a Component of type app."""
    workflow: Annotated[str, Schema(min_length=1, max_length=63)] = ""
    """Name of a Component of type workflow."""
    config: Annotated[str, Schema(min_length=1, max_length=63)] = ""
    """Name of a Component of type config."""
    params: Annotated[Mapping[str, str], Schema(max_properties=64)] = {}
    """Parameters of the component; values may contain ${...} references."""
    source: InlineSource | None = None
    """Where the component is, if it is not in the catalog."""


class ObservabilitySpec(Struct, frozen=True, kw_only=True):
    """How metrics of a target reach the hub."""

    enabled: bool
    """Whether metrics are collected."""
    transport: Transport
    """How they travel: direct to a reachable address, or through a tailnet."""
    tenant: Annotated[str, Schema(pattern=TENANT_PATTERN)] = ""
    """Tenant of the metrics; the experiment's name if left out."""
    endpoint: Annotated[str, Schema(max_length=2048)] = ""
    """Remote-write address for transport direct; the operator's default if left out."""


class Target(Struct, frozen=True, kw_only=True):
    """One cluster of the experiment and what is installed on it."""

    name: Annotated[str, Schema(min_length=1, max_length=MAX_TARGET_NAME, pattern=LABEL_PATTERN)]
    """Name, unique in the experiment."""
    cluster: Annotated[
        ClusterSpec, Schema(rules=(GKE_FIELDS, HUB_HAS_NO_NODES, EXISTING_NEEDS_SECRET))
    ]
    """Where to install."""
    components: Annotated[
        tuple[ComponentRef, ...],
        Schema(max_items=64, list_type="atomic", items=Schema(rules=(ONE_COMPONENT_KIND,))),
    ] = ()
    """What to install, in this order."""
    observability: ObservabilitySpec | None = None
    """Whether and how metrics are collected; not at all if left out."""
    depends: Annotated[
        tuple[str, ...],
        Schema(
            max_items=MAX_TARGETS,
            list_type="atomic",
            items=Schema(min_length=1, max_length=MAX_TARGET_NAME),
        ),
    ] = ()
    """Targets whose components must be healthy before those of this target are installed."""
    applications: Annotated[ApplicationMode, Schema(default="PerComponent")] = "PerComponent"
    """Whether each component gets an Argo CD Application of its own, or each layer one."""
    readiness: Annotated[Readiness, Schema(default="Strict")] = "Strict"
    """When an Application counts as ready: Strict needs Healthy and Synced, Relaxed accepts any
    state that is neither missing nor an error."""
    min_healthy_seconds: Annotated[Int32, Schema(minimum=0, maximum=3600)] = 0
    """How long an Application must have been healthy before it counts as ready."""
