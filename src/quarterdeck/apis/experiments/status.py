"""What is known about an experiment."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from quarterdeck.apis.experiments.components import ComponentParameter, ComponentSource
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.markers import Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Struct

Phase = Literal["", "Pending", "Provisioning", "Ready", "Running", "Complete", "Failed"]
TargetPhase = Literal["", "Pending", "Provisioning", "Ready", "Failed"]
Layer = Literal["infra", "obs", "workload"]
AdoptedApplications = Literal["", "Single", "PerTarget"]
Origin = Literal["Component", "Convention", "Inline", "BuiltIn"]
Verdict = Literal["", "validated", "invalidated", "insufficient"]
JobPhase = Literal["", "Pending", "Running", "Succeeded", "Failed", "Skipped"]
ReviewPhase = Literal["", "Pending", "Approved", "Rejected", "Skipped"]
IterationPhase = Literal["", "Evaluating", "Recollecting", "Passed", "Exhausted"]


class ResolvedComponent(Struct, frozen=True, kw_only=True):
    """What a component reference stood for when the run began, so that it can be repeated."""

    name: str
    """Name of the component."""
    kind: str
    """app, workflow or config."""
    origin: Origin
    """Where it was found."""
    generation: Int64 = 0
    """Generation of the Component object."""
    revision: str = ""
    """Revisions of its sources, separated by commas."""
    layer: Layer = "workload"
    """Layer it belongs to: infra and obs are installed before workload."""
    sources: Annotated[tuple[ComponentSource, ...], Schema(list_type="atomic")] = ()
    """Its sources; a later change of the Component does not change this run."""
    parameters: Annotated[tuple[ComponentParameter, ...], Schema(list_type="atomic")] = ()
    """Its parameters."""
    params: Mapping[str, str] = {}
    """Parameters that the experiment sets, before references are replaced."""


class TargetStatus(Struct, frozen=True, kw_only=True):
    """What is known about one target."""

    name: str
    """Name of the target."""
    phase: TargetPhase = ""
    """How far the target is."""
    cluster_name: str = ""
    """Name of the cluster; hub for the hub."""
    endpoint: str = ""
    """Address of the cluster, without a scheme."""
    server: str = ""
    """Address of the API server, as Argo CD knows it."""
    components: Annotated[tuple[str, ...], Schema(list_type="atomic")] = ()
    """Objects that are installed, as Kind/name."""
    machine_type: str = ""
    """Machine type in force."""
    node_count: Int32 = 0
    """Number of nodes in force."""
    kubeconfig_secret: str = ""
    """Secret with a copy of the kubeconfig, in the experiment's namespace."""
    deployed_layers: Annotated[tuple[Layer, ...], Schema(list_type="atomic")] = ()
    """Layers whose Applications exist."""
    adopted_applications: AdoptedApplications = ""
    """How Applications that another operator made are divided; empty if we made them."""
    apps_created: bool = False
    """Whether all Applications exist."""
    apps_ready: bool = False
    """Whether all Applications are ready."""
    resolved_components: Annotated[tuple[ResolvedComponent, ...], Schema(list_type="atomic")] = ()
    """What the component references stand for in this run."""
    resource_name: str = ""
    """Name of the composite resource behind the cluster."""
    connection_secret: str = ""
    """Secret with the cluster's kubeconfig, as namespace/name."""
    connection_version: str = ""
    """Resource version of that Secret when the cluster was registered."""
    created_at: Time = ""
    """When the cluster was requested; its cost is counted from here."""
    ready_at: Time = ""
    """When the cluster was ready and registered."""
    attempt: Int32 = 0
    """How many clusters failed before this one."""
    reason: str = ""
    """Why the target is not further, in one word."""
    message: str = ""
    """Why the target is not further."""
    retries: Int32 = 0
    """How many times in a row a step failed."""
    next_retry_at: Time = ""
    """When the step is tried again."""


class FailedNode(Struct, frozen=True, kw_only=True):
    """A node of a workflow that did not succeed."""

    display_name: str
    """Name as people see it."""
    template: str = ""
    """Template that the node ran."""
    phase: str = ""
    """Failed or Error."""
    message: str = ""
    """What went wrong."""


class WorkflowStatus(Struct, frozen=True, kw_only=True):
    """What is known about one run of the workflow."""

    name: str
    """Name of the Workflow."""
    phase: str = ""
    """Phase of the Workflow; Stopped if it still ran when the experiment ended."""
    started_at: Time = ""
    """When it was submitted or has started."""
    finished_at: Time = ""
    """When it ended."""
    progress: str = ""
    """Steps that are done, as n/m."""
    message: str = ""
    """What the workflow says of itself."""
    outputs: Mapping[str, str] = {}
    """Global output parameters."""
    failed_nodes: Annotated[tuple[FailedNode, ...], Schema(list_type="atomic")] = ()
    """Nodes that did not succeed."""


