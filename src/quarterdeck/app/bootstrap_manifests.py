"""The bootstrap service in a cluster: its own identity, rights, Deployment and network. Pure.

It reads claims and writes their status; Secrets it sees in its own namespace only, so it holds no
credential of a hypervisor. The operator may ask it for tokens, and cannot read its Secrets.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quarterdeck.app import pod_security

if TYPE_CHECKING:
    from quarterdeck.app.manifests import Place

Document = Mapping[str, Any]

NAME = "quarterdeck-bootstrap"
PORT = 8445
TOKENS_ROLE = "quarterdeck-join-tokens"
LABELS = {"app.kubernetes.io/name": "quarterdeck", "app.kubernetes.io/component": "bootstrap"}
_MANAGER = "quarterdeck-manager"
_RBAC = "rbac.authorization.k8s.io"
_HYPERVISOR = "hypervisor.hyperfleet.io"


def permissions(place: "Place") -> dict[str, Document]:
    """Who the service is, what it may do, and who may ask it for tokens, by file name."""
    return {
        "bootstrap_service_account": _object(place, "v1", "ServiceAccount", NAME),
        "bootstrap_role": _cluster_role(NAME, _RULES),
        "bootstrap_role_binding": _bind_cluster(place, NAME, NAME),
        "bootstrap_secrets_role": {
            **_object(place, f"{_RBAC}/v1", "Role", NAME),
            "rules": [
                _rule("", "configmaps", "create", "patch"),
                _rule("", "secrets", "create", "delete", "get", "list", "patch"),
            ],
        },
        "bootstrap_secrets_role_binding": {
            **_object(place, f"{_RBAC}/v1", "RoleBinding", NAME),
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": NAME},
            "subjects": [_subject(place, NAME)],
        },
        "join_tokens_role": _cluster_role(
            TOKENS_ROLE,
            [
                {
                    "nonResourceURLs": ["/v1/join-tokens", "/v1/join-tokens/*"],
                    "verbs": ["delete", "post"],
                }
            ],
        ),
        "join_tokens_role_binding": _bind_cluster(place, TOKENS_ROLE, _MANAGER),
    }


def workload(place: "Place") -> dict[str, Document]:
    """The process and what stands around it, by file name."""
    port = {"name": "bootstrap", "port": PORT, "protocol": "TCP", "targetPort": "bootstrap"}
    return {
        "bootstrap": _deployment(place),
        "bootstrap_service": {
            **_object(place, "v1", "Service", NAME),
            # a challenge is answered at the replica that made it
            "spec": {"selector": LABELS, "ports": [port], "sessionAffinity": "ClientIP"},
        },
        "bootstrap_network_policy": {
            **_object(place, "networking.k8s.io/v1", "NetworkPolicy", NAME),
            "spec": {
                "podSelector": {"matchLabels": LABELS},
                "policyTypes": ["Ingress"],
                "ingress": [{"ports": [{"port": PORT, "protocol": "TCP"}]}],
            },
        },
    }


def _rule(group: str, resource: str, *verbs: str) -> Document:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


_RULES = [
    _rule("", "configmaps", "get"),
    _rule("authentication.k8s.io", "tokenreviews", "create"),
    _rule("authorization.k8s.io", "subjectaccessreviews", "create"),
    _rule(_HYPERVISOR, "hypervisormachinetemplates", "get"),
    _rule(_HYPERVISOR, "machineclaims", "get", "list", "watch"),
    _rule(_HYPERVISOR, "machineclaims/status", "patch"),
]


def _deployment(place: "Place") -> Document:
    probe = {"httpGet": {"path": "/readyz", "port": "bootstrap", "scheme": "HTTPS"}}
    container = {
        "name": "bootstrap",
        "image": place.image,
        "args": [
            *("bootstrap", "--host", "0.0.0.0", "--namespace", "$(POD_NAMESPACE)"),
            *("--url", f"https://{NAME}.{place.namespace}.svc:{PORT}"),
        ],
        "env": [
            {
                "name": "POD_NAMESPACE",
                "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
            }
        ],
        "ports": [{"name": "bootstrap", "containerPort": PORT, "protocol": "TCP"}],
        "readinessProbe": {**probe, "periodSeconds": 5},
        "livenessProbe": {
            "httpGet": {**probe["httpGet"], "path": "/healthz"},
            "initialDelaySeconds": 15,
            "periodSeconds": 20,
        },
        "resources": {
            "requests": {"cpu": "10m", "memory": "64Mi"},
            "limits": {"cpu": "500m", "memory": "128Mi"},
        },
        "securityContext": pod_security.CONTAINER,
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    pod = {
        "serviceAccountName": NAME,
        "securityContext": pod_security.POD,
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}],
    }
    return {
        **_object(place, "apps/v1", "Deployment", NAME),
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": pod},
        },
    }


def _cluster_role(name: str, rules: list[Document]) -> Document:
    metadata = {"name": name, "labels": LABELS}
    head = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": metadata}
    return {**head, "rules": rules}


def _bind_cluster(place: "Place", role: str, account: str) -> Document:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role, "labels": LABELS},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [_subject(place, account)],
    }


def _subject(place: "Place", account: str) -> Document:
    return {"kind": "ServiceAccount", "name": account, "namespace": place.namespace}


def _object(place: "Place", api_version: str, kind: str, name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": place.namespace, "labels": LABELS}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}
