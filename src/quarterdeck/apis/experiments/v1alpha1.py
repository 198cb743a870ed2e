"""Experiment and Component: clusters, what is installed on them, a workflow, and a verdict.

The fields, names and limits of the existing project stay valid, so that its manifests apply
unchanged. What is ours is optional: timeouts, retries, budgets, repeats, clean-up and TTLs.
"""

from collections.abc import Mapping
from typing import Annotated

from quarterdeck.apis.experiments.components import Component
from quarterdeck.apis.experiments.control import (
    Budget,
    CleanupPolicy,
    PostRun,
    Provisioning,
    Resolution,
    Retry,
    Timeouts,
)
from quarterdeck.apis.experiments.status import ExperimentStatus
from quarterdeck.apis.experiments.targets import MAX_TARGETS, Target
from quarterdeck.apis.experiments.workflow import (
    AnalyzerConfig,
    CodeSnippet,
    Hypothesis,
    MetricsQuery,
    QualityGate,
    Tutorial,
    WorkflowSpec,
)
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int32, Int64, Schema
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.meta.schema import Rule

__all__ = ["Component", "Experiment", "ExperimentSpec", "ExperimentStatus", "Target"]

GROUP = "experiments.illm.io"
FINALIZER = "experiments.illm.io/finalizer"
RESUME = "experiments.illm.io/resume"
"""Annotation: with `"true"` an experiment in manual mode ends."""
REVIEW = "experiments.illm.io/review"
"""Annotation: approved or rejected."""

MAX_NAME = 52

DEPENDS_KNOWN = Rule(
    rule=(
        "self.targets.all(t, !has(t.depends) || t.depends.all(d, "
        "d != t.name && self.targets.exists(u, u.name == d)))"
    ),
    message="depends must name other targets of the experiment",
    field_path=".targets",
)
NAME_LENGTH = Rule(
    rule=f"size(self.metadata.name) <= {MAX_NAME}",
    message=f"the name must have at most {MAX_NAME} characters",
)
_STARTED = (
    "!has(oldSelf.status) || !has(oldSelf.status.phase) || "
    "oldSelf.status.phase in ['', 'Pending'] || "
)
TARGETS_IMMUTABLE = Rule(
    rule=_STARTED + "self.spec.targets == oldSelf.spec.targets",
    message="targets cannot be changed once the experiment has started; create another one",
    field_path=".spec.targets",
)
WORKFLOW_IMMUTABLE = Rule(
    rule=_STARTED + "self.spec.workflow == oldSelf.spec.workflow",
    message="workflow cannot be changed once the experiment has started; create another one",
    field_path=".spec.workflow",
)


class ExperimentSpec(Struct, frozen=True, kw_only=True):
    """The desired run."""

    targets: Annotated[
        tuple[Target, ...],
        Schema(min_items=1, max_items=MAX_TARGETS, list_type="map", list_map_keys=("name",)),
    ]
    """Clusters and what is installed on them."""
    workflow: WorkflowSpec
    """What is run once the targets are ready."""
    description: Annotated[str, Schema(max_length=4096)] = ""
    """What the experiment is about, for people."""
    title: Annotated[str, Schema(max_length=253)] = ""
    """Name to show; the object's name if left out."""
    ttl_days: Annotated[Int32, Schema(minimum=0, maximum=365)] | None = None
    """Days until the experiment is stopped; 0 means 1. ttlSecondsActive wins over it."""
    tags: Annotated[
        tuple[str, ...], Schema(max_items=32, list_type="atomic", items=Schema(max_length=63))
    ] = ()
    """Tags such as comparison, tutorial, demo, baseline."""
    series: Annotated[str, Schema(max_length=253)] = ""
    """Series that the experiment belongs to."""
    publish: bool = False
    """Whether the results are published and analyzed by the Job after the run."""
    metrics: Annotated[
        tuple[MetricsQuery, ...],
        Schema(max_items=64, list_type="map", list_map_keys=("name",)),
    ] = ()
    """Metrics to collect; CPU and memory if left out."""
    hypothesis: Hypothesis | None = None
    """What the experiment should show."""
    quality_gate: QualityGate | None = None
    """How much data must be there before results count."""
    code_snippets: Annotated[Mapping[str, CodeSnippet], Schema(max_properties=64)] = {}
    """Code that reports may show; the operator does not read it."""
    analyzer_config: AnalyzerConfig | None = None
    """What the Job after the run should write about."""
    tutorial: Tutorial | None = None
    """What a person who follows the experiment by hand needs."""
    timeouts: Annotated[Timeouts, Schema(default={})] = Timeouts()
    """How long each stage may take."""
    retry: Annotated[Retry, Schema(default={})] = Retry()
    """How often a failed stage is tried again."""
    cleanup_policy: Annotated[CleanupPolicy, Schema(default="Always")] = "Always"
    """When clusters and Applications are deleted after the run. Deleting the experiment always
    deletes them."""
    provisioning: Annotated[Provisioning, Schema(default="Parallel")] = "Parallel"
    """Whether all clusters are created at once, or those of dependent targets later."""
    ttl_seconds_active: Annotated[Int64, Schema(minimum=1)] | None = None
    """Seconds after which the experiment is stopped; 24 hours if left out."""
    ttl_seconds_after_finished: Annotated[Int64, Schema(minimum=0)] | None = None
    """Seconds after the end when the object is deleted; it is kept if left out."""
    terminate: bool = False
    """Whether the experiment is stopped now."""
    suspend: bool = False
    """Whether the experiment waits before it starts."""
    budget: Budget | None = None
    """What the clusters may cost."""
    repeats: Annotated[Int32, Schema(default=1, minimum=1, maximum=100)] = 1
    """How often the workflow is run, one after the other."""
    post_run: PostRun | None = None
    """A Job that runs after the results are stored."""
    resolution: Annotated[Resolution, Schema(default={})] = Resolution()
    """How names of components are resolved."""
    retain_datasource: bool = False
    """Whether the Grafana datasource stays after the clean-up."""


class Experiment(Object, frozen=True, kw_only=True):
    """A run on clusters of its own: provision, install, run, judge, clean up."""

    KIND = KindInfo(
        group=GROUP,
        version="v1alpha1",
        kind="Experiment",
        plural="experiments",
        singular="experiment",
        short_names=("exp",),
        categories=("experiments",),
        columns=(
            Column(name="Phase", path=".status.phase"),
            Column(name="Targets", type="integer", path=".status.targetCount"),
            Column(name="Workflow", path=".status.workflowStatus.phase"),
            AGE,
            Column(name="Reason", path=".status.reason", priority=1),
            Column(name="Cleaned", type="boolean", path=".status.resourcesCleaned", priority=1),
            Column(name="Verdict", path=".status.hypothesisResult", priority=1),
            Column(name="Results", path=".status.resultsURL", priority=1),
        ),
        rules=(NAME_LENGTH, TARGETS_IMMUTABLE, WORKFLOW_IMMUTABLE),
        selectable=(".status.phase",),
    )
    spec: Annotated[ExperimentSpec, Schema(rules=(DEPENDS_KNOWN,))]
    """What to run."""
    status: ExperimentStatus = ExperimentStatus()
    """How far it is."""


KINDS: tuple[type[Object], ...] = (Experiment, Component)
