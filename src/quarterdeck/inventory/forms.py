"""The parts of Kubernetes objects that are decoded; everything else is skipped.

Decoding to these costs a fraction of decoding whole objects, and a field that has an unexpected
shape fails with the path of the field.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

Labels = Mapping[str, str]


class Form(msgspec.Struct, frozen=True, rename="camel"):
    """Base of the types: the decoded part of an object."""


class Metadata(Form, frozen=True):
    """Name, namespace and other metadata of an object."""

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
    """The spec of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class Address(Form, frozen=True):
    """An address of a node."""

    type: str = ""
    address: str = ""


class NodeInfo(Form, frozen=True):
    """Versions of the software on a node."""

    kernel_version: str = ""
    os_image: str = ""
    container_runtime_version: str = ""
    kubelet_version: str = ""
    architecture: str = ""


class NodeStatus(Form, frozen=True):
    """The status of a node."""

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
    """The resources that a container requests."""

    requests: Mapping[str, str | int] | None = None


class Container(Form, frozen=True):
    """One container."""

    resources: Resources = Resources()
    restart_policy: str = ""


class PodSpec(Form, frozen=True):
    """The node of a pod and the resources it requests."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    overhead: Mapping[str, str | int] | None = None


class PodStatus(Form, frozen=True):
    """The phase of a pod."""

    phase: str = ""


class Pod(Form, frozen=True):
    """A pod."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


# --- workloads and what leads to them


class Replicas(Form, frozen=True):
    """The number of desired replicas."""

    replicas: int | None = None


class ReplicaStatus(Form, frozen=True):
    """The number of ready replicas."""

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
    """Type and cluster IP of a Service."""

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
    """The host of one rule of an Ingress."""

    host: str = ""


class IngressTls(Form, frozen=True):
    """The hosts of one TLS entry of an Ingress."""

    hosts: tuple[str, ...] | None = None


class IngressSpec(Form, frozen=True):
    """Hosts and TLS entries of an Ingress."""

    rules: tuple[IngressRule, ...] | None = None
    tls: tuple[IngressTls, ...] | None = None


class Ingress(Form, frozen=True):
    """An Ingress."""

    metadata: Metadata = Metadata()
    spec: IngressSpec = IngressSpec()


class Named(Form, frozen=True):
    """An object of which only the metadata is decoded."""

    metadata: Metadata = Metadata()


# --- metrics.k8s.io


class NodeUsage(Form, frozen=True):
    """The current usage of a node, from metrics.k8s.io."""

    metadata: Metadata = Metadata()
    usage: Mapping[str, str] = {}


# --- OLM and OpenShift: walked as dictionaries, since we do not own their types

Document = Mapping[str, Any]
