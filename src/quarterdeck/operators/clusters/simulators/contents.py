"""Manifests for a simulated cluster: nodes, pods, workloads, OpenShift's and OLM's objects. Pure.

`populate` applies them, and writes `status` by a request of its own, as API servers require.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

Manifest = dict[str, Any]
_GIB = 1024**3
_APPS = ("web", "api", "worker", "cache")


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Size and features of a simulated cluster."""

    nodes: int = 3
    pods: int = 12
    namespaces: int = 3
    claims: int = 2
    cores: int = 8
    memory_gib: int = 32
    failed_nodes: int = 0
    is_openshift: bool = False
    degraded_operator: str = ""
    has_olm: bool = False


def build_manifests(profile: Profile) -> Iterator[Manifest]:
    """The manifests of the profile, in an order in which they can be applied."""
    yield from _build_namespaces(profile)
    yield from _build_nodes(profile)
    yield from _build_deployments(profile)
    yield from _build_pods(profile)
    yield from _build_claims(profile)
    if profile.is_openshift:
        yield from _build_openshift(profile)
    if profile.has_olm:
        yield from _build_olm()


def build_definitions(profile: Profile) -> Iterator[Manifest]:
    """CustomResourceDefinitions that the manifests need."""
    if profile.is_openshift:
        yield _build_definition("config.openshift.io", "v1", "ClusterVersion", "clusterversions")
        yield _build_definition("config.openshift.io", "v1", "ClusterOperator", "clusteroperators")
        yield _build_definition("route.openshift.io", "v1", "Route", "routes", scope="Namespaced")
    if profile.has_olm:
        group, version = "operators.coreos.com", "v1alpha1"
        for kind in ("Subscription", "ClusterServiceVersion"):
            yield _build_definition(group, version, kind, f"{kind.lower()}s", scope="Namespaced")


def _build_namespaces(profile: Profile) -> Iterator[Manifest]:
    for number in range(profile.namespaces):
        yield _build_object("v1", "Namespace", f"team-{number}")


def _build_nodes(profile: Profile) -> Iterator[Manifest]:
    amounts = {
        "cpu": str(profile.cores),
        "memory": f"{profile.memory_gib}Gi",
        "pods": "110",
        "ephemeral-storage": "100Gi",
    }
    for number in range(profile.nodes):
        is_ready = number >= profile.failed_nodes
        role = "control-plane" if number == profile.nodes - 1 else "worker"
        yield {
            **_build_object("v1", "Node", f"node-{number}"),
            "metadata": {
                "name": f"node-{number}",
                "labels": {
                    f"node-role.kubernetes.io/{role}": "",
                    "kubernetes.io/hostname": f"node-{number}",
                },
            },
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "True" if is_ready else "False",
                        "reason": "KubeletReady" if is_ready else "KubeletNotReady",
                        "message": "" if is_ready else "container runtime network not ready",
                        "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }
                ],
                "addresses": [{"type": "InternalIP", "address": f"10.0.0.{number + 1}"}],
                "nodeInfo": {
                    "kubeletVersion": "v1.32.4",
                    "kernelVersion": "6.1.0",
                    "osImage": "Debian GNU/Linux 12",
                    "containerRuntimeVersion": "containerd://2.0.0",
                    "architecture": "amd64",
                    "bootID": "",
                    "kubeProxyVersion": "",
                    "machineID": "",
                    "operatingSystem": "linux",
                    "systemUUID": "",
                },
            },
        }


def _build_deployments(profile: Profile) -> Iterator[Manifest]:
    for number in range(profile.namespaces):
        name = _APPS[number % len(_APPS)]
        template = {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": f"example.com/{name}:1"}]},
        }
        yield {
            **_build_object("apps/v1", "Deployment", name, f"team-{number}"),
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": name}},
                "template": template,
            },
        }


def _build_pods(profile: Profile) -> Iterator[Manifest]:
    for number in range(profile.pods):
        app = _APPS[number % len(_APPS)]
        container = {
            "name": "main",
            "image": f"example.com/{app}:1",
            "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}},
        }
        node = number % max(1, profile.nodes)
        is_running = node >= profile.failed_nodes
        yield {
            **_build_object("v1", "Pod", f"{app}-{number}", f"team-{number % profile.namespaces}"),
            "spec": {"nodeName": f"node-{node}", "containers": [container]},
            "status": {"phase": "Running" if is_running else "Pending"},
        }


def _build_claims(profile: Profile) -> Iterator[Manifest]:
    for number in range(profile.claims):
        storage = {"storage": f"{5 * (number + 1)}Gi"}
        yield {
            **_build_object(
                "v1",
                "PersistentVolumeClaim",
                f"data-{number}",
                f"team-{number % profile.namespaces}",
            ),
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": storage},
                "storageClassName": "fast" if number % 2 else "standard",
            },
            "status": {"phase": "Bound", "capacity": storage, "accessModes": ["ReadWriteOnce"]},
        }


def _build_openshift(profile: Profile) -> Iterator[Manifest]:
    yield _build_object("v1", "Namespace", "openshift-console")
    yield {
        **_build_object("config.openshift.io/v1", "ClusterVersion", "version"),
        "spec": {"channel": "stable-4.16", "clusterID": "00000000-0000-4000-8000-000000000000"},
        "status": {
            "desired": {"version": "4.16.3", "image": "example.com/release:4.16.3"},
            "history": [
                {"state": "Completed", "version": "4.16.3", "startedTime": "2026-01-01T00:00:00Z"}
            ],
            "availableUpdates": [{"version": "4.16.4"}],
            "conditions": [{"type": "Available", "status": "True"}],
        },
    }
    yield {
        **_build_object("route.openshift.io/v1", "Route", "console", "openshift-console"),
        "spec": {"host": "console.apps.example.com", "tls": {"termination": "edge"}},
    }
    for name in ("authentication", "dns", "ingress"):
        is_bad = name == profile.degraded_operator
        yield {
            **_build_object("config.openshift.io/v1", "ClusterOperator", name),
            "status": {
                "conditions": [
                    {"type": "Available", "status": "True"},
                    {
                        "type": "Degraded",
                        "status": "True" if is_bad else "False",
                        "message": "simulated failure" if is_bad else "",
                    },
                ],
                "versions": [{"name": "operator", "version": "4.16.3"}],
            },
        }


def _build_olm() -> Iterator[Manifest]:
    yield _build_object("v1", "Namespace", "operators")
    yield {
        **_build_object(
            "operators.coreos.com/v1alpha1", "Subscription", "cert-manager", "operators"
        ),
        "spec": {"name": "cert-manager", "channel": "stable", "source": "community"},
        "status": {"installedCSV": "cert-manager.v1.16.1"},
    }
    yield {
        **_build_object(
            "operators.coreos.com/v1alpha1",
            "ClusterServiceVersion",
            "cert-manager.v1.16.1",
            "operators",
        ),
        "spec": {
            "displayName": "cert-manager",
            "version": "1.16.1",
            "provider": {"name": "The cert-manager authors"},
            "installModes": [{"type": "AllNamespaces", "supported": True}],
        },
        "status": {"phase": "Succeeded"},
    }


def _build_object(api_version: str, kind: str, name: str, namespace: str = "") -> Manifest:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _build_definition(
    group: str, version: str, kind: str, plural: str, scope: str = "Cluster"
) -> Manifest:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        **_build_object("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}"),
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
