"""The ingester as a Deployment of its own, on the Redis of the operators. Pure.

It holds no right on objects: its account may only ask the API server who reads its metrics. Its
Service, certificate and authority have the names that the ingester of the manager has.
"""

from collections.abc import Mapping
from typing import Any

from quarterdeck.app import hub_manifests, ingester_manifests, pod_security
from quarterdeck.app.ingester_manifests import Document

NAME = ingester_manifests.NAME
LABELS = {"app.kubernetes.io/name": "quarterdeck", "app.kubernetes.io/component": "ingester"}
METRICS_PORT = 8080
_RBAC = "rbac.authorization.k8s.io"


def build_ingester_deployment(namespace: str, image: str) -> dict[str, Document]:
    """Everything of the ingester, by file name."""
    around = ingester_manifests.build_ingester(namespace, LABELS)
    around["network_policy"] = _open_metrics(around["network_policy"])
    return {
        "service_account": _object(namespace, "v1", "ServiceAccount"),
        "role": {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": NAME, "labels": LABELS},
            "rules": [
                _allow_create("authentication.k8s.io", "tokenreviews"),
                _allow_create("authorization.k8s.io", "subjectaccessreviews"),
            ],
        },
        "role_binding": {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": NAME, "labels": LABELS},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": namespace}],
        },
        "deployment": _deployment(namespace, image),
        **around,
        "disruption_budget": {
            **_object(namespace, "policy/v1", "PodDisruptionBudget"),
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": LABELS}},
        },
    }


def build_manager_patch(namespace: str, manager: str, image: str) -> Document:
    """The operators, which deploy collectors and leave it to the ingester to serve them."""
    environment = [
        {"name": "COLLECTOR_IMAGE", "value": image},
        {"name": "INGESTER_EXTERNAL", "value": "true"},
    ]
    container = {"name": "manager", "env": environment}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": manager, "namespace": namespace},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


def _deployment(namespace: str, image: str) -> Document:
    secret = {"secretName": ingester_manifests.CERTIFICATE_SECRET}
    return {
        **_object(namespace, "apps/v1", "Deployment"),
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": LABELS},
            "template": {
                "metadata": {"labels": LABELS},
                "spec": {
                    "serviceAccountName": NAME,
                    "terminationGracePeriodSeconds": 30,
                    "securityContext": pod_security.POD,
                    "containers": [_container(image)],
                    "volumes": [
                        {"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}},
                        {"name": "ingester-tls", "secret": secret},
                    ],
                },
            },
        },
    }


def _container(image: str) -> Document:
    return {
        "name": "ingester",
        "image": image,
        "args": ["ingester"],
        "env": hub_manifests.build_environment(hub_manifests.STORAGE),
        "ports": [
            {"name": "ingester", "containerPort": ingester_manifests.PORT, "protocol": "TCP"},
            {"name": "metrics", "containerPort": METRICS_PORT, "protocol": "TCP"},
        ],
        "livenessProbe": _probe(period=20),
        "readinessProbe": _probe(period=5),
        "resources": {
            "requests": {"cpu": "50m", "memory": "128Mi"},
            "limits": {"cpu": "1", "memory": "512Mi"},
        },
        "securityContext": pod_security.CONTAINER,
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "ingester-tls", "mountPath": ingester_manifests.FOLDER, "readOnly": True},
        ],
    }


def _probe(*, period: int) -> Document:
    return {"tcpSocket": {"port": "ingester"}, "initialDelaySeconds": 1, "periodSeconds": period}


def _allow_create(group: str, resource: str) -> Document:
    return {"apiGroups": [group], "resources": [resource], "verbs": ["create"]}


def _open_metrics(policy: Mapping[str, Any]) -> Document:
    """The policy with scrapes from namespaces that say so."""
    scraper = {"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}
    scrapes = {"from": [scraper], "ports": [{"port": METRICS_PORT, "protocol": "TCP"}]}
    spec = policy["spec"]
    return {**policy, "spec": {**spec, "ingress": [*spec["ingress"], scrapes]}}


def _object(namespace: str, api_version: str, kind: str) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": NAME, "namespace": namespace, "labels": LABELS},
    }
