"""Manifests of optional components, which are deployed beside the operators. Pure.

Components need something that is not ours: the Prometheus operator, cert-manager, or a Redis.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from quarterdeck.app import hub_manifests, ingester_deployment, ingester_manifests, monitoring
from quarterdeck.app.installation import DEFAULT_INSTALLATION, LABELS, Installation
from quarterdeck.app.webhooks import SERVICE as WEBHOOK_SERVICE
from quarterdeck.app.workload_manifests import Document

CERTIFICATE_SECRET = "quarterdeck-serving"
CERTIFICATE_PATH = "/etc/quarterdeck/serving"
WEBHOOK_SECRET = "quarterdeck-webhooks-tls"
WEBHOOK_PATH = "/etc/quarterdeck/webhooks"
ISSUER = {"kind": "Issuer", "name": "quarterdeck-selfsigned"}


def build_components(
    installation: Installation = DEFAULT_INSTALLATION,
) -> dict[str, dict[str, Document]]:
    """The manifests of the optional components, by component and file name."""
    return {
        "prometheus": {
            "service_monitor": build_service_monitor(installation),
            "alert_rules": _build_alert_rules(installation),
            "pipelines_dashboard": _build_dashboard(installation),
        },
        "cert-manager": {
            "certificate": _build_certificate(installation),
            "webhook_certificate": build_webhook_certificate(installation, ISSUER),
            "issuer": build_issuer(installation),
        },
        "hub": hub_manifests.build_hub(installation.namespace, installation.image),
        "hub-impersonation": hub_manifests.build_impersonation(installation.namespace),
        "ingester": ingester_manifests.build_ingester(installation.namespace, installation.labels),
        "ingester-deployment": ingester_deployment.build_ingester_deployment(
            installation.namespace, installation.image
        ),
    }


def build_component_patches(
    installation: Installation = DEFAULT_INSTALLATION,
) -> dict[str, dict[str, Document]]:
    """The patches of the manager's Deployment, by component and file name."""
    return {
        "cert-manager": {
            "manager_certificate": _mount_certificate(installation),
            "manager_webhook_certificate": _mount_webhook_certificate(installation),
        },
        "hub": {
            "manager_storage": hub_manifests.build_manager_patch(
                installation.namespace, installation.name
            )
        },
        "ingester": {
            "manager_ingester": ingester_manifests.build_manager_patch(
                installation.namespace, installation.name, installation.image
            )
        },
        "ingester-deployment": {
            "manager_ingester": ingester_deployment.build_manager_patch(
                installation.namespace, installation.name, installation.image
            )
        },
    }


def build_service_monitor(installation: Installation) -> Document:
    """The ServiceMonitor of one process, for the Prometheus operator."""
    return {
        **installation.workload.build_object("monitoring.coreos.com/v1", "ServiceMonitor"),
        "spec": {
            "selector": {"matchLabels": installation.labels},
            "endpoints": [
                {
                    "port": "metrics",
                    "scheme": "https",
                    "path": "/metrics",
                    "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
                    "tlsConfig": {"insecureSkipVerify": True},
                }
            ],
        },
    }


def _build_alert_rules(installation: Installation) -> Document:
    return {
        **installation.workload.build_object("monitoring.coreos.com/v1", "PrometheusRule"),
        "spec": {
            "groups": [
                {"name": "quarterdeck", "rules": list(_alerts())},
                {
                    "name": "quarterdeck-pipelines",
                    "rules": list(monitoring.list_alerts(monitoring.declare_metrics())),
                },
            ]
        },
    }


def _build_dashboard(installation: Installation) -> Document:
    """The dashboard as Grafana's sidecar finds it: a labeled ConfigMap."""
    document = installation.workload.build_object(
        "v1", "ConfigMap", "quarterdeck-pipelines-dashboard"
    )
    document["metadata"]["labels"] = {**LABELS, "grafana_dashboard": "1"}
    board = monitoring.build_dashboard(monitoring.declare_metrics())
    text = msgspec.json.format(msgspec.json.encode(board), indent=2).decode()
    return {**document, "data": {"quarterdeck-pipelines.json": f"{text}\n"}}


def _alerts() -> Iterator[Document]:
    yield {
        "alert": "QuarterdeckReconcileErrors",
        "expr": "sum by (controller) (rate(controller_runtime_reconcile_errors_total[5m])) > 0.1",
        "for": "10m",
        "labels": {"severity": "warning"},
        "annotations": {"summary": "{{ $labels.controller }} fails to reconcile"},
    }
    yield {
        "alert": "QuarterdeckQueueGrows",
        "expr": "max by (name) (workqueue_depth) > 100",
        "for": "15m",
        "labels": {"severity": "warning"},
        "annotations": {"summary": "{{ $labels.name }} cannot keep up"},
    }
    yield {
        "alert": "QuarterdeckNoLeader",
        "expr": "max(leader_election_master_status) < 1",
        "for": "5m",
        "labels": {"severity": "critical"},
        "annotations": {"summary": "no replica of the operators is the leader"},
    }


def _build_certificate(installation: Installation) -> Document:
    names = [f"quarterdeck-{each}.{installation.namespace}.svc" for each in ("metrics", "replicas")]
    return {
        **installation.workload.build_object(
            "cert-manager.io/v1", "Certificate", "quarterdeck-serving"
        ),
        "spec": {
            "dnsNames": [*names, *(f"{name}.cluster.local" for name in names)],
            "issuerRef": ISSUER,
            "secretName": CERTIFICATE_SECRET,
        },
    }


def build_webhook_certificate(installation: Installation, issuer: Any) -> Document:
    """The cert-manager Certificate of the webhook Service."""
    name = f"{WEBHOOK_SERVICE}.{installation.namespace}.svc"
    return {
        **installation.workload.build_object("cert-manager.io/v1", "Certificate", WEBHOOK_SERVICE),
        "spec": {
            "dnsNames": [name, f"{name}.cluster.local"],
            "issuerRef": issuer,
            "secretName": WEBHOOK_SECRET,
        },
    }


def _mount_certificate(installation: Installation) -> Document:
    """The manager with the certificate; it follows the files when they are renewed."""
    return _mount(installation, "serving", CERTIFICATE_SECRET, path=CERTIFICATE_PATH, env="METRICS")


def _mount_webhook_certificate(installation: Installation) -> Document:
    return _mount(installation, "webhooks", WEBHOOK_SECRET, path=WEBHOOK_PATH, env="WEBHOOK")


def _mount(installation: Installation, name: str, secret: str, *, path: str, env: str) -> Document:
    container = {
        "name": "manager",
        "env": [{"name": f"{env}_CERT_PATH", "value": path}],
        "volumeMounts": [{"name": name, "mountPath": path, "readOnly": True}],
    }
    volume = {"name": name, "secret": {"secretName": secret}}
    document = installation.workload.build_object("apps/v1", "Deployment")
    document["metadata"].pop("labels")
    pod = {"containers": [container], "volumes": [volume]}
    return {**document, "spec": {"template": {"spec": pod}}}


def build_issuer(installation: Installation) -> Document:
    """A cert-manager Issuer of self-signed certificates."""
    return {
        **installation.workload.build_object("cert-manager.io/v1", "Issuer", ISSUER["name"]),
        "spec": {"selfSigned": {}},
    }
