"""Everything needed to run the operators in a cluster, as plain documents. Pure.

`codegen` writes them to `config/`, `quarterdeck manifests` prints them: the same by construction.
Names are final, so kustomize has nothing to rewrite but the image.
"""

from collections.abc import Sequence

from quarterdeck import apis
from quarterdeck.app import bootstrap_manifests, pod_security
from quarterdeck.app.hub_manifests import LABELS as HUB_LABELS
from quarterdeck.app.installation import DEFAULT_INSTALLATION, LABELS, Installation
from quarterdeck.app.parts import PARTS, Part, list_kinds
from quarterdeck.app.user_roles import ROLES, build_manifest
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
"""The permissions to register webhooks with the API server."""
FLEET_SECRET_NAME = "fleet-management-credentials"
FLEET_SECRET = {
    "FLEET_MANAGEMENT_BASE_URL": "base-url",
    "FLEET_MANAGEMENT_USERNAME": "username",
    "FLEET_MANAGEMENT_PASSWORD": "password",
}
"""Environment of the manager, by keys of the Secret that existing guides create."""


def build_all(
    installation: Installation = DEFAULT_INSTALLATION, parts: Sequence[Part] = PARTS
) -> list[Document]:
    """Namespace, definitions, permissions, manager, policies, in the order to apply them."""
    kinds = list(apis.own_scheme().list_kinds() if parts == PARTS else list_kinds(parts))
    return [
        build_namespace(installation),
        *crd.build_manifests(kinds),
        *build_permissions(installation, parts).values(),
        *(build_manifest(kind.KIND, role) for kind in kinds for role in ROLES),
        *build_manager(installation).values(),
        *(
            bootstrap(installation).values()
            if any(part.name == "machines" for part in parts)
            else ()
        ),
    ]


def bootstrap(installation: Installation) -> dict[str, Document]:
    """The bootstrap service of machines, with an identity and rights of its own, by file name."""
    return {
        **bootstrap_manifests.build_permissions(installation),
        **bootstrap_manifests.build_workload(installation),
    }


def build_namespace(installation: Installation) -> Document:
    """The operators' own namespace, closed to privileged pods."""
    enforced = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": installation.namespace, "labels": {**LABELS, **enforced}},
    }


# --- permissions


def build_permissions(
    installation: Installation, parts: Sequence[Part] = PARTS
) -> dict[str, Document]:
    """The account and permissions of the manager, by file name."""
    controllers = [each for part in parts for each in part.declare_controllers()]
    rules = rbac.drop_updates(rbac.build_rules(controllers, leader_election=False))
    if has_webhooks(parts):
        rules += WEBHOOK_RULES
    lease = rbac.Rule(
        "coordination.k8s.io", "leases", ("create", "delete", "get", "list", "update")
    )
    settings = rbac.Rule("", "configmaps", ("get", "list", "watch"))
    return {
        "service_account": installation.workload.build_object("v1", "ServiceAccount"),
        "role": {
            **rbac.build_cluster_role(installation.name, rules),
            "metadata": {"name": installation.name, "labels": installation.labels},
        },
        "role_binding": installation.workload.bind_cluster_role(),
        "leader_election_role": {
            **installation.workload.build_object(
                f"{RBAC}/v1", "Role", f"{installation.prefix}-leader"
            ),
            "rules": rbac.build_cluster_role("", [lease, settings])["rules"],
        },
        "leader_election_role_binding": installation.workload.bind_role(
            f"{installation.prefix}-leader"
        ),
        "metrics_reader_role": installation.workload.build_cluster_role(
            [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
            f"{installation.prefix}-metrics-reader",
        ),
        **(_build_webhook_permissions(installation) if has_webhooks(parts) else {}),
    }


def _build_webhook_permissions(installation: Installation) -> dict[str, Document]:
    """Permissions to share the webhook certificate; `create` cannot be restricted by name."""
    name = f"{installation.prefix}-webhooks"
    secrets = {"apiGroups": [""], "resources": ["secrets"]}
    return {
        "webhook_role": {
            **installation.workload.build_object(f"{RBAC}/v1", "Role", name),
            "rules": [
                {**secrets, "verbs": ["create"]},
                {**secrets, "resourceNames": [WEBHOOK_SECRET], "verbs": ["get", "update"]},
            ],
        },
        "webhook_role_binding": installation.workload.bind_role(name),
        **_build_webhook_configurations(installation),
    }


def _build_webhook_configurations(installation: Installation) -> dict[str, Document]:
    """Empty configurations that the operator fills in, so that they are deleted with the manifests.

    One that remained would block every write of its kinds, because no webhook answers any more.
    """
    return {
        f"{kind.lower()}_webhooks": {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": WEBHOOK_REGISTRATION, "labels": installation.labels},
        }
        for kind in ("Mutating", "Validating")
    }


# --- manager


def build_manager(installation: Installation) -> dict[str, Document]:
    """The Deployment and the objects it needs, by file name."""
    return {
        "manager": _build_deployment(installation),
        "metrics_service": _build_metrics_service(installation),
        "replicas_service": _build_replicas_service(installation),
        "webhook_service": _build_webhook_service(installation),
        "network_policy": _build_network_policy(installation),
        "disruption_budget": installation.workload.build_disruption_budget(),
    }


def _build_deployment(installation: Installation) -> Document:
    return {
        **installation.workload.build_object("apps/v1", "Deployment"),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": installation.labels},
            "template": {
                "metadata": {
                    "labels": installation.labels,
                    "annotations": {"kubectl.kubernetes.io/default-container": "manager"},
                },
                "spec": {
                    "serviceAccountName": installation.name,
                    "enableServiceLinks": False,  # QUARTERDECK_*_PORT are settings of ours
                    "terminationGracePeriodSeconds": 40,
                    "securityContext": pod_security.POD,
                    "containers": [_build_container(installation)],
                    "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}}],
                },
            },
        },
    }


