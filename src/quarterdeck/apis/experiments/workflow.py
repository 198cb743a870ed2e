"""What an experiment runs once its targets are ready, and how the outcome is judged."""

from collections.abc import Mapping
from typing import Annotated, Literal

from quarterdeck.apis.experiments.control import Duration
from quarterdeck.meta.markers import Int32, Schema
from quarterdeck.meta.objects import Struct
from quarterdeck.meta.schema import Rule

CompletionMode = Literal["workflow", "manual", "condition", "duration"]
MissingTemplate = Literal["Fail", "Inline"]
MetricType = Literal["instant", "range"]
Operator = Literal["lt", "lte", "gt", "gte"]
Section = Literal[
    "abstract",
    "targetAnalysis",
    "performanceAnalysis",
    "metricInsights",
    "finopsAnalysis",
    "secopsAnalysis",
    "body",
    "capabilitiesMatrix",
    "feedback",
    "architectureDiagram",
    "glossary",
]

METRIC_PATTERN = r"^[a-z][a-z0-9_]*$"

VALUE_IS_NUMBER = Rule(
    rule=r"self.matches('^[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?$')",
    message="value must be a number",
)
CONDITION_GIVEN = Rule(
    rule="(self.mode == 'condition') == has(self.condition)",
    message="condition must be set with mode condition, and only then",
)
DURATION_GIVEN = Rule(
    rule="(self.mode == 'duration') == has(self.duration)",
    message="duration must be set with mode duration, and only then",
)


class Completion(Struct, frozen=True, kw_only=True):
    """When the experiment is over."""

    mode: CompletionMode
    """workflow: when the workflow has succeeded; manual: when a person resumes the experiment;
    condition: as soon as an expression over what the workflow reports is true; duration: when the
    experiment has been Running for a time."""
    condition: Annotated[str, Schema(max_length=4096)] = ""
    """With mode condition: a CEL expression over outputs, metrics and runs. The workflow is run up
    to spec.repeats times until it is true; if it never is, the experiment fails."""
    duration: Duration = ""
    """With mode duration: how long the experiment is Running. A workflow that is still running then
    is stopped; one that fails before fails the experiment."""


class WorkflowSpec(Struct, frozen=True, kw_only=True):
    """The Argo Workflow that runs the experiment."""

    template: Annotated[str, Schema(min_length=1, max_length=253)]
    """Name of the WorkflowTemplate."""
    completion: Annotated[Completion, Schema(rules=(CONDITION_GIVEN, DURATION_GIVEN))]
    """When the experiment is over."""
    params: Annotated[Mapping[str, str], Schema(max_properties=64)] = {}
    """Arguments of the workflow; values may contain ${...} references."""
    cluster_scope: bool = False
    """Whether the template is a ClusterWorkflowTemplate."""
    on_missing_template: Annotated[MissingTemplate, Schema(default="Fail")] = "Fail"
    """What to do if the template does not exist: fail, or run an empty workflow instead."""


class MetricsQuery(Struct, frozen=True, kw_only=True):
    """One PromQL query that is evaluated when the workflow has ended."""

    name: Annotated[str, Schema(min_length=1, max_length=63, pattern=METRIC_PATTERN)]
    """Name of the metric, unique in the experiment."""
    query: Annotated[str, Schema(min_length=1, max_length=8192)]
    """PromQL; $EXPERIMENT, $NAMESPACE and $DURATION are replaced, with or without braces."""
    type: Annotated[MetricType, Schema(default="instant")] = "instant"
    """instant: one value per series at the end; range: values over the whole run."""
    unit: Annotated[str, Schema(max_length=63)] = ""
    """Unit of the values, for people."""
    description: Annotated[str, Schema(max_length=1024)] = ""
    """What the metric says, for people."""
    group: Annotated[str, Schema(max_length=63)] = ""
    """Metrics of one group are shown together."""


