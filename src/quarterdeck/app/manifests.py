"""Everything needed to run the operators in a cluster, as plain documents. Pure.

`codegen` writes them to `config/`, `quarterdeck manifests` prints them: the same by construction.
Names are final, so kustomize has nothing to rewrite but the image.
"""

from collections.abc import Sequence

from quarterdeck import apis
from quarterdeck.app import bootstrap_manifests, pod_security
from quarterdeck.app.hub_manifests import LABELS as HUB_LABELS
from quarterdeck.app.parts import PARTS, Part, list_kinds
from quarterdeck.app.place import HERE, LABELS, Place
from quarterdeck.app.user_roles import ROLES, manifest
from quarterdeck.app.webhooks import REGISTRATION as WEBHOOK_REGISTRATION
from quarterdeck.app.webhooks import SECRET as WEBHOOK_SECRET
from quarterdeck.app.webhooks import SERVICE as WEBHOOK_SERVICE
from quarterdeck.app.webhooks import has_webhooks
from quarterdeck.app.workload_manifests import RBAC, SCRAPERS, Document, allow_port, build_tcp_port
from quarterdeck.meta import crd
from quarterdeck.runtime.controller import rbac

METRICS_PORT = 8080
HEALTH_PORT = 8081
WEBHOOK_PORT = 9444
WEBHOOK_RULES = tuple(
    rbac.Rule("admissionregistration.k8s.io", f"{kind}webhookconfigurations", verbs)
    for kind in ("mutating", "validating")
    for verbs in (("create", "get", "patch"),)
)
"""What it takes to make webhooks known to the API server."""
FLEET_SECRET_NAME = "fleet-management-credentials"
FLEET_SECRET = {
    "FLEET_MANAGEMENT_BASE_URL": "base-url",
    "FLEET_MANAGEMENT_USERNAME": "username",
    "FLEET_MANAGEMENT_PASSWORD": "password",
}
"""Environment of the manager, by keys of the Secret that existing guides create."""


def everything(place: Place = HERE, parts: Sequence[Part] = PARTS) -> list[Document]:
    """Namespace, definitions, permissions, manager, policies, in the order to apply them."""
    kinds = list(apis.own_scheme().kinds() if parts == PARTS else list_kinds(parts))
    return [
        namespace(place),
        *crd.build_manifests(kinds),
        *permissions(place, parts).values(),
        *(manifest(kind.KIND, role) for kind in kinds for role in ROLES),
        *manager(place).values(),
        *(bootstrap(place).values() if any(part.name == "machines" for part in parts) else ()),
    ]


def bootstrap(place: Place) -> dict[str, Document]:
    """The bootstrap service of machines, with an identity and rights of its own, by file name."""
    return {**bootstrap_manifests.permissions(place), **bootstrap_manifests.workload(place)}


def namespace(place: Place) -> Document:
    """The operators' own namespace, closed to privileged pods."""
    enforced = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": place.namespace, "labels": {**LABELS, **enforced}},
    }


# --- permissions


def permissions(place: Place, parts: Sequence[Part] = PARTS) -> dict[str, Document]:
    """Who the manager is and what it may do, by file name."""
    controllers = [each for part in parts for each in part.controllers()]
    rules = rbac.drop_updates(rbac.build_rules(controllers, leader_election=False))
    if has_webhooks(parts):
        rules += WEBHOOK_RULES
    lease = rbac.Rule(
        "coordination.k8s.io", "leases", ("create", "delete", "get", "list", "update")
    )
    settings = rbac.Rule("", "configmaps", ("get", "list", "watch"))
    return {
        "service_account": place.workload.build_object("v1", "ServiceAccount"),
        "role": {
            **rbac.build_cluster_role(place.name, rules),
            "metadata": {"name": place.name, "labels": place.labels},
        },
        "role_binding": place.workload.bind_cluster_role(),
        "leader_election_role": {
            **place.workload.build_object(f"{RBAC}/v1", "Role", f"{place.prefix}-leader"),
            "rules": rbac.build_cluster_role("", [lease, settings])["rules"],
        },
        "leader_election_role_binding": place.workload.bind_role(f"{place.prefix}-leader"),
        "metrics_reader_role": place.workload.build_cluster_role(
            [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}], f"{place.prefix}-metrics-reader"
        ),
        **(_webhook_permissions(place) if has_webhooks(parts) else {}),
    }


def _webhook_permissions(place: Place) -> dict[str, Document]:
    """What it takes to share the certificate of webhooks; names cannot restrict `create`."""
    name = f"{place.prefix}-webhooks"
    secrets = {"apiGroups": [""], "resources": ["secrets"]}
    return {
        "webhook_role": {
            **place.workload.build_object(f"{RBAC}/v1", "Role", name),
            "rules": [
                {**secrets, "verbs": ["create"]},
                {**secrets, "resourceNames": [WEBHOOK_SECRET], "verbs": ["get", "update"]},
            ],
        },
        "webhook_role_binding": place.workload.bind_role(name),
        **_build_webhook_configurations(place),
    }