def _build_container(installation: Installation) -> Document:
    return {
        "name": "manager",
        "image": installation.image,
        "args": _build_arguments(installation),
        "env": [
            {"name": "POD_NAME", "valueFrom": _reference_field("metadata.name")},
            {"name": "POD_NAMESPACE", "valueFrom": _reference_field("metadata.namespace")},
            *(
                {"name": name, "valueFrom": _reference_secret(key)}
                for name, key in FLEET_SECRET.items()
            ),
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


def _build_arguments(installation: Installation) -> list[str]:
    if not installation.operators:
        return ["run"]
    return [
        "run",
        "--operators",
        ",".join(installation.operators),
        "--lease-name",
        installation.name,
    ]


def _reference_secret(key: str) -> Document:
    """An optional reference to a key of the default fleet server's Secret."""
    return {"secretKeyRef": {"name": FLEET_SECRET_NAME, "key": key, "optional": True}}


def _reference_field(path: str) -> Document:
    return {"fieldRef": {"fieldPath": path}}


def _probe(path: str, *, initial: int, period: int) -> Document:
    return {
        "httpGet": {"path": path, "port": "health"},
        "initialDelaySeconds": initial,
        "periodSeconds": period,
    }


def _build_metrics_service(installation: Installation) -> Document:
    port = build_tcp_port("metrics", METRICS_PORT)
    return {
        **installation.workload.build_object("v1", "Service", f"{installation.prefix}-metrics"),
        "spec": {"selector": installation.labels, "ports": [port]},
    }


def _build_replicas_service(installation: Installation) -> Document:
    """A headless Service, by which the hub asks each replica why an object was reconciled.

    Its port is not named metrics: a ServiceMonitor would scrape each replica a second time.
    """
    port = {**build_tcp_port("metrics", METRICS_PORT), "name": "explain"}
    return {
        **installation.workload.build_object("v1", "Service", f"{installation.prefix}-replicas"),
        "spec": {"clusterIP": "None", "selector": installation.labels, "ports": [port]},
    }


def _build_webhook_service(installation: Installation) -> Document:
    """The Service of webhooks; the API server calls Services on port 443 by default."""
    port = {"name": "webhooks", "port": 443, "protocol": "TCP", "targetPort": "webhooks"}
    return {
        **installation.workload.build_object("v1", "Service", WEBHOOK_SERVICE),
        "spec": {"selector": installation.labels, "ports": [port]},
    }


def _build_network_policy(installation: Installation) -> Document:
    """Allow metrics for labeled namespaces and the hub; health and webhooks for everyone."""
    hub = {"podSelector": {"matchLabels": HUB_LABELS}}
    return installation.workload.build_network_policy(
        allow_port(METRICS_PORT, SCRAPERS, hub), allow_port(HEALTH_PORT), allow_port(WEBHOOK_PORT)
    )
