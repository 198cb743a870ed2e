"""Manifests of the experiments operator: the sample, and what it needs to run offline."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.apis.experiments.v1alpha1 import GROUP
from quarterdeck.app import experiment_catalog
from quarterdeck.operators.experiments.naming import HOME

_API = f"{GROUP}/v1alpha1"
Manifest = Mapping[str, Any]


_NAMED = ("envoy-gateway", "nginx-ingress", "demo-services", "k6-http-loadgen")
COMPONENTS: tuple[Manifest, ...] = tuple(
    each for each in experiment_catalog.COMPONENTS if each["metadata"]["name"] in _NAMED
)
"""Components that the sample names."""

EXPERIMENT: Manifest = {
    "apiVersion": _API,
    "kind": "Experiment",
    "metadata": {"name": "gateway-tutorial", "namespace": HOME},
    "spec": {
        "description": "Gateway API tutorial: Ingress to GRPCRoute",
        "targets": [
            {
                "name": "app",
                "cluster": {
                    "type": "gke",
                    "zone": "us-central1-a",
                    "nodeCount": 2,
                    "machineType": "e2-medium",
                    "preemptible": True,
                },
                "components": [
                    {"app": "envoy-gateway"},
                    {"app": "nginx-ingress"},
                    {"app": "demo-services"},
                ],
                "observability": {
                    "enabled": True,
                    "transport": "tailscale",
                    "tenant": "gateway-lab",
                },
            },
            {
                "name": "loadgen",
                "cluster": {"type": "hub"},
                "components": [
                    {
                        "workflow": "k6-http-loadgen",
                        "params": {
                            "targetUrl": "http://34.71.112.81/api",
                            "users": "10",
                            "duration": "300s",
                        },
                    }
                ],
                "depends": ["app"],
            },
        ],
        "workflow": {"template": "gateway-validation", "completion": {"mode": "workflow"}},
    },
}
"""The sample of the existing project, unchanged."""

SAMPLES: tuple[Manifest, ...] = (
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}},
    *COMPONENTS,
    EXPERIMENT,
)

NAMESPACES = (HOME, "argocd", "argo-workflows", "crossplane-system", "observability")
"""Namespaces of the simulated systems in `up`."""


def list_namespaces() -> list[Manifest]:
    """Namespaces that `up` creates before it reports that it is ready."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES
    ]


def list_catalog() -> list[Manifest]:
    """What `up` applies so that experiments run without anything else installed."""
    return [*experiment_catalog.COMPONENTS, *experiment_catalog.TEMPLATES]
