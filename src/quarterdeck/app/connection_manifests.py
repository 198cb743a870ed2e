"""Manifests that connect a cluster to the hub: a Secret and a ClusterConnection. Pure."""

from typing import Any

from quarterdeck.apis.clusterpulse.v1alpha1 import GROUP


def build_connection(
    name: str, endpoint: str, secret: dict[str, str], *, namespace: str = "default", **spec: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A Secret with these values and the ClusterConnection that uses it."""
    credentials = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{name}-credentials", "namespace": namespace},
        "stringData": secret,
    }
    connection = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "ClusterConnection",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "endpoint": endpoint,
            "credentialsRef": {"name": f"{name}-credentials"},
            **spec,
        },
    }
    return credentials, connection
