"""Containers: image, environment, probes, resources, privileges."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from quarterdeck.apis.core.references import ConfigMapKeySelector, SecretKeySelector
from quarterdeck.meta.markers import Int32, Int64, IntOrString, Quantity, Schema
from quarterdeck.meta.objects import Struct


class ContainerPort(Struct, frozen=True, kw_only=True):
    """One port a container listens on."""

    container_port: Int32
    name: str = ""
    protocol: str = ""
    host_port: Int32 = 0
    host_ip: str = msgspec.field(name="hostIP", default="")


class ObjectFieldSelector(Struct, frozen=True, kw_only=True):
    """A field of the pod itself."""

    field_path: str
    api_version: str = ""


class ResourceFieldSelector(Struct, frozen=True, kw_only=True):
    """A resource of a container."""

    resource: str
    container_name: str = ""
    divisor: Quantity | None = None


class EnvVarSource(Struct, frozen=True, kw_only=True):
    """Where the value of a variable comes from."""

    config_map_key_ref: ConfigMapKeySelector | None = None
    secret_key_ref: SecretKeySelector | None = None
    field_ref: ObjectFieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None


class EnvVar(Struct, frozen=True, kw_only=True):
    """One variable of the environment."""

    name: str
    value: str = ""
    value_from: EnvVarSource | None = None


class EnvSource(Struct, frozen=True, kw_only=True):
    """A ConfigMap or Secret whose keys all become variables."""

    name: str = ""
    optional: bool | None = None


class EnvFromSource(Struct, frozen=True, kw_only=True):
    """Many variables at once."""

    prefix: str = ""
    config_map_ref: EnvSource | None = None
    secret_ref: EnvSource | None = None


class HTTPHeader(Struct, frozen=True, kw_only=True):
    """One header of a probe."""

    name: str
    value: str


class HTTPGetAction(Struct, frozen=True, kw_only=True):
    """A probe by HTTP."""

    port: IntOrString
    path: str = ""
    host: str = ""
    scheme: str = ""
    http_headers: tuple[HTTPHeader, ...] = ()


class TCPSocketAction(Struct, frozen=True, kw_only=True):
    """A probe by connecting."""

    port: IntOrString
    host: str = ""


class ExecAction(Struct, frozen=True, kw_only=True):
    """A probe by running a command."""

    command: tuple[str, ...] = ()


class GRPCAction(Struct, frozen=True, kw_only=True):
    """A probe by gRPC health checking."""

    port: Int32
    service: str | None = None


class Probe(Struct, frozen=True, kw_only=True):
    """How to tell whether a container works."""

    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    exec: ExecAction | None = None
    grpc: GRPCAction | None = None
    initial_delay_seconds: Int32 = 0
    timeout_seconds: Int32 = 0
    period_seconds: Int32 = 0
    success_threshold: Int32 = 0
    failure_threshold: Int32 = 0
    termination_grace_period_seconds: Int64 | None = None


class ResourceRequirements(Struct, frozen=True, kw_only=True):
    """What a container needs and may use."""

    requests: Mapping[str, Quantity] = {}
    limits: Mapping[str, Quantity] = {}


class Capabilities(Struct, frozen=True, kw_only=True):
    """POSIX capabilities to add and to drop."""

    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class SeccompProfile(Struct, frozen=True, kw_only=True):
    """Which system calls are allowed."""

    type: str
    localhost_profile: str | None = None


class SecurityContext(Struct, frozen=True, kw_only=True):
    """The privileges of one container."""

    run_as_user: Int64 | None = None
    run_as_group: Int64 | None = None
    run_as_non_root: bool | None = None
    privileged: bool | None = None
    read_only_root_filesystem: bool | None = None
    allow_privilege_escalation: bool | None = None
    capabilities: Capabilities | None = None
    seccomp_profile: SeccompProfile | None = None


class VolumeMount(Struct, frozen=True, kw_only=True):
    """Where a volume appears in a container."""

    name: str
    mount_path: str
    sub_path: str = ""
    read_only: bool = False


class Container(Struct, frozen=True, kw_only=True):
    """One container of a pod."""

    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    ports: Annotated[
        tuple[ContainerPort, ...],
        Schema(list_type="map", list_map_keys=("containerPort", "protocol")),
    ] = ()
    env: Annotated[tuple[EnvVar, ...], Schema(list_type="map", list_map_keys=("name",))] = ()
    env_from: tuple[EnvFromSource, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    volume_mounts: tuple[VolumeMount, ...] = ()
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    security_context: SecurityContext | None = None
    image_pull_policy: str = ""
    restart_policy: str | None = None
    termination_message_path: str = ""
    termination_message_policy: str = ""
    stdin: bool = False
    tty: bool = False
