"""RunnerPool: runners of a CI system, as many as there is work for."""

from typing import Annotated, Literal

from quarterdeck.apis.hypervisor import names
from quarterdeck.apis.hypervisor.references import ObjectReference, SecretKeySelector
from quarterdeck.apis.hypervisor.workload import WorkloadConfig
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo, Scale
from quarterdeck.meta.markers import Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct, always_written
from quarterdeck.meta.schema import Rule

ScaleDownPolicy = Literal["IdleOldestFirst"]
Recurrence = Literal["None", "Daily", "Weekly", "Monthly", "Yearly"]

MIN_NOT_ABOVE_MAX = Rule(
    # Kubernetes checks the default of the object, {}, before it fills in the defaults inside.
    rule=(
        "!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas"
    ),
    message="minReplicas must not be above maxReplicas",
    field_path=".minReplicas",
)
START_BEFORE_END = Rule(
    rule="self.start < self.end",
    message="start must be before end",
    field_path=".end",
)


class ScheduledOverride(Struct, frozen=True, kw_only=True):
    """Another minimum for some time."""

    start: Time
    """When it begins."""
    end: Time
    """When it ends."""
    min_replicas: Annotated[Int32, Schema(minimum=0, maximum=1000)]
    """Idle runners during that time."""
    recurrence: Annotated[Recurrence, Schema(default="None")] = "None"
    """Whether it comes again."""


class PoolScaling(Struct, frozen=True, kw_only=True):
    """How many runners there are."""

    min_replicas: Annotated[Int32, Schema(default=0, minimum=0, maximum=1000)] = 0
    """Idle runners that are always there."""
    max_replicas: Annotated[Int32, Schema(default=10, minimum=0, maximum=1000)] = 10
    """Runners at most, busy ones included."""
    scale_down_delay: Annotated[str, Schema(default="300s", pattern=names.DURATION_PATTERN)] = (
        "300s"
    )
    """How long after the last activity runners are removed."""
    warm_replicas: Annotated[Int32, Schema(default=0, minimum=0, maximum=1000)] = 0
    """Further idle runners while there is work."""
    surge_on_demand: Annotated[Int32, Schema(default=0, minimum=0, maximum=1000)] = 0
    """Further runners that are started with each rise of demand."""
    scheduled_overrides: Annotated[
        tuple[Annotated[ScheduledOverride, Schema(rules=(START_BEFORE_END,))], ...],
        Schema(max_items=32, list_type="atomic"),
    ] = ()
    """Other minimums at some times; the first that is active wins."""


class PoolLifecycle(Struct, frozen=True, kw_only=True):
    """How long runners live."""

    max_lifetime: Annotated[str, Schema(pattern=names.DURATION_PATTERN)] = ""
    """A runner that is older and not busy is replaced."""
    idle_timeout: Annotated[str, Schema(pattern=names.DURATION_PATTERN)] = ""
    """A runner above the minimum that is idle for longer is removed."""
    job_timeout: Annotated[str, Schema(pattern=names.DURATION_PATTERN)] = ""
    """A runner whose job takes longer is removed; the only case in which a busy one is."""


class PoolScaleDown(Struct, frozen=True, kw_only=True):
    """Which runners go."""

    policy: Annotated[ScaleDownPolicy, Schema(default="IdleOldestFirst")] = "IdleOldestFirst"
    """Idle ones only, the oldest first."""


class PoolWebhook(Struct, frozen=True, kw_only=True):
    """How the CI system reports jobs."""

    enabled: bool = False
    """Take workflow_job events."""
    secret_ref: SecretKeySelector | None = None
    """Secret that events are signed with."""
    labels_match: Annotated[tuple[str, ...], Schema(list_type="set")] = ()
    """Labels of jobs that the pool serves; those of its runners if left out."""


