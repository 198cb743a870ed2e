"""The ingester as a Deployment of its own, on the Redis of the operators. Pure.

It has no permissions on objects: its account may only create reviews to authorize readers of its
metrics. Its Service, certificate and CA have the same names as those of the manager's ingester.
"""

from quarterdeck.app import hub_manifests, ingester_manifests, pod_security
from quarterdeck.app.workload_manifests import (
    SCRAPERS,
    Document,
    Workload,
    allow_port,
    build_rule,
)

NAME = ingester_manifests.NAME
LABELS = {"app.kubernetes.io/name": "quarterdeck", "app.kubernetes.io/component": "ingester"}
METRICS_PORT = 8080


def build_ingester_deployment(namespace: str, image: str) -> dict[str, Document]:
    """The manifests of the ingester, by file name."""
    workload = Workload(NAME, namespace, LABELS)
    ports = (allow_port(ingester_manifests.PORT), allow_port(METRICS_PORT, SCRAPERS))
    return {
        "service_account": workload.build_object("v1", "ServiceAccount"),
        "role": workload.build_cluster_role(
            [
                build_rule("authentication.k8s.io", "tokenreviews", "create"),
                build_rule("authorization.k8s.io", "subjectaccessreviews", "create"),
            ]
        ),
        "role_binding": workload.bind_cluster_role(),
        "deployment": _build_deployment(workload, image),
        **ingester_manifests.build_ingester(namespace, LABELS),
        "network_policy": workload.build_network_policy(*ports),
        "disruption_budget": workload.build_disruption_budget(),
    }


def build_manager_patch(namespace: str, manager: str, image: str) -> Document:
    """Patch of the manager: it deploys collectors, and the separate ingester serves them."""
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


def _build_deployment(workload: Workload, image: str) -> Document:
    secret = {"secretName": ingester_manifests.CERTIFICATE_SECRET}
    volumes = [
        {"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}},
        {"name": "ingester-tls", "secret": secret},
    ]
    return workload.build_deployment(_build_container(image), volumes, grace_s=30)


def _build_container(image: str) -> Document:
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