class QualityResult(Struct, frozen=True, kw_only=True):
    """One evaluation of the quality gate."""

    iteration: Int32
    """Number of the evaluation, from 1."""
    total_metrics: Int32 = 0
    """Metrics that were asked for."""
    metrics_with_data: Int32 = 0
    """Metrics that have data."""
    coverage: float = 0.0
    """Share of metrics with data."""
    missing_metrics: Annotated[tuple[str, ...], Schema(list_type="atomic")] = ()
    """Metrics without data."""
    passed: bool = False
    """Whether the gate was passed."""
    remedy: str = ""
    """What is done about it."""


class IterationStatus(Struct, frozen=True, kw_only=True):
    """How far the quality gate is."""

    current_iteration: Int32 = 0
    """Evaluations so far."""
    max_iterations: Int32 = 0
    """Evaluations allowed."""
    phase: IterationPhase = ""
    """State of the gate."""
    quality_results: Annotated[tuple[QualityResult, ...], Schema(list_type="atomic")] = ()
    """The evaluations."""


class TutorialServiceStatus(Struct, frozen=True, kw_only=True):
    """Where a Service of the tutorial is."""

    name: str
    """Name in the tutorial."""
    endpoint: str = ""
    """Address."""
    ready: bool = False
    """Whether it has an address."""


class TutorialStatus(Struct, frozen=True, kw_only=True):
    """What a person who follows the experiment by hand needs."""

    services: Annotated[
        tuple[TutorialServiceStatus, ...], Schema(list_type="map", list_map_keys=("name",))
    ] = ()
    """Services of the tutorial."""
    kubeconfig_secrets: Mapping[str, str] = {}
    """Secrets with kubeconfigs, by target."""


class CostEstimate(Struct, frozen=True, kw_only=True):
    """What the clusters have cost, as far as machine types tell."""

    total_usd: str = msgspec.field(name="totalUSD", default="")
    """US dollars."""
    duration_hours: str = ""
    """Hours that the clusters existed."""
    per_target: Mapping[str, str] = {}
    """US dollars by target."""
    note: str = ""
    """What is left out."""


class ExperimentStatus(Struct, frozen=True, kw_only=True):
    """The observed state of an experiment."""

    phase: Phase = ""
    """How far the experiment is."""
    reason: str = ""
    """Why it is in this phase, in one word."""
    message: str = ""
    """Why it is in this phase."""
    phase_started_at: Time = ""
    """When the phase began; timeouts are counted from here."""
    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    target_count: Annotated[Int32, Schema(minimum=0)] = 0
    """Number of targets."""
    targets: Annotated[
        tuple[TargetStatus, ...], Schema(list_type="map", list_map_keys=("name",))
    ] = ()
    """The targets, in the order of the spec."""
    workflow_status: WorkflowStatus | None = None
    """The current or last run of the workflow."""
    runs: Annotated[tuple[WorkflowStatus, ...], Schema(list_type="atomic")] = ()
    """Finished runs of the workflow, if there are several."""
    conditions: Conditions = ()
    """What is known about each stage."""
    completed_at: Time = ""
    """When the phase became Complete or Failed."""
    resources_cleaned: bool = False
    """Whether everything that was created for the experiment is gone."""
    cleaned_at: Time = ""
    """When everything was gone."""
    results_url: str = msgspec.field(name="resultsURL", default="")
    """Where the results are; disabled if they are not stored."""
    hypothesis_result: Verdict = ""
    """Whether the hypothesis holds."""
    iteration_status: IterationStatus | None = None
    """How far the quality gate is."""
    cost_estimate: CostEstimate | None = None
    """What the clusters have cost."""
    datasource_uid: str = ""
    """Grafana datasource of the experiment."""
    published: bool = False
    """Whether the results were published."""
    publish_branch: str = ""
    """Branch with the published results."""
    publish_pr_number: Int32 = msgspec.field(name="publishPRNumber", default=0)
    """Number of the pull request."""
    publish_pr_url: str = msgspec.field(name="publishPRURL", default="")
    """Address of the pull request."""
    analysis_job_name: str = ""
    """Job that runs after the experiment."""
    analysis_phase: JobPhase = ""
    """State of that Job."""
    review_phase: ReviewPhase = ""
    """State of the review."""
    tutorial_status: TutorialStatus | None = None
    """What a person who follows the experiment by hand needs."""
