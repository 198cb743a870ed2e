"""`batch/v1`: Jobs, work that ends."""

from typing import Annotated

from quarterdeck.apis.core.pods import PodTemplateSpec
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.markers import ABSENT, Arbitrary, Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.meta.selectors import LabelSelector


class JobSpec(Struct, frozen=True, kw_only=True):
    """What a job should do."""

    template: PodTemplateSpec
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str | None = None
    active_deadline_seconds: Int64 | None = None
    backoff_limit: Int32 | None = None
    pod_failure_policy: Arbitrary = ABSENT
    selector: LabelSelector | None = None
    manual_selector: bool | None = None
    ttl_seconds_after_finished: Int32 | None = None
    suspend: bool | None = None


class JobCondition(Struct, frozen=True, kw_only=True):
    """One fact about a job's state."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_probe_time: Time | None = None
    last_transition_time: Time | None = None


class JobStatus(Struct, frozen=True, kw_only=True):
    """How far a job is."""

    conditions: Annotated[
        tuple[JobCondition, ...], Schema(list_type="map", list_map_keys=("type",))
    ] = ()
    start_time: Time | None = None
    completion_time: Time | None = None
    active: Int32 = 0
    ready: Int32 | None = None
    succeeded: Int32 = 0
    failed: Int32 = 0


class Job(Object, frozen=True, kw_only=True):
    """Pods that run to their end."""

    KIND = KindInfo(
        group="batch",
        version="v1",
        kind="Job",
        plural="jobs",
        singular="job",
        categories=("all",),
    )
    spec: JobSpec
    status: JobStatus = JobStatus()


KINDS: tuple[type[Object], ...] = (Job,)
