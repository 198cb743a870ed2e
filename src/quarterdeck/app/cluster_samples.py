"""Sample objects of `clusterpulse.io`, and the two MetricSources that every hub starts with.

They are written to `config/samples`. They are data only, so that the manifests, `up` and the tests
of the engine read the same objects.
"""

from collections.abc import Mapping
from typing import Any

from quarterdeck.apis.clusterpulse.v1alpha1 import GROUP

_API = f"{GROUP}/v1alpha1"
_SYSTEM_NAMESPACES = {"exclude": ["openshift-*", "kube-*"]}


def _build_quantity_field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "path": path, "type": "quantity"}


def _count(name: str, path: str, default: str = "0") -> dict[str, Any]:
    return {"name": name, "path": path, "type": "integer", "default": default}


def _build_metric_source(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": _API,
        "kind": "MetricSource",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


PVC_CAPACITY = _build_metric_source(
    "default-pvc-capacity",
    {
        "source": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "scope": "Namespaced",
            "namespaces": _SYSTEM_NAMESPACES,
        },
        "fields": [
            {"name": "phase", "path": ".status.phase"},
            _build_quantity_field("capacity", ".status.capacity.storage"),
            _build_quantity_field("requested", ".spec.resources.requests.storage"),
            {"name": "storageClass", "path": ".spec.storageClassName"},
            {"name": "accessMode", "path": ".spec.accessModes[0]"},
            {"name": "volumeMode", "path": ".spec.volumeMode", "default": "Filesystem"},
        ],
        "computed": [{"name": "capacityGB", "expression": "round(capacity / 1073741824, 2)"}],
        "aggregations": [
            {"name": "total", "function": "count"},
            {
                "name": "bound",
                "function": "count",
                "filter": {"field": "phase", "operator": "equals", "value": "Bound"},
            },
            {
                "name": "pending",
                "function": "count",
                "filter": {"field": "phase", "operator": "equals", "value": "Pending"},
            },
            {"name": "totalCapacity", "function": "sum", "field": "capacity"},
            {
                "name": "capacityByStorageClass",
                "function": "sum",
                "field": "capacity",
                "groupBy": "storageClass",
            },
        ],
        "alerts": [
            {
                "name": "ClaimsPending",
                "expression": "pending > 0",
                "forSeconds": 600,
                "message": "claims have been pending for ten minutes",
            }
        ],
        "collection": {"intervalSeconds": 120, "maxResources": 10000},
        "rbac": {
            "resourceTypeName": "pvc",
            "filterableFields": ["phase", "storageClass", "accessMode", "volumeMode"],
        },
    },
)

DEPLOYMENT_HEALTH = _build_metric_source(
    "default-deployment-health",
    {
        "source": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "scope": "Namespaced",
            "namespaces": _SYSTEM_NAMESPACES,
        },
        "fields": [
            _count("replicas", ".spec.replicas", "1"),
            _count("readyReplicas", ".status.readyReplicas"),
            _count("availableReplicas", ".status.availableReplicas"),
            _count("unavailableReplicas", ".status.unavailableReplicas"),
            _count("updatedReplicas", ".status.updatedReplicas"),
        ],
        "computed": [
            {
                "name": "readyPct",
                "expression": "round((readyReplicas / max(replicas, 1)) * 100, 1)",
            }
        ],
        "aggregations": [
            {"name": "total", "function": "count"},
            {
                "name": "unhealthy",
                "function": "count",
                "filter": {"field": "unavailableReplicas", "operator": "greaterThan", "value": "0"},
            },
            {"name": "desiredReplicas", "function": "sum", "field": "replicas"},
            {"name": "readyReplicas", "function": "sum", "field": "readyReplicas"},
            {"name": "averageReadyPct", "function": "avg", "field": "readyPct"},
            {"name": "minimumReadyPct", "function": "min", "field": "readyPct"},
        ],
        "collection": {"intervalSeconds": 60, "maxResources": 5000},
        "rbac": {"resourceTypeName": "deployment"},
    },
)

DEFAULT_METRIC_SOURCES: tuple[Mapping[str, Any], ...] = (PVC_CAPACITY, DEPLOYMENT_HEALTH)
"""What every hub collects by default."""

PVC_USAGE = _build_metric_source(
    "pvc-usage",
    {
        "source": {"apiVersion": "v1", "kind": "PersistentVolumeClaim"},
        "fields": [
            _build_quantity_field("used", ".status.capacity.storage"),
            _build_quantity_field("capacity", ".spec.resources.requests.storage"),
        ],
        "computed": [
            {"name": "usage_percent", "expression": "percentage(used, capacity)", "type": "float"}
        ],
    },
)

CLUSTER = {
    "apiVersion": _API,
    "kind": "ClusterConnection",
    "metadata": {"name": "prod-east", "namespace": "default"},
    "spec": {
        "displayName": "Production East",
        "endpoint": "https://api.prod-east.example.com:6443",
        "credentialsRef": {"name": "prod-east-credentials"},
        "labels": {"environment": "production", "region": "us-east-1"},
        "monitoring": {"interval": 60, "timeout": 10},
    },
}

REGISTRY = {
    "apiVersion": _API,
    "kind": "RegistryConnection",
    "metadata": {"name": "harbor", "namespace": "default"},
    "spec": {
        "displayName": "Harbor",
        "endpoint": "https://harbor.example.com",
        "type": "harbor",
        "credentialsRef": {"name": "harbor-credentials"},
        "monitoring": {"interval": 60, "timeout": 10, "checkCatalog": True},
    },
}

POLICY = {
    "apiVersion": _API,
    "kind": "MonitorAccessPolicy",
    "metadata": {"name": "developers", "namespace": "default"},
    "spec": {
        "identity": {"subjects": {"groups": ["developers"]}, "priority": 100},
        "access": {"effect": "Allow", "enabled": True},
        "scope": {
            "clusters": {
                "default": "none",
                "rules": [
                    {
                        "selector": {"matchLabels": {"environment": "production"}},
                        "permissions": {"view": True, "viewMetrics": True},
                        "resources": [
                            {
                                "type": "namespaces",
                                "visibility": "filtered",
                                "filters": {"names": {"allowed": ["app-*"]}},
                            },
                            {"type": "pvc", "visibility": "all"},
                        ],
                    }
                ],
            }
        },
    },
}

SAMPLES: tuple[Mapping[str, Any], ...] = (
    CLUSTER,
    REGISTRY,
    *DEFAULT_METRIC_SOURCES,
    PVC_USAGE,
    POLICY,
)
"""What `config/samples` holds."""
