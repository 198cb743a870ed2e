"""Pods: what runs, and how it goes."""

from collections.abc import Mapping

import msgspec

from quarterdeck.apis.core.containers import Container, SeccompProfile
from quarterdeck.apis.core.references import LocalObjectReference
from quarterdeck.apis.core.volumes import Volume
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.markers import ABSENT, Arbitrary, Int32, Int64, Time
from quarterdeck.meta.objects import Object, ObjectMeta, Struct


class Toleration(Struct, frozen=True, kw_only=True):
    """A taint the pod puts up with."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class PodSecurityContext(Struct, frozen=True, kw_only=True):
    """The privileges of all containers of a pod."""

    run_as_user: Int64 | None = None
    run_as_group: Int64 | None = None
    run_as_non_root: bool | None = None
    fs_group: Int64 | None = None
    supplemental_groups: tuple[int, ...] = ()
    seccomp_profile: SeccompProfile | None = None


class PodSpec(Struct, frozen=True, kw_only=True):
    """What a pod should be."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    restart_policy: str = ""
    termination_grace_period_seconds: Int64 | None = None
    active_deadline_seconds: Int64 | None = None
    dns_policy: str = ""
    node_selector: Mapping[str, str] = {}
    service_account_name: str = ""
    automount_service_account_token: bool | None = None
    node_name: str = ""
    host_network: bool = False
    host_pid: bool = msgspec.field(name="hostPID", default=False)
    host_ipc: bool = msgspec.field(name="hostIPC", default=False)
    security_context: PodSecurityContext | None = None
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    hostname: str = ""
    subdomain: str = ""
    affinity: Arbitrary = ABSENT
    scheduler_name: str = ""
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: Arbitrary = ABSENT
    priority_class_name: str = ""
    priority: Int32 | None = None
    enable_service_links: bool | None = None


class PodTemplateSpec(Struct, frozen=True, kw_only=True):
    """What pods made by a controller look like."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class PodCondition(Struct, frozen=True, kw_only=True):
    """One fact about a pod's state."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_probe_time: Time | None = None
    last_transition_time: Time | None = None


class ContainerStateWaiting(Struct, frozen=True, kw_only=True):
    """A container that has not started, and why."""

    reason: str = ""
    message: str = ""


class ContainerStateRunning(Struct, frozen=True, kw_only=True):
    """A container that runs."""

    started_at: Time | None = None


class ContainerStateTerminated(Struct, frozen=True, kw_only=True):
    """A container that has ended, and how."""

    exit_code: Int32 = 0
    signal: Int32 = 0
    reason: str = ""
    message: str = ""
    started_at: Time | None = None
    finished_at: Time | None = None
    container_id: str = msgspec.field(name="containerID", default="")


class ContainerState(Struct, frozen=True, kw_only=True):
    """Exactly one of the three is set."""

    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Struct, frozen=True, kw_only=True):
    """What one container is."""

    name: str = ""
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    ready: bool = False
    restart_count: Int32 = 0
    image: str = ""
    image_id: str = msgspec.field(name="imageID", default="")
    container_id: str = msgspec.field(name="containerID", default="")
    started: bool | None = None


class PodIP(Struct, frozen=True, kw_only=True):
    """One address of a pod."""

    ip: str = ""


class PodStatus(Struct, frozen=True, kw_only=True):
    """What a pod is."""

    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    message: str = ""
    reason: str = ""
    host_ip: str = msgspec.field(name="hostIP", default="")
    pod_ip: str = msgspec.field(name="podIP", default="")
    pod_ips: tuple[PodIP, ...] = msgspec.field(name="podIPs", default=())
    start_time: Time | None = None
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    qos_class: str = ""


class Pod(Object, frozen=True, kw_only=True):
    """Containers that live and die together."""

    KIND = KindInfo(
        group="",
        version="v1",
        kind="Pod",
        plural="pods",
        singular="pod",
        short_names=("po",),
        categories=("all",),
    )
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
