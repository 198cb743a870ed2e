"""The ingester in a cluster: Service, NetworkPolicy, and what the manager needs for it. Pure.

This ingester is part of the manager; `ingester_deployment` has one with a Deployment of its own.
Its certificate is the Secret `ingester-serving-cert`, which OpenShift makes for the annotated
Service, and cert-manager or people elsewhere. Its authority is the ConfigMap `ingester-ca`, which
OpenShift fills, and of which collectors get a copy.
"""

from collections.abc import Mapping

from quarterdeck.app.workload_manifests import Document, Workload, allow_port

NAME = "clusterpulse-ingester"
"""INGESTER_SERVICE_NAME; the certificate must be for NAME.NAMESPACE.svc."""
CERTIFICATE_SECRET = "ingester-serving-cert"
AUTHORITY_MAP = "ingester-ca"
PORT = 9443
FOLDER = "/etc/ingester-tls"
_OPENSHIFT = "service.beta.openshift.io"


def build_ingester(namespace: str, labels: Mapping[str, str]) -> dict[str, Document]:
    """Service, authority and network policy, by file name."""
    workload = Workload(NAME, namespace, labels)
    service = workload.build_object("v1", "Service")
    service["metadata"]["annotations"] = {
        f"{_OPENSHIFT}/serving-cert-secret-name": CERTIFICATE_SECRET
    }
    authority = workload.build_object("v1", "ConfigMap", AUTHORITY_MAP)
    authority["metadata"]["annotations"] = {f"{_OPENSHIFT}/inject-cabundle": "true"}
    port = {"name": "grpc", "port": PORT, "protocol": "TCP", "targetPort": "ingester"}
    return {
        "service": {**service, "spec": {"selector": dict(labels), "ports": [port]}},
        "authority": authority,
        "network_policy": workload.build_network_policy(allow_port(PORT)),
    }


def build_manager_patch(namespace: str, manager: str, image: str) -> Document:
    """Patch of the manager: ingester port, certificate and the image of collectors."""
    container = {
        "name": "manager",
        "env": [{"name": "COLLECTOR_IMAGE", "value": image}],
        "ports": [{"name": "ingester", "containerPort": PORT, "protocol": "TCP"}],
        "volumeMounts": [{"name": "ingester-tls", "mountPath": FOLDER, "readOnly": True}],
    }
    secret = {"secretName": CERTIFICATE_SECRET, "optional": True}
    volumes = [{"name": "ingester-tls", "secret": secret}]
    spec = {"template": {"spec": {"containers": [container], "volumes": volumes}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": manager, "namespace": namespace},
        "spec": spec,
    }