class SuccessCriterion(Struct, frozen=True, kw_only=True):
    """A bound that a metric must keep."""

    metric: Annotated[str, Schema(min_length=1, max_length=63, pattern=METRIC_PATTERN)]
    """Name of an entry of spec.metrics."""
    operator: Operator
    """How the metric is compared with the value."""
    value: Annotated[str, Schema(min_length=1, max_length=32, rules=(VALUE_IS_NUMBER,))]
    """The bound, a number written as a string."""
    description: Annotated[str, Schema(max_length=1024)] = ""
    """Why this bound, for people."""


class Hypothesis(Struct, frozen=True, kw_only=True):
    """What the experiment should show."""

    claim: Annotated[str, Schema(min_length=1, max_length=4096)]
    """The claim in one sentence."""
    questions: Annotated[tuple[str, ...], Schema(max_items=32, list_type="atomic")] = ()
    """Questions that the experiment answers."""
    focus: Annotated[tuple[str, ...], Schema(max_items=32, list_type="atomic")] = ()
    """Aspects to look at."""
    success_criteria: Annotated[
        tuple[SuccessCriterion, ...], Schema(max_items=32, list_type="atomic")
    ] = ()
    """The claim is validated if all of these hold."""


class QualityGate(Struct, frozen=True, kw_only=True):
    """How much data must be there before results count."""

    enabled: Annotated[bool, Schema(default=True)] = True
    """Whether the gate is applied."""
    max_iterations: Annotated[Int32, Schema(default=3, minimum=1, maximum=5)] = 3
    """How many times metrics are collected at most."""
    min_data_coverage: Annotated[float, Schema(default=0.5, minimum=0, maximum=1)] = 0.5
    """Share of the metrics that must have data."""
    recollect_delay_seconds: Annotated[Int32, Schema(default=120, minimum=1, maximum=3600)] = 120
    """Time between two collections."""


class CodeSnippet(Struct, frozen=True, kw_only=True):
    """A piece of code that reports may show."""

    name: str
    """Title of the snippet."""
    language: str
    """Language, for highlighting."""
    path: str
    """File in the repository."""
    description: str = ""
    """What the code does."""
    repo: Annotated[str, Schema(max_length=253)] = ""
    """Repository as owner/name."""
    start_line: Annotated[Int32, Schema(minimum=1)] | None = None
    """First line, counted from 1."""
    end_line: Annotated[Int32, Schema(minimum=1)] | None = None
    """Last line, included."""
    ref: str = ""
    """Branch, tag or commit."""
    used_by: Annotated[tuple[str, ...], Schema(list_type="atomic")] = ()
    """Components that use the code."""


class AnalyzerConfig(Struct, frozen=True, kw_only=True):
    """What the Job after the run should write about."""

    sections: Annotated[tuple[Section, ...], Schema(max_items=11, list_type="atomic")] = ()
    """Sections of the analysis; none means that no analysis is made."""


class TutorialService(Struct, frozen=True, kw_only=True):
    """A Service on a target that a reader of the tutorial needs."""

    name: Annotated[str, Schema(min_length=1, max_length=63)]
    """Name in the tutorial."""
    target: Annotated[str, Schema(min_length=1, max_length=63)]
    """Target whose cluster has the Service."""
    service: Annotated[str, Schema(min_length=1, max_length=63)]
    """Name of the Service."""
    namespace: Annotated[str, Schema(min_length=1, max_length=63)]
    """Namespace of the Service."""
    port: Annotated[Int32, Schema(minimum=1, maximum=65535)] | None = None
    """Port; the Service's first if left out."""


class Tutorial(Struct, frozen=True, kw_only=True):
    """What a person who follows the experiment by hand needs."""

    path: Annotated[str, Schema(default="tutorial.yaml", max_length=1024)] = "tutorial.yaml"
    """The tutorial's text in its repository."""
    expose_kubeconfig: bool = False
    """Whether each target's kubeconfig is copied to a Secret next to the experiment."""
    services: Annotated[
        tuple[TutorialService, ...],
        Schema(max_items=32, list_type="map", list_map_keys=("name",)),
    ] = ()
    """Services whose addresses are shown in the status."""
