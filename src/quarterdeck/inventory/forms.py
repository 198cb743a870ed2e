"""The parts of Kubernetes objects that are looked at; everything else is skipped while decoding.

Decoding to these costs a fraction of decoding whole objects, and a field that has an unexpected
shape fails with the path of the field.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

Labels = Mapping[str, str]


class Form(msgspec.Struct, frozen=True, rename="camel"):
    """A part of an object."""


class Metadata(Form, frozen=True):
    """Who an object is."""

    name: str = ""
    namespace: str = ""
    labels: Labels | None = None
    annotations: Labels | None = None
    creation_timestamp: str | None = None


class Condition(Form, frozen=True):
    """One condition of a node, an operator or a ClusterVersion."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


# --- nodes


class Taint(Form, frozen=True):
    """A taint of a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Form, frozen=True):
    """What a node is told."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class Address(Form, frozen=True):
    """Where a node is."""

    type: str = ""
    address: str = ""


class NodeInfo(Form, frozen=True):
    """What a node runs."""

    kernel_version: str = ""
    os_image: str = ""
    container_runtime_version: str = ""
    kubelet_version: str = ""
    architecture: str = ""


class NodeStatus(Form, frozen=True):
    """What a node says."""

    capacity: Mapping[str, str | int] | None = None
    allocatable: Mapping[str, str | int] | None = None
    conditions: tuple[Condition, ...] | None = None
    addresses: tuple[Address, ...] | None = None
    node_info: NodeInfo = NodeInfo()
    images: tuple[msgspec.Raw, ...] | None = None
    volumes_attached: tuple[msgspec.Raw, ...] | None = None


class Node(Form, frozen=True):
    """A node."""

    metadata: Metadata = Metadata()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


# --- pods


class Resources(Form, frozen=True):
    """What a container asks for."""

    requests: Mapping[str, str | int] | None = None


class Container(Form, frozen=True):
    """One container."""

    resources: Resources = Resources()
    restart_policy: str = ""


class PodSpec(Form, frozen=True):
    """Where a pod runs and what it asks for."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    overhead: Mapping[str, str | int] | None = None


class PodStatus(Form, frozen=True):
    """How far a pod is."""

    phase: str = ""


class Pod(Form, frozen=True):
    """A pod."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


# --- workloads and what leads to them


class Replicas(Form, frozen=True):
    """How many are wanted."""

    replicas: int | None = None


class ReplicaStatus(Form, frozen=True):
    """How many there are."""

    ready_replicas: int = 0


class Workload(Form, frozen=True):
    """A Deployment or StatefulSet."""

    metadata: Metadata = Metadata()
    spec: Replicas = Replicas()
    status: ReplicaStatus = ReplicaStatus()


class DaemonSetStatus(Form, frozen=True):
    """How many there are."""

    desired_number_scheduled: int = 0
    current_number_scheduled: int = 0
    number_ready: int = 0


class DaemonSet(Form, frozen=True):
    """A DaemonSet."""

    metadata: Metadata = Metadata()
    status: DaemonSetStatus = DaemonSetStatus()


class ServiceSpec(Form, frozen=True):
    """How a Service is reached."""

    type: str = "ClusterIP"
    cluster_ip: str = msgspec.field(default="", name="clusterIP")


class Service(Form, frozen=True):
    """A Service."""

    metadata: Metadata = Metadata()
    spec: ServiceSpec = ServiceSpec()


class ConfigMap(Form, frozen=True):
    """A ConfigMap; its values are never decoded."""

    metadata: Metadata = Metadata()
    data: Mapping[str, msgspec.Raw] | None = None
    binary_data: Mapping[str, msgspec.Raw] | None = None


class IngressRule(Form, frozen=True):
    """One host."""

    host: str = ""


class IngressTls(Form, frozen=True):
    """Hosts of one certificate."""

    hosts: tuple[str, ...] | None = None


class IngressSpec(Form, frozen=True):
    """What an Ingress leads to."""

    rules: tuple[IngressRule, ...] | None = None
    tls: tuple[IngressTls, ...] | None = None


class Ingress(Form, frozen=True):
    """An Ingress."""

    metadata: Metadata = Metadata()
    spec: IngressSpec = IngressSpec()


class Named(Form, frozen=True):
    """Any object of which only the name counts."""

    metadata: Metadata = Metadata()


# --- metrics.k8s.io


class NodeUsage(Form, frozen=True):
    """What a node uses now, by metrics.k8s.io."""

    metadata: Metadata = Metadata()
    usage: Mapping[str, str] = {}


# --- OLM and OpenShift: walked as dictionaries, since their shapes are somebody else's

Document = Mapping[str, Any]
