"""The bootstrap service in a cluster: its own identity, rights, Deployment and network. Pure.

It reads claims and writes their status. It reads Secrets in its own namespace only, so it has no
credentials of hypervisors. The operator may request tokens from it, but cannot read its Secrets.
"""

from typing import TYPE_CHECKING

from quarterdeck.app import pod_security
from quarterdeck.app.workload_manifests import (
    RBAC,
    Document,
    Workload,
    allow_port,
    build_rule,
    build_tcp_port,
)

if TYPE_CHECKING:
    from quarterdeck.app.installation import Installation

NAME = "quarterdeck-bootstrap"
PORT = 8445
TOKENS_ROLE = "quarterdeck-join-tokens"
LABELS = {"app.kubernetes.io/name": "quarterdeck", "app.kubernetes.io/component": "bootstrap"}
_MANAGER = "quarterdeck-manager"
_HYPERVISOR = "hypervisor.hyperfleet.io"
_RULES = (
    build_rule("", "configmaps", "get"),
    build_rule("authentication.k8s.io", "tokenreviews", "create"),
    build_rule("authorization.k8s.io", "subjectaccessreviews", "create"),
    build_rule(_HYPERVISOR, "hypervisormachinetemplates", "get"),
    build_rule(_HYPERVISOR, "machineclaims", "get", "list", "watch"),
    build_rule(_HYPERVISOR, "machineclaims/status", "patch"),
)
_TOKENS = {
    "nonResourceURLs": ["/v1/join-tokens", "/v1/join-tokens/*"],
    "verbs": ["delete", "post"],
}


def build_permissions(installation: "Installation") -> dict[str, Document]:
    """The account and permissions of the service, and of those who request tokens, by file name."""
    own = Workload(NAME, installation.namespace, LABELS)
    return {
        "bootstrap_service_account": own.build_object("v1", "ServiceAccount"),
        "bootstrap_role": own.build_cluster_role(_RULES),
        "bootstrap_role_binding": own.bind_cluster_role(),
        "bootstrap_secrets_role": {
            **own.build_object(f"{RBAC}/v1", "Role"),
            "rules": [
                build_rule("", "configmaps", "create", "patch"),
                build_rule("", "secrets", "create", "delete", "get", "list", "patch"),
            ],
        },
        "bootstrap_secrets_role_binding": own.bind_role(),
        "join_tokens_role": own.build_cluster_role([_TOKENS], TOKENS_ROLE),
        "join_tokens_role_binding": own.bind_cluster_role(TOKENS_ROLE, account=_MANAGER),
    }


def build_workload(installation: "Installation") -> dict[str, Document]:
    """The Deployment and the objects it needs, by file name."""
    own = Workload(NAME, installation.namespace, LABELS)
    port = build_tcp_port("bootstrap", PORT)
    return {
        "bootstrap": _build_deployment(installation, own),
        "bootstrap_service": {
            **own.build_object("v1", "Service"),
            # a challenge is answered at the replica that made it
            "spec": {"selector": LABELS, "ports": [port], "sessionAffinity": "ClientIP"},
        },
        "bootstrap_network_policy": own.build_network_policy(allow_port(PORT)),
    }


def _build_deployment(installation: "Installation", own: Workload) -> Document:
    probe = {"httpGet": {"path": "/readyz", "port": "bootstrap", "scheme": "HTTPS"}}
    container = {
        "name": "bootstrap",
        "image": installation.image,
        "args": [
            *("bootstrap", "--host", "0.0.0.0", "--namespace", "$(POD_NAMESPACE)"),
            *("--url", f"https://{NAME}.{installation.namespace}.svc:{PORT}"),
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
    volumes = [{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]
    return own.build_deployment(container, volumes)