class PoolPolling(Struct, frozen=True, kw_only=True):
    """How the CI system is asked where no event reaches us."""

    enabled: bool = False
    """Ask for queued jobs."""
    interval: Annotated[str, Schema(default="30s", pattern=names.DURATION_PATTERN)] = "30s"
    """How often to ask."""
    url: str = ""
    """API address; GitHub's own if left out."""
    token_ref: SecretKeySelector | None = None
    """Token for the API."""


class RunnerPoolSpec(Struct, frozen=True, kw_only=True):
    """The desired runners."""

    template_ref: ObjectReference
    """The recipe of the runners."""
    workload: WorkloadConfig
    """What the runners are for."""
    scaling: Annotated[PoolScaling, Schema(default={}, rules=(MIN_NOT_ABOVE_MAX,))] = PoolScaling()
    """How many runners there are."""
    lifecycle: PoolLifecycle | None = None
    """How long runners live."""
    scale_down: Annotated[PoolScaleDown, Schema(default={})] = PoolScaleDown()
    """Which runners go."""
    webhook: PoolWebhook | None = None
    """How the CI system reports jobs."""
    polling: PoolPolling | None = None
    """How the CI system is asked."""
    paused: bool = False
    """Whether to stop making and removing runners."""


class PoolJob(Struct, frozen=True, kw_only=True):
    """A job that waits or runs."""

    id: str
    """Identity of the job."""
    status: Literal["queued", "in_progress"] = "queued"
    """Where the job is."""
    runner: str = ""
    """Name of the runner."""
    since: Time = ""
    """When it got there."""


class RunnerPoolStatus(Struct, frozen=True, kw_only=True):
    """What is known of the runners."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    replicas: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """Runners, failed ones excluded."""
    ready_replicas: Int32 = always_written(0)
    """Runners that are ready."""
    idle_replicas: Int32 = always_written(0)
    """Ready runners without a job."""
    busy_replicas: Int32 = always_written(0)
    """Runners with a job."""
    pending_replicas: Int32 = always_written(0)
    """Runners that are being made."""
    failed_replicas: Int32 = always_written(0)
    """Runners that failed."""
    desired_replicas: Int32 = always_written(0)
    """Runners that there should be."""
    queued_jobs: Int32 = always_written(0)
    """Jobs that wait."""
    failures: Int32 = 0
    """Runners that failed in a row; makes the next one wait."""
    last_scale_up_time: Time = ""
    """When a runner was last made."""
    last_scale_down_time: Time = ""
    """When a runner was last removed."""
    last_activity_time: Time = ""
    """When demand last rose or a job last ended."""
    last_failure_time: Time = ""
    """When a runner last failed."""
    selector: str = ""
    """Selector of the claims, for autoscalers."""
    jobs: Annotated[tuple[PoolJob, ...], Schema(list_type="map", list_map_keys=("id",))] = ()
    """Jobs that wait or run."""
    conditions: Conditions = ()
    """Ready, Scaling and Polling."""


class RunnerPool(Object, frozen=True, kw_only=True):
    """Runners of a CI system, one VM each."""

    KIND = KindInfo(
        group=names.GROUP,
        version=names.VERSION,
        kind="RunnerPool",
        plural="runnerpools",
        singular="runnerpool",
        short_names=("rp",),
        categories=(names.CATEGORY,),
        scale=Scale(spec_replicas=".spec.scaling.minReplicas", label_selector=".status.selector"),
        columns=(
            Column(name="Min", type="integer", path=".spec.scaling.minReplicas"),
            Column(name="Max", type="integer", path=".spec.scaling.maxReplicas"),
            Column(name="Desired", type="integer", path=".status.desiredReplicas"),
            Column(name="Ready", type="integer", path=".status.readyReplicas"),
            Column(name="Busy", type="integer", path=".status.busyReplicas"),
            Column(name="Idle", type="integer", path=".status.idleReplicas"),
            AGE,
        ),
    )
    spec: RunnerPoolSpec
    """The desired runners."""
    status: RunnerPoolStatus = RunnerPoolStatus()
    """What is known of the runners."""
