"""Manifests of the experiments operator: the sample, and what it needs to run offline."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.apis.experiments.v1alpha1 import GROUP
from quarterdeck.operators.experiments.naming import HOME

_API = f"{GROUP}/v1alpha1"
_ARGO = "argoproj.io/v1alpha1"
Manifest = Mapping[str, Any]


def _chart(name: str, repository: str, *, chart: str = "", version: str = "") -> Manifest:
    return {
        "apiVersion": _API,
        "kind": "Component",
        "metadata": {"name": name},
        "spec": {
            "type": "app",
            "sources": [
                {
                    "repoURL": repository,
                    "chart": chart or name,
                    "targetRevision": version,
                    "helm": {"releaseName": name},
                }
            ],
        },
    }


COMPONENTS: tuple[Manifest, ...] = (
    _chart(
        "envoy-gateway",
        "oci://docker.io/envoyproxy/gateway-helm",
        chart="gateway-helm",
        version="v1.2.4",
    ),
    _chart(
        "nginx-ingress",
        "https://kubernetes.github.io/ingress-nginx",
        chart="ingress-nginx",
        version="4.11.3",
    ),
    {
        "apiVersion": _API,
        "kind": "Component",
        "metadata": {"name": "demo-services"},
        "spec": {
            "type": "app",
            "description": "Two small HTTP and gRPC services behind the gateway",
            "sources": [
                {
                    "repoURL": "https://github.com/illMadeCoder/k8s-ai-cloud-testbed.git",
                    "path": "components/apps/demo-services",
                }
            ],
        },
    },
    {
        "apiVersion": _API,
        "kind": "Component",
        "metadata": {"name": "k6-http-loadgen"},
        "spec": {
            "type": "workflow",
            "description": "k6 with a fixed number of users against one address",
            "parameters": [
                {"name": "targetUrl", "required": True, "description": "Address to load"},
                {"name": "users", "type": "int", "default": "5"},
                {"name": "duration", "default": "60s"},
            ],
            "sources": [
                {
                    "repoURL": "https://grafana.github.io/helm-charts",
                    "chart": "k6-operator",
                    "targetRevision": "3.10.1",
                    "helm": {"releaseName": "k6-http-loadgen"},
                }
            ],
        },
    },
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

TEMPLATES: tuple[Manifest, ...] = (
    {
        "apiVersion": _ARGO,
        "kind": "WorkflowTemplate",
        "metadata": {
            "name": "gateway-validation",
            "namespace": "argo-workflows",
            "annotations": {"sim.illm.io/outputs": '{"verdict":"pass","metric.p99":"0.42"}'},
        },
        "spec": {
            "entrypoint": "validate",
            "arguments": {"parameters": [{"name": "target-endpoint"}]},
            "templates": [
                {
                    "name": "validate",
                    "container": {
                        "image": "curlimages/curl:8.11.0",
                        "command": ["curl", "-fsS"],
                        "args": ["http://{{workflow.parameters.target-endpoint}}/"],
                    },
                }
            ],
        },
    },
)
"""WorkflowTemplates of `up`, where Argo Workflows is simulated."""

NAMESPACES = (HOME, "argocd", "argo-workflows", "crossplane-system", "observability")
"""Namespaces of `up` that the simulated systems live in."""


def embedded() -> list[Manifest]:
    """What `up` applies so that experiments run without anything else installed."""
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES
    ]
    return [*namespaces, *COMPONENTS, *TEMPLATES]