def _build_webhook_configurations(place: Place) -> dict[str, Document]:
    """Empty ones, which the operator fills in: so they go when the rest is deleted.

    One that stayed would refuse every write of its kinds, for nobody answers it any more.
    """
    return {
        f"{kind.lower()}_webhooks": {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": WEBHOOK_REGISTRATION, "labels": place.labels},
        }
        for kind in ("Mutating", "Validating")
    }


# --- manager


def manager(place: Place) -> dict[str, Document]:
    """The process and what stands around it, by file name."""
    return {
        "manager": _deployment(place),
        "metrics_service": _metrics_service(place),
        "replicas_service": _replicas_service(place),
        "webhook_service": _webhook_service(place),
        "network_policy": _network_policy(place),
        "disruption_budget": place.workload.build_disruption_budget(),
    }


def _deployment(place: Place) -> Document:
    return {
        **place.workload.build_object("apps/v1", "Deployment"),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": place.labels},
            "template": {
                "metadata": {
                    "labels": place.labels,
                    "annotations": {"kubectl.kubernetes.io/default-container": "manager"},
                },
                "spec": {
                    "serviceAccountName": place.name,
                    "enableServiceLinks": False,  # QUARTERDECK_*_PORT are settings of ours
                    "terminationGracePeriodSeconds": 40,
                    "securityContext": pod_security.POD,
                    "containers": [_container(place)],
                    "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}}],
                },
            },
        },
    }


def _container(place: Place) -> Document:
    return {
        "name": "manager",
        "image": place.image,
        "args": _arguments(place),
        "env": [
            {"name": "POD_NAME", "valueFrom": _field("metadata.name")},
            {"name": "POD_NAMESPACE", "valueFrom": _field("metadata.namespace")},
            *({"name": name, "valueFrom": _secret(key)} for name, key in FLEET_SECRET.items()),
        ],
        "ports": [
            {"name": "metrics", "containerPort": METRICS_PORT, "protocol": "TCP"},
            {"name": "health", "containerPort": HEALTH_PORT, "protocol": "TCP"},
            {"name": "webhooks", "containerPort": WEBHOOK_PORT, "protocol": "TCP"},
        ],
        "livenessProbe": _probe("/healthz", initial=15, period=20),
        "readinessProbe": _probe("/readyz", initial=1, period=5),
        "resources": {
            "requests": {"cpu": "10m", "memory": "64Mi"},
            "limits": {"cpu": "500m", "memory": "128Mi"},
        },
        "securityContext": pod_security.CONTAINER,
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }


def _arguments(place: Place) -> list[str]:
    if not place.operators:
        return ["run"]
    return ["run", "--operators", ",".join(place.operators), "--lease-name", place.name]


def _secret(key: str) -> Document:
    """A key of the default fleet server's Secret, which need not be there."""
    return {"secretKeyRef": {"name": FLEET_SECRET_NAME, "key": key, "optional": True}}


def _field(path: str) -> Document:
    return {"fieldRef": {"fieldPath": path}}


def _probe(path: str, *, initial: int, period: int) -> Document:
    return {
        "httpGet": {"path": path, "port": "health"},
        "initialDelaySeconds": initial,
        "periodSeconds": period,
    }


def _metrics_service(place: Place) -> Document:
    port = build_tcp_port("metrics", METRICS_PORT)
    return {
        **place.workload.build_object("v1", "Service", f"{place.prefix}-metrics"),
        "spec": {"selector": place.labels, "ports": [port]},
    }


def _replicas_service(place: Place) -> Document:
    """Every replica by name: the hub asks each of them why an object was reconciled."""
    port = build_tcp_port("metrics", METRICS_PORT)
    return {
        **place.workload.build_object("v1", "Service", f"{place.prefix}-replicas"),
        "spec": {"clusterIP": "None", "selector": place.labels, "ports": [port]},
    }


def _webhook_service(place: Place) -> Document:
    """Where the API server reaches the webhooks; it calls Services on port 443 by default."""
    port = {"name": "webhooks", "port": 443, "protocol": "TCP", "targetPort": "webhooks"}
    return {
        **place.workload.build_object("v1", "Service", WEBHOOK_SERVICE),
        "spec": {"selector": place.labels, "ports": [port]},
    }


def _network_policy(place: Place) -> Document:
    """Metrics from namespaces that say so and the hub; health and webhooks from the node."""
    hub = {"podSelector": {"matchLabels": HUB_LABELS}}
    return place.workload.build_network_policy(
        allow_port(METRICS_PORT, SCRAPERS, hub), allow_port(HEALTH_PORT), allow_port(WEBHOOK_PORT)
    )
