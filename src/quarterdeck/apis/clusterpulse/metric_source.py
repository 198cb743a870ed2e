"""MetricSource: which objects to read from every cluster, and what to compute from them."""

from typing import Annotated, Literal

from quarterdeck.apis.clusterpulse.group import GROUP, MIN_INTERVAL_S, MIN_TIMEOUT_S, VERSION
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct, always_written
from quarterdeck.meta.schema import Rule
from quarterdeck.meta.selectors import LabelSelector

SourceScope = Literal["Namespaced", "Cluster"]
FieldType = Literal[
    "string", "integer", "float", "boolean", "quantity", "timestamp", "arrayLength", "duration"
]
ComputedType = Literal["string", "integer", "float", "boolean"]
AggregationFunction = Literal[
    "count", "sum", "avg", "min", "max", "percentile", "distinct", "median"
]
FilterOperator = Literal[
    "equals",
    "notEquals",
    "contains",
    "startsWith",
    "endsWith",
    "greaterThan",
    "lessThan",
    "in",
    "matches",
]
ExpressionMode = Literal["standard", "compat"]
AlertSeverity = Literal["critical", "warning", "info"]
FieldValidationStatus = Literal["valid", "invalid", "warning"]

SOURCE_PHASES = ("Active", "Error", "Disabled")

FIELD_UNLESS_COUNT = Rule(
    rule="self.function == 'count' || (has(self.field) && self.field != '')",
    message="field is required unless function is count",
    field_path=".field",
)


class NamespaceSelection(Struct, frozen=True, kw_only=True):
    """Namespaces by name; `*` and `?` are wildcards."""

    include: Annotated[tuple[str, ...], Schema(list_type="atomic", items=Schema(min_length=1))] = ()
    """Namespaces to read; all of them if left out."""
    exclude: Annotated[tuple[str, ...], Schema(list_type="atomic", items=Schema(min_length=1))] = ()
    """Namespaces to leave out, even if they are included."""


class MetricTarget(Struct, frozen=True, kw_only=True):
    """The objects to read."""

    api_version: Annotated[str, Schema(min_length=1)]
    """API group and version of the objects."""
    kind: Annotated[str, Schema(min_length=1)]
    """Kind of the objects."""
    resource: str = ""
    """Plural resource name; found by discovery if left out."""
    scope: Annotated[SourceScope, Schema(default="Namespaced")] = "Namespaced"
    """Whether the objects live in namespaces."""
    namespaces: NamespaceSelection | None = None
    """Which namespaces to read; ignored for cluster-scoped kinds."""
    label_selector: LabelSelector | None = None
    """Which objects to read, by their labels."""


class FieldExtraction(Struct, frozen=True, kw_only=True):
    """One value taken from each object."""

    name: Annotated[str, Schema(min_length=1)]
    """Name of the value; expressions and aggregations refer to it."""
    path: Annotated[str, Schema(min_length=1)]
    """Where the value is: .status.phase, .spec.containers[0].image, .metadata.labels['app/name'],
    .spec.containers[*].name or .status.conditions[?(@.type=="Ready")].status."""
    type: Annotated[FieldType, Schema(default="string")] = "string"
    """What the value is converted to."""
    default: str | None = None
    """The value, as text, when the path leads nowhere or the value cannot be converted."""


class ComputedField(Struct, frozen=True, kw_only=True):
    """One value computed from others of the same object."""

    name: Annotated[str, Schema(min_length=1)]
    """Name of the value."""
    expression: Annotated[str, Schema(min_length=1)]
    """Expression over extracted and other computed values."""
    type: Annotated[ComputedType, Schema(default="float")] = "float"
    """What the result is converted to."""


class AggregationFilter(Struct, frozen=True, kw_only=True):
    """Which objects an aggregation looks at."""

    field: Annotated[str, Schema(min_length=1)]
    """Name of an extracted or computed value."""
    operator: FilterOperator
    """How it is compared."""
    value: str = ""
    """What it is compared with, as text."""


class Aggregation(Struct, frozen=True, kw_only=True):
    """One number, or one per group, over all objects of a cluster."""

    name: Annotated[str, Schema(min_length=1)]
    """Name of the aggregation."""
    field: str = ""
    """Name of the extracted or computed value; not needed for count."""
    function: AggregationFunction
    """How the values become one number."""
    filter: AggregationFilter | None = None
    """Which objects to look at; all of them if left out."""
    group_by: str = ""
    """Name of the value to group by; namespace groups by the object's namespace."""
    percentile: Annotated[Int32, Schema(minimum=0, maximum=100)] | None = None
    """Which percentile, from 0 to 100; 0, the minimum, if left out."""


class AlertRule(Struct, frozen=True, kw_only=True):
    """When the aggregations of a cluster are worth an alert."""

    name: Annotated[str, Schema(min_length=1)]
    """Name of the alert."""
    expression: Annotated[str, Schema(min_length=1)]
    """Condition over aggregations by their names; judged for each group where they have groups."""
    for_seconds: Annotated[Int32, Schema(minimum=0)] = 0
    """How long the condition must hold before it is an alert."""
    severity: Annotated[AlertSeverity, Schema(default="warning")] = "warning"
    """How bad it is: critical, warning or info."""
    message: str = ""
    """What to tell people; the expression if left out."""


