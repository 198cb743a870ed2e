"""Fleet: a number of equal machines, replaced one after the other when their recipe changes."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from quarterdeck.apis.hypervisor import names
from quarterdeck.apis.hypervisor.shape import MachineMetadata, MachineNetwork, MachineResources
from quarterdeck.apis.hypervisor.workload import WorkloadConfig
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo, Scale
from quarterdeck.meta.markers import ABSENT, Arbitrary, Int32, Int64, IntOrString, Schema, Time
from quarterdeck.meta.objects import Object, Struct, always_written
from quarterdeck.meta.schema import Rule

StrategyType = Literal["RollingUpdate", "Recreate", "OnDelete"]
DeletePolicy = Literal["Random", "Newest", "Oldest"]
Spread = Literal["node", "cluster", "none"]
DisruptionReason = Literal["Update", "Expired", "Unhealthy"]
ConditionStatus = Literal["True", "False", "Unknown"]

SELECTOR_IS_IMMUTABLE = Rule(rule="self == oldSelf", message="selector is immutable")
NOT_BOTH_ZERO = Rule(
    rule=(
        "!((has(self.maxSurge) && string(self.maxSurge) in ['0', '0%']) && "
        "(!has(self.maxUnavailable) || string(self.maxUnavailable) in ['0', '0%']))"
    ),
    message="maxSurge and maxUnavailable must not both be 0",
)
AMOUNT_PATTERN = r"^[0-9]+%?$"


class RollingUpdate(Struct, frozen=True, kw_only=True):
    """How many machines an update replaces at once."""

    max_surge: Annotated[IntOrString, Schema(default=1, pattern=AMOUNT_PATTERN)] = 1
    """Machines above the wanted number, as a number or percentage; 0 removes before it creates."""
    max_unavailable: Annotated[IntOrString, Schema(default=0, pattern=AMOUNT_PATTERN)] = 0
    """Machines below the wanted number, as a number or percentage."""


class FleetStrategy(Struct, frozen=True, kw_only=True):
    """How a change reaches machines that exist."""

    type: Annotated[StrategyType, Schema(default="RollingUpdate")] = "RollingUpdate"
    """One after the other, all at once, or only when a machine is deleted."""
    rolling_update: Annotated[RollingUpdate, Schema(default={}, rules=(NOT_BOTH_ZERO,))] = (
        RollingUpdate()
    )
    """How many machines an update replaces at once."""


class MachineOverrides(Struct, frozen=True, kw_only=True):
    """What differs from the template."""

    resources: MachineResources | None = None
    """Processors, memory and disk."""
    network: MachineNetwork | None = None
    """Addresses and names."""
    workload: WorkloadConfig | None = None
    """What the machines are for."""


class FleetTemplate(Struct, frozen=True, kw_only=True):
    """What claims of the fleet get."""

    metadata: MachineMetadata | None = None
    """Labels and annotations of claims; a change does not replace machines."""
    spec: MachineOverrides | None = None
    """What differs from the template; a change replaces machines."""


class FleetPlacement(Struct, frozen=True, kw_only=True):
    """Where machines run."""

    clusters: Annotated[tuple[str, ...], Schema(max_items=64, list_type="set")] = ()
    """Clusters to use, by name: the image must have a template on one of them, found by the labels
    of the image. Machines go to the cluster with the fewest of them; that of the template if left
    out."""
    spread: Annotated[Spread, Schema(default="node")] = "node"
    """What machines are spread over: nodes, all clusters that have a template of the image and
    their nodes, or nothing."""
    node_selector: Mapping[str, str] = {}
    """Labels of nodes. No provider reports labels yet, so it is refused as unsupported."""


class UnhealthyCondition(Struct, frozen=True, kw_only=True):
    """A condition of a claim that makes it unhealthy when it lasts."""

    type: Annotated[str, Schema(min_length=1)]
    """Type of the condition."""
    status: ConditionStatus
    """Status of the condition."""
    timeout: Annotated[str, Schema(default="5m", pattern=names.DURATION_PATTERN)] = "5m"
    """How long it may last."""


class FleetHealthCheck(Struct, frozen=True, kw_only=True):
    """When machines are replaced because they are unhealthy, and how many at once."""

    startup_timeout: Annotated[str, Schema(default="10m", pattern=names.DURATION_PATTERN)] = "10m"
    """How long a new machine may take to become ready."""
    heartbeat_timeout: Annotated[str, Schema(default="2m", pattern=names.DURATION_PATTERN)] = "2m"
    """How long the node of a machine may not answer before the machine is replaced."""
    unhealthy_conditions: Annotated[
        tuple[UnhealthyCondition, ...], Schema(max_items=32, list_type="atomic")
    ] = ()
    """Conditions that make a machine unhealthy when they last."""
    max_unhealthy: Annotated[IntOrString, Schema(default="40%", pattern=AMOUNT_PATTERN)] = "40%"
    """Nothing is repaired or replaced while more machines of the newest revision are unhealthy; a
    percentage above 0 allows at least one."""
    max_in_flight: Annotated[Int32, Schema(default=1, minimum=1, maximum=1000)] = 1
    """Machines that are repaired at once."""


class DisruptionBudget(Struct, frozen=True, kw_only=True):
    """How many machines may be taken away at once."""

    nodes: Annotated[IntOrString, Schema(default="10%", pattern=AMOUNT_PATTERN)] = "10%"
    """Machines, as a number or percentage; a percentage allows at least one, unless it is 0%."""
    reasons: Annotated[tuple[DisruptionReason, ...], Schema(list_type="set")] = ()
    """Reasons that the budget limits; all of them if left out."""
    schedule: str = ""
    """When the budget begins: five fields as cron has them, in UTC; always if left out."""
    duration: Annotated[str, Schema(pattern=names.DURATION_PATTERN)] = ""
    """How long the budget lasts after each begin."""


class FleetDisruption(Struct, frozen=True, kw_only=True):
    """How many machines may be taken away at once."""

    budgets: Annotated[tuple[DisruptionBudget, ...], Schema(max_items=32, list_type="atomic")] = ()
    """Of the budgets that are active the smallest counts."""


class FleetSelector(Struct, frozen=True, kw_only=True):
    """Labels of the fleet's claims: here directly, as KEY: VALUE, or in matchLabels."""

    match_labels: Mapping[str, str] = {}
    """Labels of the fleet's claims, in the form that Deployments have."""


