"""MonitorAccessPolicy: who may see which clusters, and which objects and metrics of them."""

from collections.abc import Mapping
from typing import Annotated, Literal

from quarterdeck.apis.clusterpulse.group import GROUP, VERSION
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct, always_written

Effect = Literal["Allow", "Deny"]
DefaultAccess = Literal["allow", "deny", "none"]
Visibility = Literal["all", "none", "filtered"]

POLICY_STATES = ("Active", "Inactive", "Error", "Pending", "Expired")
MAX_PATTERN = 256

Names = Annotated[tuple[str, ...], Schema(list_type="atomic")]


class ServiceAccountSubject(Struct, frozen=True, kw_only=True):
    """A service account."""

    name: Annotated[str, Schema(min_length=1)]
    """Name of the service account."""
    namespace: Annotated[str, Schema(default="default")] = "default"
    """Its namespace."""


class Subjects(Struct, frozen=True, kw_only=True):
    """Whom a policy is about."""

    users: Names = ()
    """User names or e-mail addresses."""
    groups: Names = ()
    """Groups of users."""
    service_accounts: Annotated[tuple[ServiceAccountSubject, ...], Schema(list_type="atomic")] = ()
    """Service accounts."""


class Identity(Struct, frozen=True, kw_only=True):
    """Whom a policy is about, and which of several policies goes first."""

    subjects: Subjects = Subjects()
    """Users, groups and service accounts."""
    priority: Annotated[Int32, Schema(default=100, minimum=1, maximum=10000)] = 100
    """Policies of higher priority are looked at first."""


class Access(Struct, frozen=True, kw_only=True):
    """What a policy does."""

    effect: Effect
    """Whether it allows or denies."""
    enabled: Annotated[bool, Schema(default=True)] = True
    """Whether it is in force."""


class ClusterSelector(Struct, frozen=True, kw_only=True):
    """Clusters by name or label."""

    match_names: Names = ()
    """Names of clusters; `*` and `?` are wildcards."""
    match_pattern: Annotated[str, Schema(max_length=MAX_PATTERN)] = ""
    """Regular expression (RE2) over names of clusters."""
    match_labels: Mapping[str, str] = {}
    """Labels a ClusterConnection must have."""


class Permissions(Struct, frozen=True, kw_only=True):
    """What may be done with a cluster."""

    view: bool | None = None
    """Whether the cluster may be seen."""
    view_metrics: bool | None = None
    """Whether its metrics may be seen."""


class NameFilter(Struct, frozen=True, kw_only=True):
    """Names or values; `*` and `?` are wildcards, and denied ones win."""

    allowed: Names = ()
    """What may be seen; everything if left out."""
    denied: Names = ()
    """What may not be seen."""


class ResourceFilters(Struct, frozen=True, kw_only=True):
    """Which objects of a type may be seen."""

    namespaces: NameFilter | None = None
    """By namespace."""
    names: NameFilter | None = None
    """By name."""
    labels: Mapping[str, str] = {}
    """By label; all of them must match exactly."""
    fields: Mapping[str, NameFilter] = {}
    """By value of a MetricSource's field."""


class AggregationRules(Struct, frozen=True, kw_only=True):
    """Which aggregations of a MetricSource may be seen."""

    include: Names = ()
    """Aggregations that may be seen; all of them if left out."""
    exclude: Names = ()
    """Aggregations that may not be seen."""


class ResourceRule(Struct, frozen=True, kw_only=True):
    """What may be seen of one type."""

    type: Annotated[str, Schema(min_length=1)]
    """nodes, operators, namespaces, pods, alerts, events, or a MetricSource's resourceTypeName."""
    visibility: Annotated[Visibility, Schema(default="all")] = "all"
    """Whether everything, nothing, or what the filters let through may be seen."""
    filters: ResourceFilters | None = None
    """What may be seen when visibility is filtered."""
    aggregations: AggregationRules | None = None
    """Which aggregations may be seen."""


class ClusterRule(Struct, frozen=True, kw_only=True):
    """What holds for some clusters."""

    selector: ClusterSelector = ClusterSelector()
    """The clusters."""
    permissions: Permissions | None = None
    """What may be done; only view if left out."""
    resources: Annotated[tuple[ResourceRule, ...], Schema(list_type="atomic")] = ()
    """What may be seen of them."""


class ClusterScope(Struct, frozen=True, kw_only=True):
    """Rules for clusters."""

    default: Annotated[DefaultAccess, Schema(default="none")] = "none"
    """What holds for clusters that no rule selects."""
    rules: Annotated[tuple[ClusterRule, ...], Schema(list_type="atomic")] = ()
    """Rules for selected clusters; the first that matches holds."""


class PolicyScope(Struct, frozen=True, kw_only=True):
    """What a policy is about."""

    clusters: Annotated[ClusterScope, Schema(default={})] = ClusterScope()
    """Rules for clusters."""


class Validity(Struct, frozen=True, kw_only=True):
    """When a policy is in force.

    A text that is not a time makes an Allow policy ignored, and sets a Deny policy no limit.
    """

    not_before: str = ""
    """RFC 3339 time from which on it holds."""
    not_after: str = ""
    """RFC 3339 time until which it holds."""


class Lifecycle(Struct, frozen=True, kw_only=True):
    """When a policy is in force."""

    validity: Validity | None = None
    """The first and last moment."""


class MonitorAccessPolicySpec(Struct, frozen=True, kw_only=True):
    """Who may see what."""

    identity: Identity
    """Whom the policy is about."""
    access: Access
    """What it does."""
    scope: Annotated[PolicyScope, Schema(default={})] = PolicyScope()
    """What it is about."""
    lifecycle: Lifecycle | None = None
    """When it is in force; always if left out."""


class MonitorAccessPolicyStatus(Struct, frozen=True, kw_only=True):
    """What became of a policy."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    state: Annotated[str, Schema(default="Pending", enum=POLICY_STATES)] = always_written("Pending")
    """Active, Inactive, Error, Pending or Expired."""
    message: str = ""
    """Why it is in this state."""
    compiled_at: Time = ""
    """When it was last compiled."""
    hash: str = ""
    """Hash of what was compiled."""
    affected_users: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """Number of users it names."""
    affected_groups: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """Number of groups it names."""
    affected_service_accounts: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """Number of service accounts it names."""
    custom_resource_types: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """Number of types of MetricSources it names."""
    custom_resource_warnings: Annotated[tuple[str, ...], Schema(list_type="atomic")] = ()
    """Types and fields it names that no MetricSource has."""
    evaluation_count: Annotated[Int64, Schema(minimum=0)] = 0
    """How often it was evaluated."""
    last_evaluated: Time = ""
    """When it was last evaluated."""
    conditions: Conditions = ()
    """Ready: the policy compiles."""


class MonitorAccessPolicy(Object, frozen=True, kw_only=True):
    """Who may see which clusters, and which objects and metrics of them."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="MonitorAccessPolicy",
        plural="monitoraccesspolicies",
        singular="monitoraccesspolicy",
        short_names=("map", "policy"),
        columns=(
            Column(name="State", path=".status.state"),
            Column(name="Effect", path=".spec.access.effect"),
            Column(name="Priority", type="integer", path=".spec.identity.priority"),
            Column(name="Users", type="integer", path=".status.affectedUsers"),
            Column(name="Message", path=".status.message", priority=1),
            AGE,
        ),
    )
    spec: MonitorAccessPolicySpec
    """Who may see what."""
    status: MonitorAccessPolicyStatus = MonitorAccessPolicyStatus()
    """What became of the policy."""
