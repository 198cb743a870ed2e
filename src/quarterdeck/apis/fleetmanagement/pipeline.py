"""Pipeline: a piece of collector configuration, and the collectors that receive it.

The fields, names and limits are those that existing manifests use; `contentsFrom`, the policies,
`connectionRef`, `otelIsolation`, `rollout` and the rollback fields are ours and optional.
"""

from typing import Annotated, Literal

from quarterdeck.apis.core.references import (
    ConfigMapKeySelector,
    LocalObjectReference,
    SecretKeySelector,
)
from quarterdeck.apis.fleetmanagement.names import (
    GROUP,
    MAX_CONTENTS,
    VERSION,
    ConfigType,
    OtelIsolation,
)
from quarterdeck.apis.fleetmanagement.rollout import Delivery, Impact, Rollout, RolloutStatus
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.meta.schema import Rule

SourceType = Literal["Unspecified", "Git", "Terraform", "Kubernetes", "Grafana"]
AdoptionPolicy = Literal["Never", "IfUnowned", "Always"]
DeletionPolicy = Literal["Delete", "Orphan"]
DriftPolicy = Literal["Correct", "Warn", "Ignore"]

CONTENTS_ONCE = Rule(
    rule="has(self.contents) != has(self.contentsFrom)",
    message="exactly one of contents and contentsFrom must be set",
)
CONTENTS_NOT_BLANK = Rule(
    rule="self.matches('\\\\S')",
    message="contents must not be blank",
)
SOURCE_ONCE = Rule(
    rule="has(self.configMapKeyRef) != has(self.secretKeyRef)",
    message="exactly one of configMapKeyRef and secretKeyRef must be set",
)
SOURCE_NAMESPACE = Rule(
    rule=(
        "!has(self.type) || !(self.type in ['Git', 'Terraform']) || "
        "(has(self.__namespace__) && self.__namespace__ != '')"
    ),
    message="source.namespace must name the repository or workspace for Git and Terraform",
    field_path=".namespace",
)


class PipelineSource(Struct, frozen=True, kw_only=True):
    """Where a pipeline was written, for people who look at the server."""

    type: Annotated[SourceType, Schema(default="Unspecified")] = "Unspecified"
    """Kind of origin. Kubernetes is accepted and never sent: the server does not know it."""
    namespace: str = ""
    """The repository or workspace; needed for Git and Terraform."""


class ContentsSource(Struct, frozen=True, kw_only=True):
    """Where the configuration is, if it is not in the pipeline itself; exactly one is set."""

    config_map_key_ref: ConfigMapKeySelector | None = None
    """Key of a ConfigMap in the same namespace."""
    secret_key_ref: SecretKeySelector | None = None
    """Key of a Secret in the same namespace."""


class PipelineSpec(Struct, frozen=True, kw_only=True):
    """The desired state of a pipeline."""

    name: str = ""
    """Name in the fleet, unique over the whole tenant; metadata.name if left out."""
    contents: Annotated[
        str, Schema(min_length=1, max_length=MAX_CONTENTS, rules=(CONTENTS_NOT_BLANK,))
    ] = ""
    """Alloy or OpenTelemetry Collector configuration."""
    contents_from: Annotated[ContentsSource, Schema(rules=(SOURCE_ONCE,))] | None = None
    """Where the configuration is kept instead; a change there is a change of the pipeline."""
    matchers: Annotated[
        tuple[str, ...],
        Schema(max_items=100, list_type="atomic", items=Schema(min_length=1, max_length=200)),
    ] = ()
    """Which collectors receive it: matchers such as env=prod or team=~"a.*", all of which hold."""
    enabled: Annotated[bool, Schema(default=True)] = True
    """Whether it is delivered to collectors."""
    config_type: Annotated[ConfigType, Schema(default="Alloy")] = "Alloy"
    """The language of the configuration."""
    otel_isolation: Annotated[OtelIsolation, Schema(default="None")] = "None"
    """Suffix adds the name of the pipeline to every id of an OpenTelemetry configuration, so that
    it shares no component with other pipelines of the collector."""
    source: Annotated[PipelineSource, Schema(rules=(SOURCE_NAMESPACE,))] | None = None
    """Where the pipeline is written; the object's own namespace and name if left out."""
    connection_ref: LocalObjectReference | None = None
    """The FleetConnection to use; the namespace's default one if left out."""
    adoption_policy: Annotated[AdoptionPolicy, Schema(default="Never")] = "Never"
    """What to do with a pipeline of the same name that another client created."""
    deletion_policy: Annotated[DeletionPolicy, Schema(default="Delete")] = "Delete"
    """What happens on the server when this object is deleted."""
    drift_policy: Annotated[DriftPolicy, Schema(default="Correct")] = "Correct"
    """What to do when the pipeline was changed on the server."""
    paused: bool = False
    """Whether to stop creating and updating; deletion still runs."""
    rollout: Rollout | None = None
    """How a change reaches the collectors: in steps; all at once if left out."""
    rollback_to: Annotated[str, Schema(max_length=256)] = ""
    """The revision whose configuration is sent instead of the contents, until this is emptied."""
    revision_history_limit: Annotated[Int32, Schema(default=10, minimum=0, maximum=100)] = 10
    """How many PipelineRevisions are kept."""


class PipelineStatus(Struct, frozen=True, kw_only=True):
    """The observed state of a pipeline."""

    id: str = ""
    """Identity on the server."""
    name: str = ""
    """Name on the server, which a rename has to clean up after."""
    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    created_at: Time = ""
    """When the server created it."""
    updated_at: Time = ""
    """When the server last changed it."""
    revision_id: str = ""
    """The current revision on the server."""
    applied_hash: str = ""
    """Hash of everything that was last sent."""
    connection: str = ""
    """The connection it was sent through."""
    source: PipelineSource | None = None
    """The source as the server has it."""
    preview: Annotated[str, Schema(max_length=32768)] = ""
    """What a dry run would change."""
    impact: Impact | None = None
    """Which collectors the last change or dry run concerns."""
    rollout: RolloutStatus | None = None
    """How far a rollout has come."""
    delivery: Delivery | None = None
    """How many collectors run it, by what they report."""
    rolled_back_to: str = ""
    """The revision that is in force by spec.rollbackTo."""
    conditions: Conditions = ()
    """Ready and Synced, and what else is known."""


class Pipeline(Object, frozen=True, kw_only=True):
    """A piece of collector configuration, and the collectors that receive it."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="Pipeline",
        plural="pipelines",
        singular="pipeline",
        short_names=("fmp",),
        columns=(
            Column(name="Enabled", type="boolean", path=".spec.enabled"),
            Column(name="ConfigType", path=".spec.configType"),
            Column(name="Fleet ID", path=".status.id"),
            Column(name="Ready", path='.status.conditions[?(@.type=="Ready")].status'),
            Column(name="Rollout", path=".status.rollout.phase", priority=1),
            Column(name="Applied", type="integer", path=".status.delivery.applied", priority=1),
            Column(name="Failed", type="integer", path=".status.delivery.failed", priority=1),
            Column(name="Source", path=".spec.source.type", priority=1),
            Column(name="Paused", type="boolean", path=".spec.paused", priority=1),
            Column(name="Reason", path='.status.conditions[?(@.type=="Ready")].reason', priority=1),
            AGE,
        ),
        selectable=(".spec.name", ".spec.configType", ".status.id"),
    )
    spec: Annotated[PipelineSpec, Schema(rules=(CONTENTS_ONCE,))]
    """What the fleet should have."""
    status: PipelineStatus = PipelineStatus()
    """What the fleet has."""
