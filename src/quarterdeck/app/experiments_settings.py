"""Settings of the experiments operator: the variables of the existing project, and ours."""

from typing import Annotated

import msgspec

from quarterdeck.app.settings import Option
from quarterdeck.kit.redaction import Secret


def _text(env: str, text: str, metavar: str = "TEXT", default_text: str = "") -> Option:
    return Option(help=text, env=(env,), metavar=metavar, default_text=default_text)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Where metrics come from and where results go."""

    results_url: Annotated[
        str,
        _text(
            "EXPERIMENTS_RESULTS_URL",
            "Where results of experiments are kept: configmap, file:///DIR, s3://, gs:// or az://.",
            "URL",
            "configmap, or the bucket of --s3-bucket",
        ),
    ] = ""
    s3_endpoint: Annotated[
        str,
        _text("S3_ENDPOINT", "Address of an S3 server that is not AWS.", "URL", "AWS"),
    ] = ""
    s3_bucket: Annotated[
        str,
        _text(
            "S3_BUCKET",
            "Bucket for results of experiments.",
            "NAME",
            "experiment-results if there is an --s3-endpoint",
        ),
    ] = ""
    metrics_url: Annotated[
        str,
        _text(
            "METRICS_URL",
            "Prometheus API with the metrics of experiments.",
            "URL",
            "VictoriaMetrics in the namespace observability; none in up",
        ),
    ] = ""
    analyzer_image: Annotated[
        str,
        _text("ANALYZER_IMAGE", "Image of the Job after experiments with publish.", "IMAGE"),
    ] = ""
    grafana_url: Annotated[
        str, _text("GRAFANA_URL", "Grafana that gets datasources of experiments.", "URL")
    ] = ""
    grafana_token: Annotated[
        Secret[str], _text("GRAFANA_TOKEN", "Token of a service account of Grafana.")
    ] = Secret("")
    argocd_namespace: Annotated[str, _text("ARGOCD_NAMESPACE", "Namespace of Argo CD.", "NAME")] = (
        "argocd"
    )
    workflow_namespace: Annotated[
        str, _text("WORKFLOW_NAMESPACE", "Namespace of Argo Workflows and its templates.", "NAME")
    ] = "argo-workflows"
    crossplane_namespace: Annotated[
        str, _text("CROSSPLANE_NAMESPACE", "Namespace of Crossplane's connection Secrets.", "NAME")
    ] = "crossplane-system"
    cluster_api: Annotated[
        tuple[str, ...],
        _text(
            "EXPERIMENTS_CLUSTER_API",
            "Cluster types to request from Cluster API instead of Crossplane: talos, vcluster.",
            "A,B",
            "none",
        ),
    ] = ()
    cluster_types: Annotated[
        str,
        _text(
            "EXPERIMENTS_CLUSTER_TYPES",
            "File with the kinds that request clusters, where they are not the usual ones.",
            "FILE",
            "none",
        ),
    ] = ""
    grafana_backend: Annotated[
        str,
        _text(
            "GRAFANA_BACKEND",
            "How Grafana gets datasources of experiments: none, http, operator or sidecar.",
            "NAME",
            "http with --grafana-url, sidecar in up, else none",
        ),
    ] = ""
