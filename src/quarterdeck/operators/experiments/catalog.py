"""Components without a Component object: built-in ones, and those of a directory convention.

What observability needs is built in, so that an experiment with metrics works on a fresh
installation; a Component of the same name replaces it. The convention is that of the existing
project's repository and is used only where an experiment asks for it.
"""

from typing import Final

import msgspec

from quarterdeck.apis.experiments.components import Component, ComponentSource

REPOSITORY: Final = "https://github.com/illMadeCoder/k8s-ai-cloud-testbed.git"
TAILSCALE_OPERATOR: Final = "tailscale-operator"
METRICS_EGRESS: Final = "metrics-egress"
METRICS_AGENT: Final = "metrics-agent"

_DIRECTORIES = {"app": "apps", "workflow": "workflows", "config": "configs"}
_CATEGORIES = {
    **dict.fromkeys(
        (
            *("alloy-agent", "elasticsearch", "fluent-bit", "grafana", "jaeger", "kibana"),
            *("kube-prometheus-stack", "loki", "metrics-agent", "metrics-egress", "mimir"),
            *("otel-collector", "promtail", "pyrra", "tempo", "victoria-metrics"),
        ),
        "observability",
    ),
    **dict.fromkeys(
        ("cert-manager", "envoy-gateway", "nginx-ingress", "tailscale-operator", "traefik"), "core"
    ),
    **dict.fromkeys(("minio", "seaweedfs", "postgres"), "storage"),
    **dict.fromkeys(("kafka", "nats"), "messaging"),
    **dict.fromkeys(("chaos-mesh",), "chaos"),
    **dict.fromkeys(("k6-gateway-loadtest",), "testing"),
}


def find_built_in(name: str) -> Component | None:
    """Find a built-in component by name."""
    document = _BUILT_IN.get(name)
    return msgspec.convert(document, Component) if document is not None else None


def build_source_by_convention(name: str, kind: str) -> ComponentSource:
    """The source of a component in the existing project's repository.

    Raises:
        ValueError: for a kind that is not app, workflow or config.
    """
    if kind not in _DIRECTORIES:
        raise ValueError(f"component kind must be app, workflow or config, got {kind!r}")
    directory = _CATEGORIES.get(name, _DIRECTORIES[kind])
    return ComponentSource(repo_url=REPOSITORY, path=f"components/{directory}/{name}")


_BUILT_IN = {
    TAILSCALE_OPERATOR: {
        "metadata": {"name": TAILSCALE_OPERATOR},
        "spec": {
            "type": "app",
            "description": "Tailscale operator; its OAuth client is the Secret operator-oauth",
            "sources": [
                {
                    "repoURL": "https://pkgs.tailscale.com/helmcharts",
                    "chart": "tailscale-operator",
                    "targetRevision": "1.82.0",
                    "helm": {"releaseName": "tailscale-operator"},
                }
            ],
        },
    },
    METRICS_EGRESS: {
        "metadata": {"name": METRICS_EGRESS},
        "spec": {
            "type": "config",
            "description": "Service through which a target reaches the hub's metrics store",
            "sources": [
                {"repoURL": REPOSITORY, "path": f"components/observability/{METRICS_EGRESS}"}
            ],
        },
    },
    METRICS_AGENT: {
        "metadata": {"name": METRICS_AGENT},
        "spec": {
            "type": "app",
            "description": "Grafana Alloy, which sends the target's metrics to the hub",
            "parameters": [
                {"name": "experiment", "default": ""},
                {"name": "target", "default": ""},
                {"name": "tenant", "default": ""},
                {"name": "remoteWriteUrl", "default": ""},
            ],
            "sources": [
                {
                    "repoURL": "https://grafana.github.io/helm-charts",
                    "chart": "alloy",
                    "targetRevision": "0.12.0",
                    "helm": {
                        "releaseName": "metrics-agent",
                        "valuesFiles": [
                            f"$values/components/observability/{METRICS_AGENT}/values.yaml"
                        ],
                        "parameters": [
                            {"name": "alloy.extraEnv[0].name", "value": "EXPERIMENT"},
                            {"name": "alloy.extraEnv[0].value", "value": "${experiment}"},
                            {"name": "alloy.extraEnv[1].name", "value": "TARGET"},
                            {"name": "alloy.extraEnv[1].value", "value": "${target}"},
                            {"name": "alloy.extraEnv[2].name", "value": "TENANT"},
                            {"name": "alloy.extraEnv[2].value", "value": "${tenant}"},
                            {"name": "alloy.extraEnv[3].name", "value": "REMOTE_WRITE_URL"},
                            {"name": "alloy.extraEnv[3].value", "value": "${remoteWriteUrl}"},
                        ],
                    },
                },
                {"repoURL": REPOSITORY, "ref": "values"},
            ],
        },
    },
}
