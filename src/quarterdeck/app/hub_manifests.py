"""The hub API in a cluster, beside the operators, on the Redis that they write to. Pure.

Both read their addresses from the Secret `quarterdeck-hub`: redis-url, vm-enabled, vm-endpoint.
"""

from quarterdeck.app import pod_security
from quarterdeck.app.workload_manifests import (
    SCRAPERS,
    Document,
    Workload,
    allow_port,
    build_rule,
    build_tcp_port,
)

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
"""Variables that the operators need, too."""
OPERATORS_CERTIFICATE = "quarterdeck-serving"
"""The Secret that cert-manager fills for the operators; the hub reads its authority."""
_OPERATORS_FOLDER = "/etc/quarterdeck/operators"
_AUTHORITY = {
    "secretName": OPERATORS_CERTIFICATE,
    "items": [{"key": "ca.crt", "path": "ca.crt"}],
    "optional": True,
}
_CLIENTS = {"namespaceSelector": {"matchLabels": {"quarterdeck-hub": "enabled"}}}
_RULES = (
    build_rule("authentication.k8s.io", "tokenreviews", "create"),
    build_rule("authorization.k8s.io", "subjectaccessreviews", "create"),  # who may read metrics
    {"nonResourceURLs": ["/explain/*"], "verbs": ["get"]},  # the journals of operators
    {  # groups of users on OpenShift
        "apiGroups": ["user.openshift.io"],
        "resources": ["users", "groups"],
        "verbs": ["get", "list"],
    },
)


def build_hub(namespace: str, image: str) -> dict[str, Document]:
    """The manifests of the hub, by file name."""
    workload = Workload(NAME, namespace, LABELS)
    return {
        "service_account": workload.build_object("v1", "ServiceAccount"),
        "role": workload.build_cluster_role(_RULES),
        "role_binding": workload.bind_cluster_role(),
        "deployment": _build_deployment(workload, image),
        "service": {
            **workload.build_object("v1", "Service"),
            "spec": {
                "selector": LABELS,
                "sessionAffinity": "ClientIP",  # a session of a browser is in one replica
                "ports": [build_tcp_port("http", PORT), build_tcp_port("metrics", METRICS_PORT)],
            },
        },
        # requests and scrapes from labeled namespaces, such as that of the OAuth proxy
        "network_policy": workload.build_network_policy(
            allow_port(PORT, _CLIENTS), allow_port(METRICS_PORT, SCRAPERS)
        ),
        "disruption_budget": workload.build_disruption_budget(),
    }


def build_impersonation(namespace: str) -> dict[str, Document]:
    """The right to impersonate viewers that a proxy or an issuer names, by file name.

    It is separate because it is a strong permission: the holder of the hub's token can act as any
    user. Viewers who log in with a token of the API server do not need it.
    """
    workload = Workload(NAME, namespace, LABELS)
    rule = {"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]}
    return {
        "impersonation_role": workload.build_cluster_role([rule], IMPERSONATION),
        "impersonation_role_binding": workload.bind_cluster_role(IMPERSONATION),
    }


def build_manager_patch(namespace: str, manager: str) -> Document:
    """Patch of the manager: Redis and history of the hub, and two replicas that share clusters."""
    container = {"name": "manager", "env": build_environment(STORAGE)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": manager, "namespace": namespace},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [container]}}},
    }


def _build_deployment(workload: Workload, image: str) -> Document:
    volumes = [
        {"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}},
        {"name": "operators", "secret": _AUTHORITY},
    ]
    return workload.build_deployment(_build_container(image), volumes, grace_s=30)


def _build_container(image: str) -> Document:
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
