"""The catalog that ships with the experiments: Components, and WorkflowTemplates.

`make update` writes it to `experiments/catalog/`, for clusters; `up` applies it by itself. Charts
are pinned. What is no chart comes from the repository of the existing project.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.apis.experiments.v1alpha1 import GROUP
from quarterdeck.app import experiment_loadgen
from quarterdeck.app.experiment_templates import TEMPLATES
from quarterdeck.operators.experiments.catalog import REPOSITORY

__all__ = ["COMPONENTS", "TEMPLATES"]

Manifest = Mapping[str, Any]
_GRAFANA = "https://grafana.github.io/helm-charts"
_PROMETHEUS = "https://prometheus-community.github.io/helm-charts"
_ELASTIC = "https://helm.elastic.co"


def _build_component(
    name: str,
    source: Manifest,
    description: str,
    *,
    type_: str = "app",
    parameters: Sequence[Manifest] = (),
) -> Manifest:
    spec: dict[str, Any] = {"type": type_, "description": description}
    if parameters:
        spec["parameters"] = list(parameters)
    spec["sources"] = [source]
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "Component",
        "metadata": {"name": name},
        "spec": spec,
    }


def _build_chart(
    name: str, repository: str, chart: str, version: str, values: Mapping[str, str] | None = None
) -> Manifest:
    helm: dict[str, Any] = {"releaseName": name}
    if values:
        helm["parameters"] = [{"name": key, "value": value} for key, value in values.items()]
    return {"repoURL": repository, "chart": chart, "targetRevision": version, "helm": helm}


def _build_directory(path: str) -> Manifest:
    # the default, said: what the server would add makes every start apply it again
    return {"repoURL": REPOSITORY, "path": f"components/{path}", "targetRevision": "HEAD"}


_GATEWAYS = (
    _build_component(
        "envoy-gateway",
        _build_chart("envoy-gateway", "docker.io/envoyproxy", "gateway-helm", "v1.2.4"),
        "Envoy Gateway, an implementation of the Gateway API",
    ),
    _build_component(
        "nginx-ingress",
        _build_chart(
            "nginx-ingress", "https://kubernetes.github.io/ingress-nginx", "ingress-nginx", "4.11.3"
        ),
        "The Ingress controller on NGINX",
    ),
    _build_component(
        "traefik",
        _build_chart("traefik", "https://traefik.github.io/charts", "traefik", "32.1.0"),
        "Traefik proxy, for Ingress and Gateway API",
    ),
)
_APPLICATIONS = (
    _build_component(
        "hello-app",
        _build_directory("apps/hello-app"),
        "An HTTP service that answers with a greeting",
    ),
    _build_component(
        "nginx",
        _build_chart("nginx", "https://charts.bitnami.com/bitnami", "nginx", "18.3.5"),
        "A plain web server to put behind gateways",
    ),
    _build_component(
        "demo-services",
        _build_chart("demo-services", "https://stefanprodan.github.io/podinfo", "podinfo", "6.7.1"),
        "A small HTTP and gRPC service behind the gateway",
    ),
    _build_component(
        "metrics-app", _build_directory("apps/metrics-app/k8s"), "A service with metrics"
    ),
    _build_component(
        "station-monitor",
        _build_directory("apps/station-monitor/k8s"),
        "Alerts and dashboards to explore",
    ),
    _build_component(
        "log-generator", _build_directory("apps/log-generator/k8s"), "Writes logs at a fixed rate"
    ),
    _build_component(
        "cardinality-generator",
        _build_directory("apps/cardinality-generator/k8s"),
        "Generates series with a configurable number of labels",
    ),
    _build_component(
        "otel-demo", _build_directory("apps/otel-demo/k8s"), "Three services that call each other"
    ),
    _build_component(
        "image-updater",
        _build_chart(
            "image-updater",
            "https://argoproj.github.io/argo-helm",
            "argocd-image-updater",
            "0.12.0",
        ),
        "Writes new image tags into Applications",
        type_="config",
    ),
)
_OBSERVABILITY = (
    _build_component(
        "kube-prometheus-stack",
        _build_chart("kube-prometheus-stack", _PROMETHEUS, "kube-prometheus-stack", "79.9.0"),
        "Prometheus, its operator, Alertmanager and Grafana",
    ),
    _build_component("loki", _build_chart("loki", _GRAFANA, "loki", "6.28.0"), "Logs by labels"),
    _build_component(
        "promtail", _build_chart("promtail", _GRAFANA, "promtail", "6.16.6"), "Ships logs to Loki"
    ),
    _build_component(
        "grafana", _build_chart("grafana", _GRAFANA, "grafana", "8.8.2"), "Dashboards"
    ),
    _build_component(
        "tempo", _build_chart("tempo", _GRAFANA, "tempo", "1.16.0"), "Traces in object storage"
    ),
    _build_component(
        "mimir",
        _build_chart("mimir", _GRAFANA, "mimir-distributed", "5.6.0"),
        "Prometheus metrics in object storage, for many tenants",
    ),
    _build_component(
        "jaeger",
        _build_chart("jaeger", "https://jaegertracing.github.io/helm-charts", "jaeger", "3.4.0"),
        "Traces with a user interface of their own",
    ),
    _build_component(
        "elasticsearch",
        _build_chart("elasticsearch", _ELASTIC, "elasticsearch", "8.5.1"),
        "Logs by full-text index",
    ),
    _build_component(
        "kibana", _build_chart("kibana", _ELASTIC, "kibana", "8.5.1"), "Search in Elasticsearch"
    ),
    _build_component(
        "fluent-bit",
        _build_chart("fluent-bit", "https://fluent.github.io/helm-charts", "fluent-bit", "0.48.4"),
        "Ships logs to Elasticsearch",
    ),
    _build_component(
        "otel-collector",
        _build_chart(
            "otel-collector",
            "https://open-telemetry.github.io/opentelemetry-helm-charts",
            "opentelemetry-collector",
            "0.111.0",
            {"mode": "deployment", "image.repository": "otel/opentelemetry-collector-k8s"},
        ),
        "Receives, processes and exports telemetry",
    ),
    _build_component(
        "victoria-metrics",
        _build_chart(
            "victoria-metrics",
            "https://victoriametrics.github.io/helm-charts",
            "victoria-metrics-single",
            "0.13.4",
        ),
        "Metrics in one binary",
    ),
    _build_component(
        "pyrra",
        _build_chart("pyrra", "https://rlex.github.io/helm-charts", "pyrra", "0.14.2"),
        "Service level objectives as objects",
    ),
)
_STORAGE = (
    _build_component(
        "minio",
        _build_chart("minio", "https://charts.min.io", "minio", "5.4.0"),
        "S3 for Mimir's blocks",
    ),
    _build_component(
        "seaweedfs",
        _build_chart(
            "seaweedfs", "https://seaweedfs.github.io/seaweedfs/helm", "seaweedfs", "4.0.379"
        ),
        "An object store for many small files",
    ),
)
_USERS = {"name": "users", "type": "int", "default": "5", "description": "Virtual users"}
_DURATION = {"name": "duration", "default": "60s", "description": "How long to run"}
_LOADGEN = (
    _build_component(
        "k6-http-loadgen",
        experiment_loadgen.build_source("k6-http-loadgen"),
        "k6 with a fixed number of users against one address",
        type_="workflow",
        parameters=(
            {"name": "targetUrl", "required": True, "description": "Address to load"},
            _USERS,
            _DURATION,
        ),
    ),
    _build_component(
        "k6-gateway-loadtest",
        experiment_loadgen.build_gateway_source("k6-gateway-loadtest"),
        "k6 against several gateways, one after the other",
        type_="workflow",
        parameters=(
            {"name": "targetEndpoint", "required": True, "description": "Cluster with gateways"},
            {
                "name": "gateways",
                "default": "nginx,traefik,envoy",
                "description": "Names of gateways; each gets requests for NAME.local",
            },
            {
                "name": "prometheusUrl",
                "default": "",
                "description": "Where k6 writes its metrics by remote write; nowhere if empty",
            },
            _USERS,
            _DURATION,
        ),
    ),
)

COMPONENTS: tuple[Manifest, ...] = tuple(
    sorted(
        (*_GATEWAYS, *_APPLICATIONS, *_OBSERVABILITY, *_STORAGE, *_LOADGEN),
        key=lambda each: str(each["metadata"]["name"]),
    )
)
"""Every Component that the experiments name; what observability injects is built in."""
