"""Manifests of optional components, which are deployed beside the operators. Pure.

Components need something that is not ours: the Prometheus operator, cert-manager, or a Redis.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from quarterdeck.app import hub_manifests, ingester_deployment, ingester_manifests, monitoring
from quarterdeck.app.place import HERE, LABELS, Place
from quarterdeck.app.webhooks import SERVICE as WEBHOOK_SERVICE
from quarterdeck.app.workload_manifests import Document

CERTIFICATE_SECRET = "quarterdeck-serving"
CERTIFICATE_PATH = "/etc/quarterdeck/serving"
WEBHOOK_SECRET = "quarterdeck-webhooks-tls"
WEBHOOK_PATH = "/etc/quarterdeck/webhooks"
ISSUER = {"kind": "Issuer", "name": "quarterdeck-selfsigned"}


def build_components(place: Place = HERE) -> dict[str, dict[str, Document]]:
    """The manifests of the optional components, by component and file name."""
    return {
        "prometheus": {
            "service_monitor": build_service_monitor(place),
            "alert_rules": _build_alert_rules(place),
            "pipelines_dashboard": _build_dashboard(place),
        },
        "cert-manager": {
            "certificate": _build_certificate(place),
            "webhook_certificate": build_webhook_certificate(place, ISSUER),
            "issuer": build_issuer(place),
        },
        "hub": hub_manifests.build_hub(place.namespace, place.image),
        "hub-impersonation": hub_manifests.build_impersonation(place.namespace),
        "ingester": ingester_manifests.build_ingester(place.namespace, place.labels),
        "ingester-deployment": ingester_deployment.build_ingester_deployment(
            place.namespace, place.image
        ),
    }


def build_component_patches(place: Place = HERE) -> dict[str, dict[str, Document]]:
    """The patches of the manager's Deployment, by component and file name."""
    return {
        "cert-manager": {
            "manager_certificate": _mount_certificate(place),
            "manager_webhook_certificate": _mount_webhook_certificate(place),
        },
        "hub": {"manager_storage": hub_manifests.build_manager_patch(place.namespace, place.name)},
        "ingester": {
            "manager_ingester": ingester_manifests.build_manager_patch(
                place.namespace, place.name, place.image
            )
        },
        "ingester-deployment": {
            "manager_ingester": ingester_deployment.build_manager_patch(
                place.namespace, place.name, place.image
            )
        },
    }


def build_service_monitor(place: Place) -> Document:
    """The ServiceMonitor of one process, for the Prometheus operator."""
    return {
        **place.workload.build_object("monitoring.coreos.com/v1", "ServiceMonitor"),
        "spec": {
            "selector": {"matchLabels": place.labels},
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


def _build_alert_rules(place: Place) -> Document:
    return {
        **place.workload.build_object("monitoring.coreos.com/v1", "PrometheusRule"),
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


def _build_dashboard(place: Place) -> Document:
    """The dashboard as Grafana's sidecar finds it: a labelled ConfigMap."""
    document = place.workload.build_object("v1", "ConfigMap", "quarterdeck-pipelines-dashboard")
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


def _build_certificate(place: Place) -> Document:
    names = [f"quarterdeck-{each}.{place.namespace}.svc" for each in ("metrics", "replicas")]
    return {
        **place.workload.build_object("cert-manager.io/v1", "Certificate", "quarterdeck-serving"),
        "spec": {
            "dnsNames": [*names, *(f"{name}.cluster.local" for name in names)],
            "issuerRef": ISSUER,
            "secretName": CERTIFICATE_SECRET,
        },
    }


def build_webhook_certificate(place: Place, issuer: Any) -> Document:
    """The cert-manager Certificate of the webhook Service."""
    name = f"{WEBHOOK_SERVICE}.{place.namespace}.svc"
    return {
        **place.workload.build_object("cert-manager.io/v1", "Certificate", WEBHOOK_SERVICE),
        "spec": {
            "dnsNames": [name, f"{name}.cluster.local"],
            "issuerRef": issuer,
            "secretName": WEBHOOK_SECRET,
        },
    }


def _mount_certificate(place: Place) -> Document:
    """The manager with the certificate; it follows the files when they are renewed."""
    return _mount(place, "serving", CERTIFICATE_SECRET, path=CERTIFICATE_PATH, env="METRICS")


def _mount_webhook_certificate(place: Place) -> Document:
    return _mount(place, "webhooks", WEBHOOK_SECRET, path=WEBHOOK_PATH, env="WEBHOOK")


def _mount(place: Place, name: str, secret: str, *, path: str, env: str) -> Document:
    container = {
        "name": "manager",
        "env": [{"name": f"{env}_CERT_PATH", "value": path}],
        "volumeMounts": [{"name": name, "mountPath": path, "readOnly": True}],
    }
    volume = {"name": name, "secret": {"secretName": secret}}
    document = place.workload.build_object("apps/v1", "Deployment")
    document["metadata"].pop("labels")
    pod = {"containers": [container], "volumes": [volume]}
    return {**document, "spec": {"template": {"spec": pod}}}


def build_issuer(place: Place) -> Document:
    """A cert-manager Issuer of self-signed certificates."""
    return {
        **place.workload.build_object("cert-manager.io/v1", "Issuer", ISSUER["name"]),
        "spec": {"selfSigned": {}},
    }
