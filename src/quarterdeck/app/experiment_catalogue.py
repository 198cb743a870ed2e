"""The catalogue that ships with the experiments: Components, and WorkflowTemplates.

`make update` writes it to `experiments/catalogue/`, for clusters; `up` applies it by itself. Charts
are pinned. What is no chart comes from the repository of the existing project.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.apis.experiments.v1alpha1 import GROUP
from quarterdeck.app import experiment_loadgen
from quarterdeck.app.experiment_templates import TEMPLATES
from quarterdeck.operators.experiments.catalogue import REPOSITORY

__all__ = ["COMPONENTS", "TEMPLATES"]

Manifest = Mapping[str, Any]
_GRAFANA = "https://grafana.github.io/helm-charts"
_PROMETHEUS = "https://prometheus-community.github.io/helm-charts"
_ELASTIC = "https://helm.elastic.co"


def _component(
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


def _chart(
    name: str, repository: str, chart: str, version: str, values: Mapping[str, str] | None = None
) -> Manifest:
    helm: dict[str, Any] = {"releaseName": name}
    if values:
        helm["parameters"] = [{"name": key, "value": value} for key, value in values.items()]
    return {"repoURL": repository, "chart": chart, "targetRevision": version, "helm": helm}


def _directory(path: str) -> Manifest:
    # the default, said: what the server would add makes every start apply it again
    return {"repoURL": REPOSITORY, "path": f"components/{path}", "targetRevision": "HEAD"}


_GATEWAYS = (
    _component(
        "envoy-gateway",
        _chart("envoy-gateway", "docker.io/envoyproxy", "gateway-helm", "v1.2.4"),
        "Envoy Gateway, an implementation of the Gateway API",
    ),
    _component(
        "nginx-ingress",
        _chart(
            "nginx-ingress", "https://kubernetes.github.io/ingress-nginx", "ingress-nginx", "4.11.3"
        ),
        "The Ingress controller on NGINX",
    ),
    _component(
        "traefik",
        _chart("traefik", "https://traefik.github.io/charts", "traefik", "32.1.0"),
        "Traefik proxy, for Ingress and Gateway API",
    ),
)
_APPLICATIONS = (
    _component(
        "hello-app", _directory("apps/hello-app"), "An HTTP service that answers with a greeting"
    ),
    _component(
        "nginx",
        _chart("nginx", "https://charts.bitnami.com/bitnami", "nginx", "18.3.5"),
        "A plain web server to put behind gateways",
    ),
    _component(
        "demo-services",
        _chart("demo-services", "https://stefanprodan.github.io/podinfo", "podinfo", "6.7.1"),
        "A small HTTP and gRPC service behind the gateway",
    ),
    _component("metrics-app", _directory("apps/metrics-app/k8s"), "A service with metrics"),
    _component(
        "station-monitor",
        _directory("apps/station-monitor/k8s"),
        "Alerts and dashboards to explore",
    ),
    _component(
        "log-generator", _directory("apps/log-generator/k8s"), "Writes logs at a fixed rate"
    ),
    _component(
        "cardinality-generator",
        _directory("apps/cardinality-generator/k8s"),
        "Generates series with a configurable number of labels",
    ),
    _component(
        "otel-demo", _directory("apps/otel-demo/k8s"), "Three services that call each other"
    ),
    _component(
        "image-updater",
        _chart(
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
    _component(
        "kube-prometheus-stack",
        _chart("kube-prometheus-stack", _PROMETHEUS, "kube-prometheus-stack", "79.9.0"),
        "Prometheus, its operator, Alertmanager and Grafana",
    ),
    _component("loki", _chart("loki", _GRAFANA, "loki", "6.28.0"), "Logs by labels"),
    _component(
        "promtail", _chart("promtail", _GRAFANA, "promtail", "6.16.6"), "Ships logs to Loki"
    ),
    _component("grafana", _chart("grafana", _GRAFANA, "grafana", "8.8.2"), "Dashboards"),
    _component("tempo", _chart("tempo", _GRAFANA, "tempo", "1.16.0"), "Traces in object storage"),
    _component(
        "mimir",
        _chart("mimir", _GRAFANA, "mimir-distributed", "5.6.0"),
        "Prometheus metrics in object storage, for many tenants",
    ),
    _component(
        "jaeger",
        _chart("jaeger", "https://jaegertracing.github.io/helm-charts", "jaeger", "3.4.0"),
        "Traces with a user interface of their own",
    ),
    _component(
        "elasticsearch",
        _chart("elasticsearch", _ELASTIC, "elasticsearch", "8.5.1"),
        "Logs by full-text index",
    ),
    _component("kibana", _chart("kibana", _ELASTIC, "kibana", "8.5.1"), "Search in Elasticsearch"),
    _component(
        "fluent-bit",
        _chart("fluent-bit", "https://fluent.github.io/helm-charts", "fluent-bit", "0.48.4"),
        "Ships logs to Elasticsearch",
    ),
    _component(
        "otel-collector",
        _chart(
            "otel-collector",
            "https://open-telemetry.github.io/opentelemetry-helm-charts",
            "opentelemetry-collector",
            "0.111.0",
            {"mode": "deployment", "image.repository": "otel/opentelemetry-collector-k8s"},
        ),
        "Receives, processes and exports telemetry",
    ),
    _component(
        "victoria-metrics",
        _chart(
            "victoria-metrics",
            "https://victoriametrics.github.io/helm-charts",
            "victoria-metrics-single",
            "0.13.4",
        ),
        "Metrics in one binary",
    ),
    _component(
        "pyrra",
        _chart("pyrra", "https://rlex.github.io/helm-charts", "pyrra", "0.14.2"),
        "Service level objectives as objects",
    ),
)
_STORAGE = (
    _component(
        "minio", _chart("minio", "https://charts.min.io", "minio", "5.4.0"), "S3 for Mimir's blocks"
    ),
    _component(
        "seaweedfs",
        _chart("seaweedfs", "https://seaweedfs.github.io/seaweedfs/helm", "seaweedfs", "4.0.379"),
        "An object store for many small files",
    ),
)
_USERS = {"name": "users", "type": "int", "default": "5", "description": "Virtual users"}
_DURATION = {"name": "duration", "default": "60s", "description": "How long to run"}
_LOADGEN = (
    _component(
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
    _component(
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
