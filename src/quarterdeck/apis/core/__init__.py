"""The core group, `v1`: what pods, services, nodes and their settings look like.

The types hold the fields operators read or write; every other field survives an update through the
bytes an object remembers. The face is lazy: a name loads the module that defines it, no more.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.apis.core.config import (
        ConfigMap,
        Namespace,
        NamespaceSpec,
        NamespaceStatus,
        ResourceQuota,
        ResourceQuotaSpec,
        ResourceQuotaStatus,
        Secret,
        ServiceAccount,
    )
    from quarterdeck.apis.core.containers import (
        Capabilities,
        Container,
        ContainerPort,
        EnvFromSource,
        EnvVar,
        EnvVarSource,
        HTTPGetAction,
        Probe,
        ResourceRequirements,
        SeccompProfile,
        SecurityContext,
        TCPSocketAction,
        VolumeMount,
    )
    from quarterdeck.apis.core.events import Event, EventSource
    from quarterdeck.apis.core.kinds import KINDS
    from quarterdeck.apis.core.nodes import Node, NodeSpec, NodeStatus, Taint
    from quarterdeck.apis.core.pods import (
        ContainerStatus,
        Pod,
        PodCondition,
        PodSecurityContext,
        PodSpec,
        PodStatus,
        PodTemplateSpec,
        Toleration,
    )
    from quarterdeck.apis.core.references import (
        ConfigMapKeySelector,
        LocalObjectReference,
        ObjectReference,
        SecretKeySelector,
    )
    from quarterdeck.apis.core.services import Endpoints, Service, ServicePort, ServiceSpec
    from quarterdeck.apis.core.volumes import Volume

__all__ = [
    "KINDS",
    "Capabilities",
    "ConfigMap",
    "ConfigMapKeySelector",
    "Container",
    "ContainerPort",
    "ContainerStatus",
    "Endpoints",
    "EnvFromSource",
    "EnvVar",
    "EnvVarSource",
    "Event",
    "EventSource",
    "HTTPGetAction",
    "LocalObjectReference",
    "Namespace",
    "NamespaceSpec",
    "NamespaceStatus",
    "Node",
    "NodeSpec",
    "NodeStatus",
    "ObjectReference",
    "Pod",
    "PodCondition",
    "PodSecurityContext",
    "PodSpec",
    "PodStatus",
    "PodTemplateSpec",
    "Probe",
    "ResourceQuota",
    "ResourceQuotaSpec",
    "ResourceQuotaStatus",
    "ResourceRequirements",
    "SeccompProfile",
    "Secret",
    "SecretKeySelector",
    "SecurityContext",
    "Service",
    "ServiceAccount",
    "ServicePort",
    "ServiceSpec",
    "TCPSocketAction",
    "Taint",
    "Toleration",
    "Volume",
    "VolumeMount",
]

_HOMES = {
    "config": (
        "ConfigMap",
        "Namespace",
        "NamespaceSpec",
        "NamespaceStatus",
        "ResourceQuota",
        "ResourceQuotaSpec",
        "ResourceQuotaStatus",
        "Secret",
        "ServiceAccount",
    ),
    "containers": (
        "Capabilities",
        "Container",
        "ContainerPort",
        "EnvFromSource",
        "EnvVar",
        "EnvVarSource",
        "HTTPGetAction",
        "Probe",
        "ResourceRequirements",
        "SeccompProfile",
        "SecurityContext",
        "TCPSocketAction",
        "VolumeMount",
    ),
    "events": ("Event", "EventSource"),
    "kinds": ("KINDS",),
    "nodes": ("Node", "NodeSpec", "NodeStatus", "Taint"),
    "pods": (
        "ContainerStatus",
        "Pod",
        "PodCondition",
        "PodSecurityContext",
        "PodSpec",
        "PodStatus",
        "PodTemplateSpec",
        "Toleration",
    ),
    "references": (
        "ConfigMapKeySelector",
        "LocalObjectReference",
        "ObjectReference",
        "SecretKeySelector",
    ),
    "services": ("Endpoints", "Service", "ServicePort", "ServiceSpec"),
    "volumes": ("Volume",),
}

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, _HOMES)