class FleetSpec(Struct, frozen=True, kw_only=True):
    """The desired machines."""

    replicas: Annotated[Int32, Schema(default=1, minimum=0, maximum=1000)] = 1
    """How many machines there are."""
    image: Annotated[str, Schema(min_length=1, max_length=253)]
    """Name of a HypervisorMachineTemplate, or NAME:TAG for the template with the labels
    hyperfleet.io/image and hyperfleet.io/image-tag."""
    selector: Annotated[
        Mapping[str, Any],
        Schema(
            described_by=FleetSelector,
            preserve_unknown=True,
            min_properties=1,
            rules=(SELECTOR_IS_IMMUTABLE,),
        ),
    ]
    """Labels of the fleet's claims, as KEY: VALUE or in matchLabels; it cannot be changed."""
    template: FleetTemplate | None = None
    """What claims of the fleet get."""
    strategy: Annotated[FleetStrategy, Schema(default={})] = FleetStrategy()
    """How a change reaches machines that exist."""
    min_ready_seconds: Annotated[Int32, Schema(default=0, minimum=0)] = 0
    """How long a machine must be ready before it counts as available."""
    revision_history_limit: Annotated[Int32, Schema(default=10, minimum=1, maximum=100)] = 10
    """Revisions that are remembered."""
    progress_deadline_seconds: Annotated[Int32, Schema(default=1800, minimum=1)] = 1800
    """How long an update may make no progress before it counts as failed."""
    paused: bool = False
    """Whether to stop replacing machines; the number of machines is still kept."""
    delete_policy: Annotated[DeletePolicy, Schema(default="Oldest")] = "Oldest"
    """Which machines go first when there are too many."""
    placement: FleetPlacement | None = None
    """Where machines run."""
    health_check: Annotated[FleetHealthCheck, Schema(default={})] = FleetHealthCheck()
    """When machines are repaired."""
    max_lifetime: Annotated[str, Schema(pattern=names.DURATION_PATTERN)] = ""
    """Age at which machines are replaced, give or take 10 %; never if left out or 0s."""
    disruption: FleetDisruption | None = None
    """How many machines may be taken away at once."""


class FleetRevision(Struct, frozen=True, kw_only=True):
    """A recipe that the fleet has or had."""

    revision: Int64
    """Number of the revision."""
    hash: str
    """Digest of the recipe; the label of its claims."""
    image: str
    """Image of the revision."""
    template: str = ""
    """Template that the image stood for, or several separated by commas."""
    overrides: MachineOverrides | None = None
    """What differed from the template."""
    template_spec: Arbitrary = ABSENT
    """Spec of the template as it was; left out if it is larger than 16 KiB."""
    created_at: Time = ""
    """When the fleet first had it."""


class FleetStatus(Struct, frozen=True, kw_only=True):
    """What is known of the machines."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    replicas: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """Machines."""
    ready_replicas: Int32 = always_written(0)
    """Machines that are ready."""
    available_replicas: Int32 = always_written(0)
    """Machines that have been ready for long enough."""
    updated_replicas: Int32 = always_written(0)
    """Machines of the newest revision."""
    unavailable_replicas: Int32 = always_written(0)
    """Machines that are missing for the wanted number."""
    current_revision: str = ""
    """Digest of the recipe that all machines had last."""
    update_revision: str = ""
    """Digest of the recipe that machines get now."""
    selector: str = ""
    """Selector of the claims, for autoscalers."""
    revisions: Annotated[
        tuple[FleetRevision, ...], Schema(list_type="map", list_map_keys=("hash",))
    ] = ()
    """Recipes, the oldest first."""
    last_progress_time: Time = ""
    """When an update last made progress."""
    failures: Int32 = 0
    """New machines that failed in a row; makes the next one wait."""
    last_failure_time: Time = ""
    """When a machine last failed."""
    conditions: Conditions = ()
    """Available, Progressing, ReplicaFailure, ImageResolved, RemediationAllowed, Paused."""


class Fleet(Object, frozen=True, kw_only=True):
    """A number of equal machines."""

    KIND = KindInfo(
        group=names.GROUP,
        version=names.VERSION,
        kind="Fleet",
        plural="fleets",
        singular="fleet",
        short_names=("fl",),
        categories=(names.CATEGORY,),
        scale=Scale(label_selector=".status.selector"),
        columns=(
            Column(name="Desired", type="integer", path=".spec.replicas"),
            Column(name="Current", type="integer", path=".status.replicas"),
            Column(name="Ready", type="integer", path=".status.readyReplicas"),
            Column(name="Up-to-date", type="integer", path=".status.updatedReplicas"),
            Column(name="Image", path=".spec.image"),
            AGE,
        ),
    )
    spec: FleetSpec
    """The desired machines."""
    status: FleetStatus = FleetStatus()
    """What is known of the machines."""