class Collection(Struct, frozen=True, kw_only=True):
    """How often objects are read, and how many."""

    interval_seconds: Annotated[Int32, Schema(default=60, minimum=MIN_INTERVAL_S)] = 60
    """Seconds between two collections."""
    timeout_seconds: Annotated[Int32, Schema(default=30, minimum=MIN_TIMEOUT_S)] = 30
    """Seconds the collection from one cluster may take."""
    max_resources: Annotated[Int32, Schema(default=5000, minimum=1)] = 5000
    """How many objects are kept of one cluster."""
    batch_size: Annotated[Int32, Schema(default=500, minimum=10)] = 500
    """How many objects one request asks for."""
    retry_attempts: Annotated[Int32, Schema(default=3, minimum=0)] = 3
    """How often a failed request is repeated."""
    parallelism: Annotated[Int32, Schema(default=3, minimum=1)] = 3
    """How many namespaces are read at the same time."""


class MetricAccess(Struct, frozen=True, kw_only=True):
    """How access policies refer to the objects."""

    resource_type_name: str = ""
    """The type that policies name; policies cannot refer to the source if it is left out."""
    filterable_fields: Annotated[tuple[str, ...], Schema(list_type="set")] = ()
    """Values that policies may filter by; all of them if left out."""
    filter_aggregations: Annotated[bool, Schema(default=True)] = True
    """Whether aggregations are computed again from what a user may see."""


class MetricSourceSpec(Struct, frozen=True, kw_only=True):
    """What to read and what to compute."""

    source: MetricTarget
    """The objects to read."""
    fields: Annotated[
        tuple[FieldExtraction, ...],
        Schema(min_items=1, list_type="map", list_map_keys=("name",)),
    ]
    """Values taken from each object."""
    computed: Annotated[
        tuple[ComputedField, ...], Schema(list_type="map", list_map_keys=("name",))
    ] = ()
    """Values computed for each object, in any order."""
    aggregations: Annotated[
        tuple[Annotated[Aggregation, Schema(rules=(FIELD_UNLESS_COUNT,))], ...],
        Schema(list_type="map", list_map_keys=("name",)),
    ] = ()
    """Numbers over all objects of a cluster."""
    alerts: Annotated[tuple[AlertRule, ...], Schema(list_type="map", list_map_keys=("name",))] = ()
    """Conditions over aggregations that are shown as alerts of a cluster."""
    collection: Annotated[Collection, Schema(default={})] = Collection()
    """How often objects are read, and how many."""
    rbac: Annotated[MetricAccess, Schema(default={})] = MetricAccess()
    """How access policies refer to the objects."""
    expression_mode: Annotated[ExpressionMode, Schema(default="standard")] = "standard"
    """Rules of paths, values and expressions: standard, or compat for those of ClusterPulse, where
    null counts as 0 and text is never parsed as a number."""


class FieldValidation(Struct, frozen=True, kw_only=True):
    """Whether one field, expression or aggregation makes sense."""

    field: str
    """Name of the field, computed field or aggregation."""
    status: FieldValidationStatus
    """Whether it is valid, invalid or doubtful."""
    message: str = ""
    """What is wrong and what to do."""


class MetricSourceStatus(Struct, frozen=True, kw_only=True):
    """What the last collection found."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    phase: Annotated[str, Schema(enum=SOURCE_PHASES)] = ""
    """Whether the source is collected: Active, Error or Disabled."""
    last_collection_time: Time = ""
    """When objects were last collected."""
    last_collection_duration: str = ""
    """How long that took."""
    resources_collected: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """Number of objects over all clusters."""
    clusters_collected: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """Number of clusters they came from."""
    errors_last_run: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """Number of clusters and namespaces that could not be read."""
    message: str = ""
    """What happened."""
    field_validation: Annotated[tuple[FieldValidation, ...], Schema(list_type="atomic")] = ()
    """Whether each field, expression and aggregation makes sense."""
    conditions: Conditions = ()
    """Ready: the source compiles and was collected."""


class MetricSource(Object, frozen=True, kw_only=True):
    """Metrics that users define over objects of any kind, collected from every cluster."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="MetricSource",
        plural="metricsources",
        singular="metricsource",
        short_names=("ms", "metricsrc"),
        columns=(
            Column(name="Source Kind", path=".spec.source.kind"),
            Column(name="Phase", path=".status.phase"),
            Column(name="Resources", type="integer", path=".status.resourcesCollected"),
            Column(name="Clusters", type="integer", path=".status.clustersCollected"),
            Column(name="Errors", type="integer", path=".status.errorsLastRun", priority=1),
            Column(name="Message", path=".status.message", priority=1),
            AGE,
        ),
    )
    spec: MetricSourceSpec
    """What to read and what to compute."""
    status: MetricSourceStatus = MetricSourceStatus()
    """What the last collection found."""
