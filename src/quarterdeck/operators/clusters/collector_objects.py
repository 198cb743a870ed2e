"""What a collector needs on its cluster: namespace, account, role, token and Deployment. Pure."""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from quarterdeck.apis.clusterpulse.metric_source import MetricSource
from quarterdeck.engine.target import Target, guess_resource
from quarterdeck.hubstate.collect.permissions import build_rules
from quarterdeck.kit.redaction import Secret
from quarterdeck.meta.identity import GVR

NAMESPACE = "clusterpulse-system"
NAME = "clusterpulse-collector"
TOKEN_SECRET = "clusterpulse-collector-token"
AUTHORITY = "ingester-ca"
AUTHORITY_KEY = "service-ca.crt"
_PART_OF = "app.kubernetes.io/part-of"
LABELS = {
    "app.kubernetes.io/name": NAME,
    "app.kubernetes.io/component": "collector",
    _PART_OF: "clusterpulse",
}
_RBAC = "rbac.authorization.k8s.io"
_BUFFER, _TRUST = "/var/lib/quarterdeck-collector", "/etc/ingester-ca"
_IDENTITY = "/etc/collector-tls"
_MAX_TAG = 128
Document = dict[str, Any]


class CollectorPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the collector of one cluster."""

    cluster: str
    image: str
    ingester_address: str
    token: Secret[str]
    authority: str = ""
    """CA certificates in PEM that the collector trusts; empty means the system's store."""
    server_name: str = ""
    tls: bool = True
    client_secret: str = ""
    """Secret with the collector's certificate, for an ingester that asks for one."""
    interval_s: int = 0
    """COLLECT_INTERVAL; 0 leaves it to the collector."""
    scan_interval_s: int = 0
    """OPERATOR_SCAN_INTERVAL; 0 leaves it to the collector."""
    sources: tuple[GVR, ...] = ()
    """Resources that MetricSources read; the collector's role allows them."""


def choose_image(image: str, version: str, *, default: str) -> str:
    """The image with the tag of a cluster's `collectorVersion`, if it names one.

    An image without a tag gets the hub's own version, and `latest` for a hub under development.
    """
    base, _, digest = image.partition("@")
    head, slash, last = base.rpartition("/")
    name, _, tag = last.partition(":")
    if version:
        return f"{head}{slash}{name}:{version[:_MAX_TAG]}"
    if tag or digest:
        return image
    return f"{image}:{'latest' if default in ('', 'dev') else default}"


def find_resources(sources: Iterable[MetricSource]) -> Iterator[GVR]:
    """The resources that MetricSources read: the one they name, else the plural of the kind."""
    for each in sources:
        target = Target.from_spec(each.spec.source)
        yield GVR(target.group, target.version, target.resource or guess_resource(target.kind))


def hash_plan(plan: CollectorPlan) -> str:
    """A hash that changes with anything but the token."""
    parts = msgspec.to_builtins(msgspec.structs.replace(plan, token=Secret("")), enc_hook=str)
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()


def build_objects(plan: CollectorPlan) -> list[Document]:
    """The manifests of the collector, in the order in which they are applied."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": NAMESPACE, "labels": {_PART_OF: LABELS[_PART_OF]}},
        },
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _build_metadata(NAME)},
        build_role(plan.sources),
        _build_binding(),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": _build_metadata(TOKEN_SECRET),
            "type": "Opaque",
            "data": {"token": base64.b64encode(plan.token.reveal().encode()).decode()},
        },
        *_build_authority(plan),
        _build_deployment(plan),
    ]


def build_role(sources: Iterable[GVR]) -> Document:
    """The ClusterRole of the collector: it may read what it collects, and nothing else."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": NAME, "labels": LABELS},
        "rules": build_rules(sources),
    }


def _build_binding() -> Document:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME, "labels": LABELS},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    }


def _build_authority(plan: CollectorPlan) -> list[Document]:
    if not plan.tls or not plan.authority:
        return []
    data = {AUTHORITY_KEY: plan.authority}
    metadata = _build_metadata(AUTHORITY)
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}]


def _build_deployment(plan: CollectorPlan) -> Document:
    checksum = hashlib.sha256(plan.token.reveal().encode()).hexdigest()[:16]
    template = {
        "metadata": {"labels": LABELS, "annotations": {"clusterpulse.io/token-checksum": checksum}},
        "spec": {
            "serviceAccountName": NAME,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65532,
                "fsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [_build_container(plan)],
            "volumes": _build_volumes(plan),
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _build_metadata(NAME),
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": {"app.kubernetes.io/name": NAME}},
            "template": template,
        },
    }


def _build_container(plan: CollectorPlan) -> Document:
    values = {
        "CLUSTER_NAME": plan.cluster,
        "INGESTER_ADDRESS": plan.ingester_address,
        "INGESTER_TLS_ENABLED": "true" if plan.tls else "false",
        "BUFFER_DIR": _BUFFER,
    } | _build_tls_values(plan)
    if plan.interval_s:
        values["COLLECT_INTERVAL"] = str(plan.interval_s)
    if plan.scan_interval_s:
        values["OPERATOR_SCAN_INTERVAL"] = str(plan.scan_interval_s)
    secret = {"secretKeyRef": {"name": TOKEN_SECRET, "key": "token"}}
    mounts = [{"name": "buffer", "mountPath": _BUFFER}]
    if plan.tls and plan.authority:
        mounts.append({"name": "ingester-ca", "mountPath": _TRUST})
    if plan.tls and plan.client_secret:
        mounts.append({"name": "collector-tls", "mountPath": _IDENTITY})
    return {
        "name": "collector",
        "image": plan.image,
        "args": ["collector"],
        "env": [
            *({"name": name, "value": value} for name, value in values.items()),
            {"name": "COLLECTOR_TOKEN", "valueFrom": secret},
        ],
        "resources": {
            "requests": {"cpu": "50m", "memory": "128Mi"},
            "limits": {"cpu": "200m", "memory": "512Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }


def _build_tls_values(plan: CollectorPlan) -> dict[str, str]:
    values: dict[str, str] = {}
    if plan.tls and plan.authority:
        values["INGESTER_TLS_CA"] = f"{_TRUST}/{AUTHORITY_KEY}"
    if plan.tls and plan.server_name:
        values["INGESTER_TLS_SERVER_NAME"] = plan.server_name
    if plan.tls and plan.client_secret:
        values["INGESTER_TLS_CLIENT_CERT"] = f"{_IDENTITY}/tls.crt"
        values["INGESTER_TLS_CLIENT_KEY"] = f"{_IDENTITY}/tls.key"
    return values


def _build_volumes(plan: CollectorPlan) -> list[Document]:
    volumes: list[Document] = [{"name": "buffer", "emptyDir": {"sizeLimit": "128Mi"}}]
    if plan.tls and plan.authority:
        volumes.append({"name": "ingester-ca", "configMap": {"name": AUTHORITY}})
    if plan.tls and plan.client_secret:
        volumes.append({"name": "collector-tls", "secret": {"secretName": plan.client_secret}})
    return volumes


def _build_metadata(name: str) -> Document:
    return {"name": name, "namespace": NAMESPACE, "labels": LABELS}
