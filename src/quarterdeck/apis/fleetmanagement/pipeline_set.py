"""PipelineSet: pipelines of one source that a fleet server receives together, or not at all."""

from typing import Annotated, Literal

from quarterdeck.apis.core.references import LocalObjectReference
from quarterdeck.apis.fleetmanagement.names import (
    GROUP,
    MAX_CONTENTS,
    MAX_MATCHER,
    MAX_MATCHERS,
    VERSION,
    ConfigType,
    OtelIsolation,
)
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct, always_written
from quarterdeck.meta.schema import Rule
from quarterdeck.meta.selectors import LabelSelector

MEMBERS_ONCE = Rule(
    rule="has(self.selector) != has(self.pipelines)",
    message="exactly one of selector and pipelines must be set",
)


class SetMember(Struct, frozen=True, kw_only=True):
    """A pipeline written in the set itself."""

    name: Annotated[str, Schema(min_length=1, max_length=253)]
    """Name in the fleet."""
    contents: Annotated[str, Schema(min_length=1, max_length=MAX_CONTENTS)]
    """Alloy or OpenTelemetry Collector configuration."""
    matchers: Annotated[
        tuple[str, ...],
        Schema(
            max_items=MAX_MATCHERS,
            list_type="atomic",
            items=Schema(min_length=1, max_length=MAX_MATCHER),
        ),
    ] = ()
    """Which collectors receive it, all of which hold."""
    enabled: Annotated[bool, Schema(default=True)] = True
    """Whether it is delivered to collectors."""
    config_type: Annotated[ConfigType, Schema(default="Alloy")] = "Alloy"
    """The language of the configuration."""
    otel_isolation: Annotated[OtelIsolation, Schema(default="None")] = "None"
    """Suffix adds the name of the pipeline to every id of an OpenTelemetry configuration, so that
    it shares no component with other pipelines of the collector."""


class SetSource(Struct, frozen=True, kw_only=True):
    """The source whose pipelines the set owns on the server."""

    type: Annotated[Literal["Git", "Terraform"], Schema(default="Git")] = "Git"
    """Kind of origin."""
    namespace: Annotated[str, Schema(min_length=1, max_length=253)]
    """Name that no other client uses: pruning deletes every other pipeline of this source."""


class PipelineSetSpec(Struct, frozen=True, kw_only=True):
    """The pipelines of one source."""

    source: SetSource
    """The source whose pipelines the set owns on the server."""
    selector: LabelSelector | None = None
    """Pipelines of the namespace that belong to the set; an empty selector selects all. They are
    sent by the set and no longer one by one."""
    pipelines: Annotated[
        tuple[SetMember, ...],
        Schema(max_items=500, list_type="map", list_map_keys=("name",)),
    ] = ()
    """Pipelines of the set instead."""
    matchers: Annotated[
        tuple[str, ...],
        Schema(
            max_items=MAX_MATCHERS,
            list_type="atomic",
            items=Schema(min_length=1, max_length=MAX_MATCHER),
        ),
    ] = ()
    """Matchers that every pipeline of the set has besides its own."""
    prune: Annotated[bool, Schema(default=True)] = True
    """Whether pipelines of the source that the set does not list are deleted on the server."""
    max_deletions: Annotated[Int32, Schema(default=5, minimum=0)] = 5
    """How many pipelines one sync may delete; more are refused and nothing is sent."""
    allow_empty: bool = False
    """Whether an empty set is sent, which deletes every pipeline of the source."""
    deletion_policy: Annotated[Literal["Delete", "Orphan"], Schema(default="Delete")] = "Delete"
    """What happens to the pipelines of the source when this object is deleted."""
    connection_ref: LocalObjectReference | None = None
    """The FleetConnection to use; the namespace's default one if left out."""
    paused: bool = False
    """Whether to stop sending."""


class MemberStatus(Struct, frozen=True, kw_only=True):
    """One pipeline of a set, as the server has it."""

    name: str
    """Name in the fleet."""
    id: str = ""
    """Identity on the server."""
    state: Literal["Synced", "Differs", "Missing"] = "Synced"
    """Whether the server has it as the set says."""
    pipeline: str = ""
    """The Pipeline object it comes from, if the set selects objects."""


class PipelineSetStatus(Struct, frozen=True, kw_only=True):
    """What the server has of a set."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    applied_hash: str = ""
    """Hash of everything that was last sent."""
    applied_source: str = ""
    """Type and namespace of the source that it was sent to."""
    connection: str = ""
    """The connection it was sent through."""
    last_sync_time: Time = ""
    """When it was last sent."""
    synced: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """How many pipelines the server has as the set says."""
    total: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """How many pipelines the set has."""
    deletions: tuple[str, ...] = ()
    """Pipelines that the last sync deleted, or that a refused one would delete."""
    members: Annotated[
        tuple[MemberStatus, ...], Schema(list_type="map", list_map_keys=("name",))
    ] = ()
    """Each pipeline of the set."""
    conditions: Conditions = ()
    """Ready and Synced."""


class PipelineSet(Object, frozen=True, kw_only=True):
    """Pipelines of one source that a fleet server receives together, or not at all."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="PipelineSet",
        plural="pipelinesets",
        singular="pipelineset",
        short_names=("fmps",),
        columns=(
            Column(name="Source", path=".spec.source.namespace"),
            Column(name="Synced", type="integer", path=".status.synced"),
            Column(name="Total", type="integer", path=".status.total"),
            Column(name="Ready", path='.status.conditions[?(@.type=="Ready")].status'),
            Column(name="Reason", path='.status.conditions[?(@.type=="Ready")].reason', priority=1),
            AGE,
        ),
    )
    spec: Annotated[PipelineSetSpec, Schema(rules=(MEMBERS_ONCE,))]
    """The pipelines of one source."""
    status: PipelineSetStatus = PipelineSetStatus()
    """What the server has of them."""
