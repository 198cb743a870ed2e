"""PipelineDiscovery and CollectorDiscovery: objects for what a fleet server has already."""

from typing import Annotated, Literal

import msgspec

from quarterdeck.apis.core.references import LocalObjectReference
from quarterdeck.apis.fleetmanagement.names import DURATION_PATTERN, GROUP, VERSION, ConfigType
from quarterdeck.apis.fleetmanagement.policies import CollectorSelector
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct, always_written

MAX_CONFLICTS = 100
RemovalPolicy = Literal["Keep", "Delete"]
PollInterval = Annotated[str, Schema(default="5m", pattern=DURATION_PATTERN)]
Count = Annotated[Int32, Schema(minimum=0)]


class Conflict(Struct, frozen=True, kw_only=True):
    """Something on the server that has no object because its name is taken."""

    id: str
    """Identity on the server."""
    cr_name: str
    """Name of the object that is in the way."""
    reason: Literal["NotOwnedByDiscovery", "OwnedByOtherDiscovery", "NameSanitizationFailed"]
    """Why it is in the way."""


class PipelineDiscoverySelector(Struct, frozen=True, kw_only=True):
    """Which pipelines of the server get an object."""

    config_type: ConfigType | None = None
    """Only those of this language."""
    enabled: bool | None = None
    """Only those that are, or are not, delivered."""


class PipelineDiscoveryPolicy(Struct, frozen=True, kw_only=True):
    """What happens afterwards."""

    on_pipeline_removed: Annotated[RemovalPolicy, Schema(default="Keep")] = "Keep"
    """Whether the object of a pipeline that left the server is kept, marked stale, or deleted."""


class PipelineDiscoverySpec(Struct, frozen=True, kw_only=True):
    """Which pipelines get an object, and what kind of."""

    poll_interval: PollInterval = "5m"
    """How often to look, at least a minute."""
    target_namespace: str = ""
    """Namespace of the objects; that of the discovery if left out."""
    selector: PipelineDiscoverySelector = PipelineDiscoverySelector()
    """Which pipelines get an object; all if left out."""
    import_mode: Annotated[Literal["Adopt", "ReadOnly"], Schema(default="Adopt")] = "Adopt"
    """Adopt makes objects that manage the pipelines, ReadOnly ones that only show them."""
    policy: Annotated[PipelineDiscoveryPolicy, Schema(default={})] = PipelineDiscoveryPolicy()
    """What happens afterwards."""
    connection_ref: LocalObjectReference | None = None
    """The FleetConnection to use; the namespace's default one if left out."""


class PipelineDiscoveryStatus(Struct, frozen=True, kw_only=True):
    """What was found."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    last_sync_time: Time = ""
    """When the server was last asked."""
    last_success_time: Time = ""
    """When it last answered."""
    pipelines_observed: Count = always_written(0)
    """How many pipelines the selector selects."""
    pipelines_managed: Count = always_written(0)
    """How many of them have an object of this discovery."""
    stale_pipelines: tuple[str, ...] = ()
    """Objects whose pipeline is no longer on the server."""
    conflicts: tuple[Conflict, ...] = ()
    """Pipelines without an object because its name is taken, at most 100."""
    conditions: Conditions = ()
    """Ready, Synced, and TruncatedConflicts."""


class PipelineDiscovery(Object, frozen=True, kw_only=True):
    """Makes Pipelines for what a fleet server has already, and keeps mirrors up to date."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="PipelineDiscovery",
        plural="pipelinediscoveries",
        singular="pipelinediscovery",
        short_names=("fmpd",),
        columns=(
            Column(name="Mode", path=".spec.importMode"),
            Column(name="Observed", type="integer", path=".status.pipelinesObserved"),
            Column(name="Managed", type="integer", path=".status.pipelinesManaged"),
            Column(name="Ready", path='.status.conditions[?(@.type=="Ready")].status'),
            AGE,
        ),
    )
    spec: PipelineDiscoverySpec = PipelineDiscoverySpec()
    """Which pipelines get an object, and what kind of."""
    status: PipelineDiscoveryStatus = PipelineDiscoveryStatus()
    """What was found."""


class CollectorDiscoveryPolicy(Struct, frozen=True, kw_only=True):
    """What happens afterwards."""

    on_collector_removed: Annotated[RemovalPolicy, Schema(default="Keep")] = "Keep"
    """Whether the object of a collector that left the server is kept, marked stale, or deleted."""
    on_conflict: Annotated[Literal["Skip"], Schema(default="Skip")] = "Skip"
    """What to do when the name of an object is taken."""


class CollectorDiscoverySpec(Struct, frozen=True, kw_only=True):
    """Which collectors get an object."""

    poll_interval: PollInterval = "5m"
    """How often to look, at least a minute."""
    target_namespace: str = ""
    """Namespace of the objects; that of the discovery if left out."""
    selector: CollectorSelector = CollectorSelector()
    """Which collectors get an object: those of the matchers and those of the ids; all if empty."""
    include_inactive: bool = False
    """Whether collectors that were found inactive get an object."""
    policy: Annotated[CollectorDiscoveryPolicy, Schema(default={})] = CollectorDiscoveryPolicy()
    """What happens afterwards."""
    connection_ref: LocalObjectReference | None = None
    """The FleetConnection to use; the namespace's default one if left out."""


class CollectorDiscoveryStatus(Struct, frozen=True, kw_only=True):
    """What was found."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    last_sync_time: Time = ""
    """When the server was last asked."""
    last_success_time: Time = ""
    """When it last answered."""
    collectors_observed: Count = always_written(0)
    """How many collectors the selector selects."""
    collectors_managed: Count = always_written(0)
    """How many of them have an object of this discovery."""
    stale_collectors: tuple[str, ...] = msgspec.field(default=())
    """Objects whose collector is no longer on the server."""
    conflicts: tuple[Conflict, ...] = ()
    """Collectors without an object because its name is taken, at most 100."""
    conditions: Conditions = ()
    """Ready, Synced, and TruncatedConflicts."""


class CollectorDiscovery(Object, frozen=True, kw_only=True):
    """Makes Collectors for the agents that registered with a fleet server."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="CollectorDiscovery",
        plural="collectordiscoveries",
        singular="collectordiscovery",
        short_names=("fmcd",),
        columns=(
            Column(name="Observed", type="integer", path=".status.collectorsObserved"),
            Column(name="Managed", type="integer", path=".status.collectorsManaged"),
            Column(name="Ready", path='.status.conditions[?(@.type=="Ready")].status'),
            AGE,
        ),
    )
    spec: CollectorDiscoverySpec = CollectorDiscoverySpec()
    """Which collectors get an object."""
    status: CollectorDiscoveryStatus = CollectorDiscoveryStatus()
    """What was found."""
