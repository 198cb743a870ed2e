"""The hub API in a cluster, beside the operators, on the Redis that they write to. Pure.

Both read their addresses from the Secret `quarterdeck-hub`: redis-url, vm-enabled, vm-endpoint.
"""

from collections.abc import Mapping
from typing import Any

from quarterdeck.app import pod_security

Document = Mapping[str, Any]

NAME = "quarterdeck-hub"
SECRET = "quarterdeck-hub"
IMPERSONATION = "quarterdeck-hub-impersonation"
PORT = 8088
METRICS_PORT = 8080
LABELS = {"app.kubernetes.io/name": "quarterdeck", "app.kubernetes.io/component": "hub"}
ENVIRONMENT = {
    "REDIS_URL": "redis-url",
    "VM_ENABLED": "vm-enabled",
    "VM_ENDPOINT": "vm-endpoint",
    "OAUTH_TRUSTED_PROXIES": "oauth-trusted-proxies",
    "HUB_OIDC_ISSUER": "oidc-issuer",
    "HUB_OIDC_CLIENT_ID": "oidc-client-id",
    "HUB_OIDC_CLIENT_SECRET": "oidc-client-secret",
    "HUB_OIDC_SCOPES": "oidc-scopes",
    "HUB_URL": "hub-url",
    "OPERATORS_URL": "operators-url",
}
"""Environment of the hub, by keys of the Secret; all but the first are optional."""
STORAGE = ("REDIS_URL", "VM_ENABLED", "VM_ENDPOINT")
"""What the operators need too."""
OPERATORS_CERTIFICATE = "quarterdeck-serving"
"""The Secret that cert-manager fills for the operators; the hub reads its authority."""
_OPERATORS_FOLDER = "/etc/quarterdeck/operators"
_AUTHORITY = {
    "secretName": OPERATORS_CERTIFICATE,
    "items": [{"key": "ca.crt", "path": "ca.crt"}],
    "optional": True,
}


def build_hub(namespace: str, image: str) -> dict[str, Document]:
    """Everything of the hub, by file name."""
    return {
        "service_account": _object(namespace, "v1", "ServiceAccount"),
        "role": {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": NAME, "labels": LABELS},
            "rules": [
                {
                    "apiGroups": ["authentication.k8s.io"],
                    "resources": ["tokenreviews"],
                    "verbs": ["create"],
                },
                {  # who may read metrics
                    "apiGroups": ["authorization.k8s.io"],
                    "resources": ["subjectaccessreviews"],
                    "verbs": ["create"],
                },
                {  # why: reconciles that the operators remember
                    "nonResourceURLs": ["/explain/*"],
                    "verbs": ["get"],
                },
                {  # groups of users on OpenShift
                    "apiGroups": ["user.openshift.io"],
                    "resources": ["users", "groups"],
                    "verbs": ["get", "list"],
                },
            ],
        },
        "role_binding": _role_binding(namespace, NAME),
        "deployment": _deployment(namespace, image),
        "service": {
            **_object(namespace, "v1", "Service"),
            "spec": {
                "selector": LABELS,
                "sessionAffinity": "ClientIP",  # a session of a browser is in one replica
                "ports": [
                    {"name": "http", "port": PORT, "protocol": "TCP", "targetPort": "http"},
                    {
                        "name": "metrics",
                        "port": METRICS_PORT,
                        "protocol": "TCP",
                        "targetPort": "metrics",
                    },
                ],
            },
        },
        "network_policy": _network_policy(namespace),
        "disruption_budget": {
            **_object(namespace, "policy/v1", "PodDisruptionBudget"),
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": LABELS}},
        },
    }


def build_impersonation(namespace: str) -> dict[str, Document]:
    """The right to act as viewers whom a proxy or an issuer names, by file name.

    It is apart from the rest because it is a strong right: whoever holds the hub's token can act as
    any user. Viewers who log in with a token of the API server do not need it.
    """
    rule = {"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]}
    return {
        "impersonation_role": {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": IMPERSONATION, "labels": LABELS},
            "rules": [rule],
        },
        "impersonation_role_binding": _role_binding(namespace, IMPERSONATION),
    }


def build_manager_patch(namespace: str, manager: str) -> Document:
    """The operators with the same Redis and history, and so two replicas that share clusters."""
    container = {"name": "manager", "env": build_environment(STORAGE)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": manager, "namespace": namespace},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [container]}}},
    }


def _role_binding(namespace: str, role: str) -> Document:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role, "labels": LABELS},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": namespace}],
    }


def _deployment(namespace: str, image: str) -> Document:
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
                        {"name": "operators", "secret": _AUTHORITY},
                    ],
                },
            },
        },
    }


def _container(image: str) -> Document:
    return {
        "name": "hub",
        "image": image,
        "args": ["hub"],
        "env": [
            *build_environment(tuple(ENVIRONMENT)),
            {"name": "OPERATORS_CA_FILE", "value": f"{_OPERATORS_FOLDER}/ca.crt"},
        ],
        "ports": [
            {"name": "http", "containerPort": PORT, "protocol": "TCP"},
            {"name": "metrics", "containerPort": METRICS_PORT, "protocol": "TCP"},
        ],
        "livenessProbe": _probe("/healthz", period=20),
        "readinessProbe": _probe("/readyz", period=5),
        "resources": {
            "requests": {"cpu": "10m", "memory": "64Mi"},
            "limits": {"cpu": "1", "memory": "256Mi"},
        },
        "securityContext": pod_security.CONTAINER,
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "operators", "mountPath": _OPERATORS_FOLDER, "readOnly": True},
        ],
    }


def build_environment(names: tuple[str, ...]) -> list[Document]:
    """Variables of a container, from the Secret."""
    return [
        {
            "name": name,
            "valueFrom": {
                "secretKeyRef": {
                    "name": SECRET,
                    "key": ENVIRONMENT[name],
                    **({} if name == "REDIS_URL" else {"optional": True}),
                }
            },
        }
        for name in names
    ]


def _probe(path: str, *, period: int) -> Document:
    return {
        "httpGet": {"path": path, "port": "http"},
        "initialDelaySeconds": 1,
        "periodSeconds": period,
    }


def _network_policy(namespace: str) -> Document:
    """Requests and scrapes from namespaces that say so, such as that of the OAuth proxy."""
    scraper = {"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}
    labelled = {"namespaceSelector": {"matchLabels": {"quarterdeck-hub": "enabled"}}}
    return {
        **_object(namespace, "networking.k8s.io/v1", "NetworkPolicy"),
        "spec": {
            "podSelector": {"matchLabels": LABELS},
            "policyTypes": ["Ingress"],
            "ingress": [
                {"from": [labelled], "ports": [{"port": PORT, "protocol": "TCP"}]},
                {"from": [scraper], "ports": [{"port": METRICS_PORT, "protocol": "TCP"}]},
            ],
        },
    }


def _object(namespace: str, api_version: str, kind: str) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": NAME, "namespace": namespace, "labels": LABELS},
    }
